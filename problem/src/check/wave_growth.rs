// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is told of a wave that the steps of a run make large.

use serde::Serialize;

/// The growth of a wave that the steps of a run make large.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WaveGrowth {
    /// How many times a step makes the wave larger that grows fastest.
    pub factor: f64,
    /// Points of a period of that wave along (z, y, x); null along axes where it is constant.
    pub lengths: [Option<f64>; 3],
    /// Whether it is a wave of so few points that it grows because of the steps, not of the equations.
    pub short: bool,
    /// Where weights that vary are such, slowest axis first; null where all weights give that factor.
    pub at: Option<Vec<usize>>,
    /// Steps of the run.
    pub steps: usize,
    /// The decimal logarithm of the growth in all of them.
    pub digits: f64,
    /// When values may outgrow their type; null if not in this run.
    pub overflow: Option<Overflow>,
}

/// Values that outgrow their type.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overflow {
    /// The type.
    pub dtype: String,
    /// The largest number that it holds.
    pub limit: f64,
    /// The first step, of all that are done, after which values may be larger.
    pub step: usize,
}
