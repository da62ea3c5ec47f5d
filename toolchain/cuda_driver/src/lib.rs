// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads the CUDA driver lazily under `cust`, and adds the few calls that `cust` lacks.
//!
//! A program that uses `cust` through this crate needs no CUDA toolkit to build and no driver to
//! start. [`load`] connects it to the driver, or says why there is none:
//!
//! ```no_run
//! cuda_driver::load()?;
//! let _context = cuda_driver::cust::quick_init()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![allow(unsafe_code, reason = "this crate is the border to the driver's C interface")]

mod call;
mod device;
mod function;
mod launch;
mod load;
mod symbols;
mod table;
mod tensor_map;

pub use call::{CallError, check};
pub use cust;
pub use device::{Attribute, attribute};
pub use function::{prefer_shared_memory, set_max_dynamic_shared_memory};
pub use launch::{Extents, launch_cooperative, launch_overlapping};
pub use load::{LoadError, is_loaded, load};
pub use tensor_map::{ElementType, L2Promotion, TensorMap, TensorMap2d, TensorMapError};
