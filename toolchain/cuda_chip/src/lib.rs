// SPDX-License-Identifier: MIT OR Apache-2.0
#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]

mod chip;
mod list;
mod resources;

pub use list::Chip;
pub use resources::{RESERVED_SHARED_BYTES, Resources};
