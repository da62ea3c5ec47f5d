// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stencil kernels for NVIDIA GPUs, in Rust.
