//! The mathematics of stencils on 2:4-sparse tensor cores: from a [`Stencil`] to the operand
//! fragments that a kernel loads. No GPU, no files, no printing.

#![forbid(unsafe_code)]

pub mod catalogue;
pub mod stencil;

pub use stencil::{Stencil, StencilError, Tap};
