// SPDX-License-Identifier: MIT OR Apache-2.0
//! Benchmarks of host code and GPU kernels.
