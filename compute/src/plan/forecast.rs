// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a plan says of the candidate that is taken.

use super::calibration::Calibration;
use super::{Candidate, Planned};
use serde::Serialize;

/// What was predicted of a run before it ran; null where the planner did not have to choose.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Forecast {
    /// Seconds of all steps; null also where the kernel was never measured.
    pub predicted_seconds: Option<f64>,
    /// Predicted time of the second candidate over that of the one that was taken; null if there is no second, or
    /// one of them was never measured.
    pub margin: Option<f64>,
    /// The second candidate of those that were allowed.
    pub second: Option<Candidate>,
    /// Where the speeds come from that this is made of.
    pub figures: Option<String>,
}

impl Forecast {
    /// The forecast for `steps` steps, where this one is for `planned` steps.
    #[must_use]
    pub fn of_steps(&self, steps: usize, planned: usize) -> Self {
        let seconds = self.predicted_seconds;
        // A run of no steps has no share.
        let share = if steps == planned { 1.0 } else { steps as f64 / planned as f64 };
        Self { predicted_seconds: seconds.map(|seconds| seconds * share), ..self.clone() }
    }

    /// Of the first candidate, for so many steps.
    #[must_use]
    pub fn of_first(planned: &Planned, steps: usize) -> Option<Self> {
        let [first, rest @ ..] = planned.ranked.as_slice() else { return None };
        let second = rest.first().cloned();
        // The speeds of the CPU are those of the machine.
        let known = |one: &Candidate| match &one.cost {
            Some(cost) if !one.launches.is_empty() => Calibration::built_in().has_measured(cost),
            _ => true,
        };
        let margin = |second: &Candidate| {
            let both = known(first) && known(second);
            both.then(|| second.seconds_per_step / first.seconds_per_step)
        };
        Some(Self {
            predicted_seconds: known(first).then_some(first.seconds_per_step * steps as f64),
            margin: second.as_ref().and_then(margin),
            second,
            figures: Some(planned.figures.clone()),
        })
    }
}
