// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long steps are. They are all as long as each other, or their length follows from the values: then it is
//! found anew after every so many steps, and an end time is met by steps of one length that end there.

use serde::{Deserialize, Serialize};

use super::checked::System;
use super::evaluate::{Evaluator, Nothing, Plain};
use super::expression::Node;
use problem::{Clock, Error};

/// A length of steps that follows from the values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepLength {
    /// What it is, made of reductions.
    pub value: Node,
    /// After how many steps it is found anew.
    pub every: usize,
    /// The time at which a run ends, if it does.
    pub end: Option<f64>,
}

impl System {
    /// The time after so many steps, up to those of which the length is known.
    #[must_use]
    pub fn time(&self, steps: usize) -> f64 {
        self.clock.at(steps as f64)
    }

    /// Whether steps are as long as the values say.
    #[must_use]
    pub fn varies_steps(&self) -> bool {
        self.length.is_some()
    }

    /// Whether a run whose end is a time has come to it after so many steps.
    #[must_use]
    pub fn is_over(&self, steps: usize) -> bool {
        let end = self.length.as_ref().and_then(|length| length.end);
        end.is_some_and(|end| self.clock.until > 0 && self.time(steps) >= end)
    }

    /// How long the next steps are, after so many, of values of which reductions are these.
    ///
    /// # Errors
    /// [`Error::TimeStep`]: the length is none.
    pub(super) fn clock_after(&self, reduced: &[f64], steps: usize) -> Result<Clock, Error> {
        let Some(StepLength { value, every, end }) = &self.length else { return Ok(self.clock) };
        let time = self.time(steps);
        let evaluator = Evaluator::new(self, Plain, &Nothing, steps as f64).knowing(reduced);
        let dt = evaluator.at(value, [0; 3]);
        let left = end.map_or(f64::INFINITY, |end| end - time);
        // Values at rest may allow steps of any length.
        let dt = if dt == f64::INFINITY { dt.min(left) } else { dt };
        if !(dt > 0.0 && dt.is_finite()) {
            return Err(Error::TimeStep { value: dt, step: steps });
        }
        let to_end = (left / dt * (1.0 - WHOLE)).ceil().max(1.0);
        let clock = Clock { step: steps, time, dt, until: steps + every };
        if to_end > *every as f64 {
            return Ok(clock);
        }
        Ok(Clock { dt: left / to_end, until: steps + to_end as usize, ..clock })
    }
}

/// What rounding makes of a whole number of steps is no further step.
const WHOLE: f64 = 1e-9;
