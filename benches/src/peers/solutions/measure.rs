// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far apart two solutions are, and how far they may be.

use serde::{Deserialize, Serialize};

/// How far apart two solutions are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Of traces: the largest difference, relative to the largest value of all traces of the quantity.
    Traces,
    /// Of fields: the relative L2 distance.
    RelativeL2,
    /// Of fields: the mean of the absolute differences, in the unit of the field.
    MeanL1,
}

impl Measure {
    /// The distance of values here from those of the solution there.
    #[must_use]
    pub fn apart(self, here: &[f64], there: &[f64]) -> f64 {
        let differences = || here.iter().zip(there).map(|(here, there)| (here - there).abs());
        // NaN is the largest of all, unlike for `f64::max`.
        let largest =
            |one: f64, other: f64| if other.is_nan() || other > one { other } else { one };
        let squares = |sum: f64, value: f64| sum + value * value;
        match self {
            Self::Traces => {
                let scale = there.iter().map(|value| value.abs()).fold(0.0, largest);
                differences().fold(0.0, largest) / scale
            }
            Self::RelativeL2 => {
                let norm = there.iter().copied().fold(0.0, squares);
                (differences().fold(0.0, squares) / norm).sqrt()
            }
            Self::MeanL1 => differences().sum::<f64>() / here.len() as f64,
        }
    }
}

/// What makes two solutions agree.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Demand {
    /// They are at most so far apart on each grid.
    Apart(f64),
    /// From the coarsest grid to the finest the distance falls at least with this power of the spacing.
    Order(f64),
}
