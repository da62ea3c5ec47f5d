// SPDX-License-Identifier: MIT OR Apache-2.0
//! The mathematics of stencils on 2:4-sparse tensor cores: from a [`Stencil`] to the operand
//! fragments that a kernel loads. No GPU, no files, no printing.
//!
//! One plain value for each stage (SparStencil §3):
//!
//! ```text
//! Stencil ──morph──▶ Morphed (A') ──sparsify──▶ Sparse24 (A'') ──encode──▶ Encoded (registers)
//! ```
//!
//! | module | what |
//! | --- | --- |
//! | [`stencil`], [`catalogue`] | weighted neighbours, from weights or by name |
//! | [`morph`] | flatten and crush: a tile of outputs as a matrix product |
//! | [`sparsify`] | a column order that makes the matrix 2:4 |
//! | [`window`] | the order that the register-window kernels need |
//! | [`fragment`] | which lane holds which element |
//! | [`encode`] | kept values and metadata as the lanes load them |
//! | [`emulate`] | `mma.sp` in software: the oracle for all of it |

#![forbid(unsafe_code)]

pub mod catalogue;
pub mod conflict;
pub mod emulate;
pub mod encode;
pub mod explore;
pub mod finite_difference;
pub mod fragment;
pub mod fuse;
pub mod judge;
pub mod lookup;
pub mod machine;
pub mod matching;
pub mod matrix;
pub mod model;
pub mod morph;
pub mod plan;
pub mod row_window;
pub mod sparsify;
pub mod stencil;
pub mod stencil_file;
pub mod window;

pub use stencil::{Stencil, StencilError, Tap};
