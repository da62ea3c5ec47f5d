// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stencil computations on sparse tensor cores and CPUs: library and command line.
//!
//! A run goes from a [`Stencil`](transform::Stencil) and a [`Grid`] through an
//! [`Engine`](engine::Engine) to a [`Grid`] again.

pub mod boundary;
pub mod device;
pub mod engine;
pub mod error;
pub mod grid;
pub mod memory;
pub mod shape;

pub use boundary::Boundary;
pub use error::Error;
pub use grid::{Dtype, Grid, Values};
pub use shape::Shape;
