// SPDX-License-Identifier: MIT OR Apache-2.0
//! The commands of the program `benches`, one a file.

pub mod calibrate;
pub mod criteria;
pub mod crossover;
pub mod gpu_candidates;
pub mod gpu_chain;
pub mod gpu_gather;
pub mod gpu_rows;
pub mod gpu_split;
pub mod gpu_sweep;
pub mod gpu_sweep3d;
pub mod peers;
pub mod performance;
pub mod scaling;
