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
//! | [`stencil`], [`catalogue`], [`stencil_file`] | weighted neighbours, from weights or by name |
//! | [`finite_difference`] | weights of derivatives, to any order |
//! | [`symbol`] | what a step makes of waves: whether it is stable |
//! | [`amplification`] | what a step makes of waves of several fields and earlier levels |
//! | [`spectral`] | any number of steps on a torus: powers of the symbol, and which boundaries a torus imitates |
//! | [`fuse`](mod@fuse) | several time steps as one stencil |
//! | [`round`](mod@round) | weights of a narrow type that keep their sum |
//! | [`split`] | f32 products by six of bf16 |
//! | [`morph`](mod@morph) | flatten and crush: a tile of outputs as a matrix product |
//! | [`matrix`] | dense matrices of weights |
//! | [`conflict`], [`matching`] | which columns of A' exclude each other; orders that heed it |
//! | [`sparsify`] | the check that an order makes the matrix 2:4 or 1:2 |
//! | [`gather`] | layouts of any stencil by a table, for kernels that gather chunks of rows |
//! | [`window`], [`row_window`](mod@row_window) | orders for kernels that keep B in registers |
//! | [`row_operand`](mod@row_operand) | operand A for the kernels on row windows |
//! | [`stencil2row`] | ConvStencil's two matrices of points, and their weights |
//! | [`star3d`](mod@star3d) | the order for kernels that chain steps of 3D stars |
//! | [`window3d`](mod@window3d) | the order for kernels that keep sums of planes in registers |
//! | [`factors`] | which values tensor cores multiply |
//! | [`encode`](mod@encode) | kept values and metadata as the lanes load them |
//! | [`dense_operand`] | the same A for dense products, with its zeros |
//! | [`lookup`] | where a lane finds B in shared memory, and the bank conflicts |
//! | [`machine`], [`model`] | what a GPU can do; the time of a sweep |
//! | [`network`] | what carries bytes from GPU to GPU, and how long an exchange takes |
//! | [`explore`](mod@explore), [`roofline`] | every layout, ranked; tensor cores against CUDA cores, by their roofs |
//! | [`criteria`] | which unit wins by those roofs, from a shape and its steps alone |
//! | [`plan`](mod@plan) | the best layout, worked out and checked |
//!
//! Which lane holds which element, and `mma.sp` in software, the oracle for all of it: crate `cuda_mma`.

#![forbid(unsafe_code)]

pub mod amplification;
pub mod catalogue;
pub mod conflict;
pub mod criteria;
pub mod dense_operand;
pub mod encode;
pub mod explore;
pub mod factors;
pub mod finite_difference;
pub mod fuse;
pub mod gather;
pub mod lookup;
pub mod machine;
pub mod matching;
pub mod matrix;
pub mod model;
pub mod morph;
pub mod network;
pub mod plan;
pub mod roofline;
pub mod round;
pub mod row_operand;
pub mod row_window;
pub mod sparsify;
pub mod spectral;
pub mod split;
pub mod star3d;
pub mod stencil;
pub mod stencil2row;
pub mod stencil_file;
pub mod symbol;
pub mod window;
pub mod window3d;

pub use stencil::{Stencil, StencilError, Tap};
