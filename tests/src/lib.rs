// SPDX-License-Identifier: MIT OR Apache-2.0
//! End-to-end, conformance and error-text tests; this library holds what several of them use.

pub mod cases;
pub mod cases3d;
pub mod cases_chain3d;
pub mod cases_direct;
pub mod cases_rim;
pub mod computations;
pub mod draw;
pub mod emulated;
pub mod families;
pub mod gather;
pub mod gpu_suite;
pub mod grid3d;
pub mod jumps;
pub mod number;
pub mod plain;
pub mod ptx;
pub mod rows;
pub mod stepped;
pub mod stored;
pub mod suite;
pub mod tier;
