// SPDX-License-Identifier: MIT OR Apache-2.0
//! What computes: families of kernels, engines, the planner that chooses among them, grids that ranks share,
//! and simulations.

pub mod engine;
pub mod families;
pub mod filter;
pub mod plan;
pub mod ranks;
pub mod report;
pub mod run;
pub mod simulation;

pub use devices as device;
pub use simulation::SumSimulation;
pub use tiles::at_level;
