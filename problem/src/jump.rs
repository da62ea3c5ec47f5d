// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is told of engines that take many steps at once by Fourier transforms.

use serde::{Deserialize, Serialize};

/// How such an engine takes steps.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JumpReport {
    /// Time steps of a jump, but for the last one of a run.
    pub steps: usize,
    /// Points of the torus that is transformed, slowest axis first: one for each group of fields that depend on each other.
    pub toruses: Vec<Vec<usize>>,
    /// Points of the grid that are stepped, because the torus does not imitate the boundary there.
    pub rim: usize,
    /// How many times a wave grew in a jump, at most; null of a stencil.
    pub growth: Option<f64>,
}

/// What the jumps since the grid was loaded did to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Jumped {
    /// How many there were. Each rounded the grid to its element type once.
    pub count: usize,
    /// What rounding in the transforms can have caused at any point.
    pub error: f64,
}
