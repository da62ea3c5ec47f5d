// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stencil kernels for NVIDIA GPUs. Each family is one file that reads from top to bottom, or a folder
//! with a file for each role of its warps:
//!
//! | module | kernels |
//! | --- | --- |
//! | [`sweep2d`] | one time step, or many, of a 2D stencil of radius 1 to 3 on sparse tensor cores: f16, bf16, tf32, f32 |
//! | [`chain2d`] | several time steps of such a stencil in one pass, chained on chip; sm_90 |
//! | [`line1d`] | one time step of a 1D stencil of radius 1 to 7, f16 and bf16 |
//! | [`wide2d`] | one time step of a 2D stencil of radius 1 to 7, f16 and bf16; also with the equations of a system in it |
//! | [`sweep3d`] | one time step of a 3D stencil of radius 1 or 2 on sparse tensor cores, f16 or bf16; sm_90 |
//! | [`gather`] | one time step of any stencil of radius up to 8, by a lookup table: f16, bf16, tf32 |
//! | [`chain3d`] | three time steps of a 3D star of radius 1 in one pass, chained on chip, f16 or bf16; sm_90 |
//! | [`toeplitz1d`] | several time steps of a 1D stencil as one sum on dense tensor cores, f64 |
//! | [`toeplitz2d`] | a 2D sum on dense tensor cores, f64 |
//! | [`dense_f64`] | products of f64 on dense tensor cores |
//! | [`convstencil`] | ConvStencil as published: one time step of radius up to 3 on dense tensor cores, f64 |
//! | [`flashfft`] | FlashFFTStencil as published: steps by Fourier transforms of tiles on dense tensor cores, f64 |
//! | [`look`] | what a look at a grid takes: whether its values are finite, and a packed copy of points |
//! | [`filter`] | weighted sums of arrays of any types, without a halo, as `scipy.ndimage` has them |
//! | [`rates`] | how fast tensor cores and CUDA cores go |
//! | [`temporal`] | several time steps of a stencil in one pass, on CUDA cores |
//! | [`spectral`] | any number of steps at once, by Fourier transforms |
//! | [`direct`] | one time step of any stencil on CUDA cores |
//! | [`rim`] | several time steps of any stencil near any boundary, on CUDA cores |
//! | [`boundary`] | what lies around a grid |
//! | [`element`] | element types, as CUDA cores work on them |
//! | [`layout`] | where a grid lies in device memory: the contract with the host |
//! | [`row_window`] | which columns the lanes load and store where a product takes one input row |
//! | [`half`] | the 16-bit element types |
//! | [`product`] | products, sparse and dense, that a kernel is made of |
//! | `unroll` | loops that are unrolled for certain |
//! | [`ring`] | the ring of shared-memory stages between a producer warp and its consumers |
//! | [`fetch`] | a warp's own ring of rows, under way from global memory |
//! | [`fill`] | how a producer warp fills a stage: bulk copies, or `cp.async` on chips before sm_90 |
//! | [`progress`] | several time steps in one launch: what blocks know of each other |
//! | [`pointwise`] | what becomes of a sum before it is stored: functions of users |
//! | [`overlap`] | how a launch waits for the one before it |
//! | [`fault`] | mistakes that tests plant, to see that they are caught |
//!
//! Kernels run on sm_80 and later, those marked sm_90 only there and later. Where chips differ,
//! `cuda_std::chip` tells.
//!
//! For the GPU the crate is compiled to PTX by `cuda_builder`; for the host it is an ordinary
//! library, from which the host takes the constants of the launch.
//!
//! Each family is a feature, all of which are on by default; the manifest says which are compiled together
//! (`package.metadata.cuda_builder`). A crate with kernels of its own, made of [`sweep2d::step`] and a function
//! ([`pointwise`]), uses this one without default features.

#![cfg_attr(target_arch = "nvptx64", no_std)]

#[cfg(feature = "shared")]
pub mod boundary;
#[cfg(all(feature = "chain2d", any(target_feature = "sm_90", not(target_arch = "nvptx64"))))]
pub mod chain2d;
#[cfg(all(feature = "chain3d", any(target_feature = "sm_90", not(target_arch = "nvptx64"))))]
pub mod chain3d;
#[cfg(feature = "convstencil")]
pub mod convstencil;
#[cfg(any(feature = "flashfft", feature = "toeplitz"))]
pub mod dense_f64;
#[cfg(feature = "direct")]
pub mod direct;
#[cfg(feature = "shared")]
pub mod element;
pub mod fault;
#[cfg(feature = "shared")]
pub mod fetch;
pub mod fill;
#[cfg(feature = "filter")]
pub mod filter;
#[cfg(feature = "flashfft")]
pub mod flashfft;
#[cfg(feature = "gather")]
pub mod gather;
pub mod half;
pub mod layout;
#[cfg(feature = "line1d")]
pub mod line1d;
#[cfg(feature = "look")]
pub mod look;
pub mod overlap;
pub mod pointwise;
pub mod product;
pub mod progress;
#[cfg(feature = "rates")]
pub mod rates;
#[cfg(feature = "rim")]
pub mod rim;
pub mod ring;
#[cfg(feature = "shared")]
pub mod row_window;
#[cfg(feature = "spectral")]
pub mod spectral;
pub mod sweep2d;
#[cfg(all(feature = "sweep3d", any(target_feature = "sm_90", not(target_arch = "nvptx64"))))]
pub mod sweep3d;
#[cfg(feature = "temporal")]
pub mod temporal;
#[cfg(feature = "toeplitz")]
pub mod toeplitz1d;
#[cfg(feature = "toeplitz")]
pub mod toeplitz2d;
#[cfg(feature = "shared")]
mod unroll;
#[cfg(feature = "wide2d")]
pub mod wide2d;

/// Registers that a thread may have, unless its kernel states a number of its own: the largest block,
/// of 18 warps, puts 5 on one of a multiprocessor's four partitions of 16384 registers. The host passes
/// it to the driver, and the audit of the PTX to `ptxas`.
pub const MOST_REGISTERS: u32 = 96;
