// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel that is written for a system of fields when that is known, as far as launches go: its name and its
//! parameter.

#![allow(unsafe_code, reason = "the border to code that this program writes")]

use cuda_driver::{Call, Entry, Kernel};

/// The most addresses that the kernel takes.
pub const MOST_ADDRESSES: usize = 64;
/// Its name.
pub const NAME: &str = "system_step";

/// The addresses of the arrays that a step reads and writes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Addresses(pub [u64; MOST_ADDRESSES]);

struct Step;

// SAFETY: `system::gpu::kernel` writes an entry of this name that takes these addresses, by value.
unsafe impl Kernel for Step {
    type Parameters = (Addresses,);

    const NAME: &'static str = NAME;
}

/// The kernel with its addresses.
#[must_use]
pub fn call(addresses: Addresses) -> Call<(Addresses,)> {
    Entry::of::<Step>().with((addresses,))
}
