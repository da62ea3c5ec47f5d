// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems of fields: random ones against the oracle, the built-in ones against solutions of their own.

mod adjoint;
mod batch;
mod clock;
pub mod composed;
mod documented;
pub mod draw;
mod examples;
mod given;
mod jumps;
mod noise;
mod points;
mod random;
mod sides;
mod solid;
mod solves;
mod staged;
mod sums;
pub mod tier;
pub mod totals;
