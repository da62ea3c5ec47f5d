// SPDX-License-Identifier: MIT OR Apache-2.0
//! What follows the steps of a system: measurement and report.

use super::SystemSimulation;
use super::snapshot::SystemSnapshot;
use crate::report::{self, TimedSteps};
use compute::engine::Input;
use compute::report::{Report, Timing, Totals, Verification};
use compute::run::{Completed, Time, measure};
use problem::Error;
use problem::check::verify::{Comparison, Verdict};
use problem::error::InterruptedWork;
use problem::observe::Snapshot;

use crate::check::ComparedPoints;

impl SystemSimulation {
    /// What computes, how fast it was, and what was compared.
    #[must_use]
    pub fn report(&self) -> Report {
        let steps = self.done - self.first;
        let timed = match &self.measured {
            Some((timing, jumps)) if timing.repetitions > 0 => {
                TimedSteps { steps, timing: *timing, jumps: jumps.clone() }
            }
            measured => {
                let copy = measured.as_ref().and_then(|(timing, _)| timing.copy);
                let timing = Timing { copy, ..Timing::own(self.time) };
                let jumps = measured.as_ref().map(|(_, jumps)| jumps.clone());
                let jumps = jumps.unwrap_or_else(|| self.session.jumps());
                TimedSteps { steps: steps - self.untimed, timing, jumps }
            }
        };
        let (looked, grown) = &self.grown;
        let values = (*looked == self.done && !grown.is_empty()).then(|| grown.clone());
        let resumed_after = (self.first > 0).then_some(self.first);
        let chosen = self.chosen.as_ref().map(|(chosen, planned)| (chosen, *planned));
        let facts = report::facts(&self.system, &*self.session, chosen, timed, steps);
        let problem = self.system.problem(steps, self.session.value_bytes());
        let report = Report::new(problem, facts, self.verification(steps));
        let growth = self.foreseen.clone();
        let named = |totals: &Vec<f64>| {
            let names = self.system.totals().map(str::to_owned);
            Totals(names.zip(totals.iter().copied()).collect())
        };
        let told = self.told.as_ref().filter(|(step, _)| *step == self.done);
        let totals = told.map(|(_, totals)| named(totals));
        let side_by_side = self.side_by_side;
        let report = Report { resumed_after, growth, values, totals, side_by_side, ..report };
        report.with_rounded(self.rounded_coefficients().to_vec())
    }

    /// What was compared of so many steps.
    fn verification(&self, steps: usize) -> Verification {
        let mut comparisons: Vec<Comparison> =
            self.checks.iter().chain(&self.end).cloned().collect();
        if comparisons.is_empty() {
            return Verification::off();
        }
        comparisons.iter_mut().filter_map(|check| check.digits.as_mut()).for_each(|digits| {
            // What keeps values from changing adds up over all of them.
            digits.steps = steps;
        });
        let full = self.points == ComparedPoints::All && comparisons.len() == steps;
        Verification::new(Verdict { comparisons, by_jumps: false }, full, true, None)
    }

    /// Measures how long the steps of this run and a copy of an array take. The values are lost: what comes after are more
    /// steps, none of them noted or looked at.
    ///
    /// # Errors
    /// Somebody asked for an end, or the device refuses. Then the time is the run's own, as it is where values grow so far in
    /// repetitions that no jump takes them.
    pub fn measure(&mut self, time: Time) -> Result<(), Error> {
        let steps = self.done - self.first;
        if time == Time::Off || steps == 0 {
            return Ok(());
        }
        let jumps = self.session.jumps();
        let timing = self.try_measure(time, steps);
        let own = Timing::own(self.time);
        self.measured = Some((*timing.as_ref().unwrap_or(&own), jumps));
        match timing {
            // More steps than were asked for may grow values so far that no jump takes them.
            Ok(_) | Err(Error::Unsupported { .. }) => (),
            Err(error) => return Err(InterruptedWork::Measuring.of(error)),
        }
        Ok(())
    }

    fn try_measure(&mut self, time: Time, steps: usize) -> Result<Timing, Error> {
        let timed = steps - self.untimed;
        let of_one = match timed {
            // All steps were compared.
            0 => self.session.advance(1)?,
            _ => self.time / u32::try_from(timed).unwrap_or(u32::MAX),
        };
        let own = of_one * u32::try_from(steps).unwrap_or(u32::MAX);
        let stop = &self.control.stop;
        measure(&mut *self.session, steps, own, time, Input::Dropped, stop)
    }
}

impl Completed for SystemSimulation {
    fn step(&self) -> usize {
        self.done
    }

    fn show(
        &mut self,
        look: &mut dyn FnMut(&mut dyn Snapshot) -> Result<(), Error>,
    ) -> Result<(), Error> {
        look(&mut SystemSnapshot::of(self))
    }

    fn records(&self) -> &[Vec<f64>] {
        &self.records
    }

    fn series(&self) -> &[Vec<f64>] {
        &self.rows
    }

    fn measure(&mut self) -> Result<(), Error> {
        Self::measure(self, self.timed)
    }

    fn report(&self) -> Report {
        Self::report(self)
    }
}
