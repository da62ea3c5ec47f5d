// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long the steps of a system are, where that follows from its values, and where its time ends.

use super::SystemSimulation;
use crate::paced::Verdict;
use problem::{Clock, Error};

impl SystemSimulation {
    /// Whether the step that was taken last is good enough; else it is taken back, with what was noted after so many records
    /// and rows.
    pub(super) fn accept_step(&mut self, noted: [usize; 2]) -> Result<bool, Error> {
        if !self.system.takes_back() {
            return Ok(true);
        }
        let reduced = self.session.reduced(&self.system, self.done)?;
        let verdict = self.system.verdict(&reduced, self.done)?;
        let verdict = verdict.expect("steps are taken within a tolerance");
        let (Verdict::Taken(clock) | Verdict::Again(clock)) = verdict;
        let is_taken = matches!(verdict, Verdict::Taken(_));
        if !is_taken {
            self.session.take_back()?;
            self.done -= 1;
            let [records, rows] = noted;
            self.records.truncate(records);
            self.rows.truncate(rows);
            if let Some(taping) = &mut self.taping {
                taping.step_back();
            }
        }
        self.system.clock = clock;
        self.session.tell_clock(clock)?;
        Ok(is_taken)
    }

    /// Finds out how long the next steps are, where that follows from the values and is due, and tells the session. For how many
    /// steps it is known.
    pub(super) fn update_clock(&mut self) -> Result<usize, Error> {
        if self.done >= self.system.clock.until {
            let reduced = self.session.reduced(&self.system, self.done)?;
            let clock = self.system.clock_after(&reduced, self.done)?;
            self.system.clock = clock;
            self.session.tell_clock(clock)?;
        }
        Ok(self.system.clock.until - self.done)
    }

    /// The step up to which the length of steps is known, found out where it is due and no end in time is over.
    pub(super) fn update_clock_unless_over(&mut self) -> Result<usize, Error> {
        if !self.system.is_over(self.done) {
            self.update_clock()?;
        }
        Ok(self.system.clock.until)
    }

    /// When the next steps are, where their number does not say it.
    pub(super) fn clock(&self) -> Option<Clock> {
        self.system.has_variable_steps().then_some(self.system.clock)
    }

    /// Whether it has come to its end, where that is a time.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.system.is_over(self.done)
    }

    /// The time that they took in what is simulated.
    #[must_use]
    pub fn now(&self) -> f64 {
        self.system.time(self.done)
    }
}
