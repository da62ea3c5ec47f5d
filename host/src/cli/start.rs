// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run of a stencil starts from.

use std::str::FromStr;

use compute::run::InputMemory;
use files::io::StartSource;
use problem::check::growth::Growth;
use problem::{Error, Grid, Job};

/// What a grid begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Start {
    /// Random values in [0, 1).
    #[default]
    Random,
    /// This everywhere.
    Constant(f64),
    /// A bell in the middle: 1 there, and e^(-1/2) at a 16th of the grid's extent along each axis.
    Gauss,
}

impl FromStr for Start {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let constant = text.strip_prefix("constant=").and_then(|value| value.parse::<f64>().ok());
        match (text, constant) {
            ("random", _) => Ok(Self::Random),
            ("zero", _) => Ok(Self::Constant(0.0)),
            ("gauss", _) => Ok(Self::Gauss),
            (_, Some(value)) if value.is_finite() => Ok(Self::Constant(value)),
            _ => Err("give zero, constant=V such as constant=1.5, random, or gauss".into()),
        }
    }
}

impl Start {
    /// What it is with this seed.
    pub fn initial(self, seed: u64) -> StartSource {
        match self {
            Self::Random => StartSource::Random(seed),
            Self::Constant(value) => StartSource::Constant(value),
            Self::Gauss => StartSource::Gauss,
        }
    }
}

/// What a run starts from.
pub enum StartFrom {
    /// A grid that is here.
    Grid(Grid),
    /// What can be made or read, by each rank its part.
    Source(StartSource),
}

impl StartFrom {
    /// How the run gets it.
    pub fn start(&self, shared: bool) -> InputMemory {
        match self {
            Self::Grid(_) => InputMemory::Given,
            Self::Source(_) if shared => InputMemory::ByParts,
            Self::Source(_) => InputMemory::ToCome,
        }
    }

    /// What growth of values is to be feared.
    ///
    /// # Errors
    /// A file cannot be read, or holds a value that is not finite.
    pub fn growth(&self, job: &Job) -> Result<Option<Growth>, Error> {
        match self {
            Self::Grid(grid) => Ok(Growth::predict(job, Some(grid))),
            Self::Source(initial) => {
                Growth::predict_from(job, || initial.largest(job.shape, job.dtype))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_read() {
        let initial = |text: &str| text.parse::<Start>().map(|start| start.initial(7));
        assert_eq!(initial("zero"), Ok(StartSource::Constant(0.0)));
        assert_eq!(initial("constant=-1.5"), Ok(StartSource::Constant(-1.5)));
        assert_eq!(initial("random"), Ok(StartSource::Random(7)));
        assert_eq!(initial("gauss"), Ok(StartSource::Gauss));
        for wrong in ["", "one", "constant=", "constant=inf", "constant=nan"] {
            assert!(wrong.parse::<Start>().is_err(), "{wrong}");
        }
    }
}
