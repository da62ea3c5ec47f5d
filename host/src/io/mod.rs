// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files in and out.

pub mod npy;
mod output;

pub use output::Output;
