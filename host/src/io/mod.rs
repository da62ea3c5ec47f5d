// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files in and out.

pub mod machine;
pub mod npy;
mod npy_header;
mod output;
pub mod stencil_file;

pub use output::{Output, Staged};
pub(crate) use output::{folder, follow};
