// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels that are written for a system of fields when that is known, one for each stage of a step and one for its
//! totals, as far as launches go: their names and their parameter.

#![allow(unsafe_code, reason = "the border to code that this program writes")]

use cuda_driver::{Call, Entry, Kernel, Passed};

/// The most addresses that a kernel takes.
pub const MOST_ADDRESSES: usize = 64;
/// The most stages of a step.
pub const MOST_STAGES: usize = 24;
/// The place of the kernel of totals among the names.
pub const TOTALS: usize = MOST_STAGES;
/// The names of the kernels: of the stages, then of totals.
pub const NAMES: [&str; MOST_STAGES + 1] = [
    "system_step",
    "system_stage_2",
    "system_stage_3",
    "system_stage_4",
    "system_stage_5",
    "system_stage_6",
    "system_stage_7",
    "system_stage_8",
    "system_stage_9",
    "system_stage_10",
    "system_stage_11",
    "system_stage_12",
    "system_stage_13",
    "system_stage_14",
    "system_stage_15",
    "system_stage_16",
    "system_stage_17",
    "system_stage_18",
    "system_stage_19",
    "system_stage_20",
    "system_stage_21",
    "system_stage_22",
    "system_stage_23",
    "system_stage_24",
    "system_totals",
];

/// The addresses of the arrays that a step reads and writes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Addresses(pub [u64; MOST_ADDRESSES]);

// SAFETY: numbers, one after the other.
unsafe impl Passed for Addresses {}

struct Written<const NUMBER: usize>;

// SAFETY: `system::gpu::kernel` writes entries of these names that take these addresses, by value.
unsafe impl<const NUMBER: usize> Kernel for Written<NUMBER> {
    type Parameters = (Addresses,);

    const NAME: &'static str = NAMES[NUMBER];
}

/// The kernels, as they are named.
const ENTRIES: [Entry<(Addresses,)>; NAMES.len()] = [
    Entry::of::<Written<0>>(),
    Entry::of::<Written<1>>(),
    Entry::of::<Written<2>>(),
    Entry::of::<Written<3>>(),
    Entry::of::<Written<4>>(),
    Entry::of::<Written<5>>(),
    Entry::of::<Written<6>>(),
    Entry::of::<Written<7>>(),
    Entry::of::<Written<8>>(),
    Entry::of::<Written<9>>(),
    Entry::of::<Written<10>>(),
    Entry::of::<Written<11>>(),
    Entry::of::<Written<12>>(),
    Entry::of::<Written<13>>(),
    Entry::of::<Written<14>>(),
    Entry::of::<Written<15>>(),
    Entry::of::<Written<16>>(),
    Entry::of::<Written<17>>(),
    Entry::of::<Written<18>>(),
    Entry::of::<Written<19>>(),
    Entry::of::<Written<20>>(),
    Entry::of::<Written<21>>(),
    Entry::of::<Written<22>>(),
    Entry::of::<Written<23>>(),
    Entry::of::<Written<24>>(),
];

/// The kernel of a stage, or that of totals ([`TOTALS`]), with its addresses.
///
/// # Panics
/// There are no so many stages.
#[must_use]
pub fn call(stage: usize, addresses: Addresses) -> Call<(Addresses,)> {
    ENTRIES[stage].with((addresses,))
}
