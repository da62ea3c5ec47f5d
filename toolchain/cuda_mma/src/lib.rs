// SPDX-License-Identifier: MIT OR Apache-2.0
#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]

pub mod dense;
#[cfg(not(target_arch = "nvptx64"))]
pub mod emulate;
pub mod fragment;
#[cfg(not(target_arch = "nvptx64"))]
pub mod number;
pub mod warpgroup;
