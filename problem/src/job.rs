// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is to be computed.

use crate::{Boundary, Dtype, Shape};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use transform::Stencil;

/// What is to be computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The stencil, with its weights in f64.
    pub stencil: Stencil,
    /// Extents of the grid; as many axes as the stencil.
    pub shape: Shape,
    /// How values are stored between steps. Weights are rounded to this type too.
    pub dtype: Dtype,
    /// What lies outside the grid.
    pub boundary: Boundary,
    /// Number of time steps.
    pub steps: usize,
    /// Time steps to take as one sum, of the fused stencil.
    pub fuse: Depth,
    /// Sweeps to chain on chip, of so many fused steps each.
    pub chain: Depth,
    /// Time steps to take at once by Fourier transforms, if that is asked for.
    pub jump: Depth,
    /// The name of the family of kernels that is to take most of the steps (`compute::families::FAMILIES`); by
    /// default the fastest does.
    pub kernel: Option<&'static str>,
    /// Whether kernels must have all weights as they are given: then no sum of several steps is taken whose weights the
    /// element type cannot hold. Otherwise weights are rounded to the type.
    pub keeps_weights: bool,
}

impl Job {
    /// With zeros around the grid, and as many steps at once as the engine likes.
    #[must_use]
    pub fn new(stencil: Stencil, shape: Shape, dtype: Dtype, steps: usize) -> Self {
        let (boundary, fuse, chain, jump, kernel) = Default::default();
        let keeps_weights = false;
        Self { stencil, shape, dtype, boundary, steps, fuse, chain, jump, kernel, keeps_weights }
    }
}

/// The most steps that may be asked for at once; kernels take fewer.
const MOST_DEPTH: usize = 64;

/// How many steps are taken at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Depth {
    /// What the engine finds fastest.
    #[default]
    Auto,
    /// So many; at least 1.
    Steps(usize),
}

impl Depth {
    /// Whether one at a time will do.
    #[must_use]
    pub fn allows_one(self) -> bool {
        matches!(self, Self::Auto | Self::Steps(1))
    }
}

impl FromStr for Depth {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            _ if text == "auto" => Ok(Self::Auto),
            Ok(steps) if (1..=MOST_DEPTH).contains(&steps) => Ok(Self::Steps(steps)),
            _ => Err(format!("give a number of steps from 1 to {MOST_DEPTH}, or auto")),
        }
    }
}

impl fmt::Display for Depth {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Steps(steps) => write!(f, "{steps}"),
        }
    }
}
