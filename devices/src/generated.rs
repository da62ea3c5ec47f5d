// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels that are written for a system of fields when that is known, one for each stage of a step, as far as launches
//! go: their names and their parameter.

#![allow(unsafe_code, reason = "the border to code that this program writes")]

use cuda_driver::{Call, Entry, Kernel};

/// The most addresses that a kernel takes.
pub const MOST_ADDRESSES: usize = 64;
/// The most stages of a step.
pub const MOST_STAGES: usize = NAMES.len();
/// The names of their kernels.
pub const NAMES: [&str; 12] = [
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
];

/// The addresses of the arrays that a step reads and writes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Addresses(pub [u64; MOST_ADDRESSES]);

struct Stage<const NUMBER: usize>;

// SAFETY: `system::gpu::kernel` writes entries of these names that take these addresses, by value.
unsafe impl<const NUMBER: usize> Kernel for Stage<NUMBER> {
    type Parameters = (Addresses,);

    const NAME: &'static str = NAMES[NUMBER];
}

/// The kernels, by their stages.
const ENTRIES: [Entry<(Addresses,)>; MOST_STAGES] = [
    Entry::of::<Stage<0>>(),
    Entry::of::<Stage<1>>(),
    Entry::of::<Stage<2>>(),
    Entry::of::<Stage<3>>(),
    Entry::of::<Stage<4>>(),
    Entry::of::<Stage<5>>(),
    Entry::of::<Stage<6>>(),
    Entry::of::<Stage<7>>(),
    Entry::of::<Stage<8>>(),
    Entry::of::<Stage<9>>(),
    Entry::of::<Stage<10>>(),
    Entry::of::<Stage<11>>(),
];

/// The kernel of a stage with its addresses.
///
/// # Panics
/// There are no so many stages.
#[must_use]
pub fn call(stage: usize, addresses: Addresses) -> Call<(Addresses,)> {
    ENTRIES[stage].with((addresses,))
}
