// SPDX-License-Identifier: MIT OR Apache-2.0
//! What computes: devices, families of kernels, engines, the planner that chooses among them, grids that ranks share,
//! and simulations.

pub mod device;
pub mod engine;
pub mod families;
pub mod plan;
pub mod ranks;
pub mod report;
pub mod run;
pub mod simulation;

pub use simulation::Simulation;
