// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long the steps of a system are, of values that are there: found anew where it follows from totals, and after each step
//! where that may be taken back.

use super::checked::System;
use super::clock::{Rule, StepLength};
use super::evaluate::{Evaluator, NoArrays, PlainF64};
use problem::{Clock, Error};

/// What is to be done after a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// Go on by this clock.
    Taken(Clock),
    /// Take the step again, by this clock.
    Again(Clock),
}

impl System {
    /// The time after so many steps, up to those of which the length is known.
    #[must_use]
    pub fn time(&self, steps: usize) -> f64 {
        self.clock.at(steps as f64)
    }

    /// Whether the step length follows from the values.
    #[must_use]
    pub fn varies_steps(&self) -> bool {
        self.length.is_some()
    }

    /// A clock with which the length of the next step is found anew, because values changed; what an estimate says of the step before
    /// stays.
    pub(super) fn found_anew(&self, clock: Clock, done: usize) -> Clock {
        match &self.length {
            Some(StepLength { rule: Rule::Follows(..), .. }) => {
                Clock { step: done, time: clock.at(done as f64), until: done, ..clock }
            }
            _ => clock,
        }
    }

    /// Its time as an earlier run left it; where that says nothing, all steps were as long as each other.
    pub(super) fn with_clock_of(mut self, clock: Option<Clock>) -> Self {
        if !self.varies_steps() {
            let dt = self.clock.dt;
            let is_own = |clock: &Clock| clock.dt.to_bits() == dt.to_bits();
            self.clock = clock.filter(is_own).unwrap_or(Clock::of(dt));
        }
        self
    }

    /// How many steps are of one length at most, where their length follows from the values.
    pub(super) fn evenly(&self) -> Option<usize> {
        match &self.length.as_ref()?.rule {
            Rule::Follows(_, every) => Some(*every),
            Rule::Within { .. } => Some(1),
        }
    }

    /// It as it is before the first step.
    pub(super) fn begun(&self) -> Self {
        let clock = if self.varies_steps() { Clock::unknown() } else { self.clock };
        Self { clock, ..self.clone() }
    }

    /// Whether a run ends at a time, so that its number of steps is not known before.
    #[must_use]
    pub fn ends_in_time(&self) -> bool {
        self.length.as_ref().is_some_and(|length| length.end.is_some())
    }

    /// Whether a run whose end is a time has come to it after so many steps.
    #[must_use]
    pub fn is_over(&self, steps: usize) -> bool {
        let end = self.length.as_ref().and_then(|length| length.end);
        end.is_some_and(|end| self.clock.until > 0 && self.time(steps) >= end * (1.0 - WHOLE))
    }

    /// Whether a step may be taken back.
    pub(super) fn takes_back(&self) -> bool {
        matches!(&self.length, Some(StepLength { rule: Rule::Within { .. }, .. }))
    }

    /// That no step has an estimate of what it is off by, which is a work field that is looked at after each step.
    ///
    /// # Errors
    /// One has.
    pub(super) fn check_keeps_no_estimate(&self) -> Result<(), String> {
        match self.takes_back() {
            true => Err("each step is looked at, and may be taken back".into()),
            false => Ok(()),
        }
    }

    /// Whether a work field is kept, though no equation reads it.
    pub(super) fn keeps(&self, work: usize) -> bool {
        match &self.length {
            Some(StepLength { rule: Rule::Within { estimates, .. }, .. }) => {
                estimates.contains(&work)
            }
            _ => false,
        }
    }

    /// Whether the last one of so many steps is good enough, by reductions of the values after it, and how long the next one is.
    ///
    /// The length goes with the fifth root of what is tolerated over what the step was off by (Hairer, Nørsett, Wanner, "Solving
    /// ordinary differential equations I", 1993, section II.4). A tenth less of that is taken, and at most five times as much
    /// or a fifth.
    ///
    /// # Errors
    /// [`Error::TimeStep`]: a step would be too short to change the time.
    pub(super) fn verdict(&self, reduced: &[f64], steps: usize) -> Result<Option<Verdict>, Error> {
        let Some(StepLength { rule: Rule::Within { off, .. }, end }) = &self.length else {
            return Ok(None);
        };
        let evaluator =
            Evaluator::new(self, PlainF64, &NoArrays, steps as f64).with_totals(reduced);
        let off = evaluator.at(off, [0; 3]);
        // Also of what is no number.
        let factor = if off >= 0.0 { (0.9 * off.powf(-0.2)).clamp(0.2, 5.0) } else { 0.2 };
        let clock = self.clock;
        let is_good = (0.0..=1.0).contains(&off);
        let (step, time) = match is_good {
            true => (steps, clock.at(steps as f64)),
            false => (steps - 1, clock.time),
        };
        let dt = clock.dt * if is_good { factor } else { factor.min(0.9) };
        if time + dt == time {
            return Err(Error::TimeStep { value: dt, step });
        }
        let dt = end.map_or(dt, |end| to_end(dt, end - time));
        let clock = Clock { step, time, dt, until: step + 1 };
        Ok(Some(if is_good { Verdict::Taken(clock) } else { Verdict::Again(clock) }))
    }

    /// How long the next steps are, after so many, of values of which reductions are these.
    ///
    /// # Errors
    /// [`Error::TimeStep`]: the length is no number above 0, or too short to change the time.
    pub(super) fn clock_after(&self, reduced: &[f64], steps: usize) -> Result<Clock, Error> {
        let Some(StepLength { rule, end }) = &self.length else { return Ok(self.clock) };
        let (value, every) = match rule {
            Rule::Follows(value, every) => (value, every),
            Rule::Within { first, .. } => {
                let dt = end.map_or(*first, |end| to_end(*first, end));
                return Ok(Clock { step: steps, time: 0.0, dt, until: steps + 1 });
            }
        };
        let time = self.time(steps);
        let evaluator =
            Evaluator::new(self, PlainF64, &NoArrays, steps as f64).with_totals(reduced);
        let dt = evaluator.at(value, [0; 3]);
        // Who goes on after the end takes steps as before.
        let left = end.filter(|_| !self.is_over(steps)).map_or(f64::INFINITY, |end| end - time);
        // Values at rest may allow steps of any length.
        let dt = if dt == f64::INFINITY { dt.min(left) } else { dt };
        if !(dt > 0.0 && dt.is_finite()) || time + dt == time {
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

/// A step of at most this length, of two equal ones if two are left.
fn to_end(dt: f64, left: f64) -> f64 {
    match left / dt {
        // Who goes on after the end takes steps as before.
        parts if parts <= WHOLE => dt,
        parts if parts <= 1.0 => left,
        parts if parts <= 2.0 => 0.5 * left,
        _ => dt,
    }
}

/// What rounding makes of a whole number of steps is no further step.
const WHOLE: f64 = 1e-9;
