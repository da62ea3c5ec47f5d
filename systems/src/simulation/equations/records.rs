// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is noted on the way: what receivers receive, and rows of totals.

use std::time::Duration;

use super::SystemSimulation;
use crate::receivers::ReceivedValues;
use problem::Error;

impl SystemSimulation {
    /// What the receivers recorded: for the start and each step, the time and the value at each receiver.
    #[must_use]
    pub fn records(&self) -> &[Vec<f64>] {
        &self.records
    }

    /// With rows of totals: of the start, and of steps whose number is a multiple of this, at least 1. A run that goes on has
    /// those of the run before, if that had rows of these totals as often; else the first one is of the present step.
    ///
    /// # Errors
    /// As [`SystemSimulation::totals`].
    pub fn with_series(mut self, every: usize) -> Result<Self, Error> {
        self.series = Some(every);
        let rows_of = self.system.rows_of(every);
        if self.rows_of == rows_of && !self.rows.is_empty() {
            return Ok(self);
        }
        self.rows_of = rows_of;
        self.rows.clear();
        let totals = self.totals()?;
        self.note_row(totals, self.done);
        Ok(self)
    }

    /// The rows of totals: the step, the time and each total.
    #[must_use]
    pub fn series(&self) -> &[Vec<f64>] {
        // Rows of a run before are of no use to a run that goes on without.
        if self.series.is_some() { &self.rows } else { &[] }
    }

    /// Notes the totals, if a row of them is due.
    pub(super) fn note_totals(&mut self) -> Result<(), Error> {
        if self.series.is_some_and(|every| self.done.is_multiple_of(every)) {
            let totals = self.totals()?;
            self.note_row(totals, self.done);
        }
        Ok(())
    }

    pub(super) fn note_row(&mut self, totals: Vec<f64>, step: usize) {
        let time = self.system.time(step);
        self.rows.push([step as f64, time].into_iter().chain(totals).collect());
    }

    /// What the totals are of the present values, in their order ([`System::totals`]).
    ///
    /// # Errors
    /// There is no memory for a copy of the values, where one is needed, or the device refuses.
    pub fn totals(&mut self) -> Result<Vec<f64>, Error> {
        if self.system.totals.is_empty() {
            return Ok(Vec::new());
        }
        let reduced = self.session.reduced(&self.system, self.done)?;
        let totals = self.system.totals_of(&reduced, self.done);
        self.told = Some((self.done, totals.clone()));
        Ok(totals)
    }

    /// Takes so many steps of one length.
    pub(super) fn advance_evenly(&mut self, steps: usize) -> Result<Duration, Error> {
        let Some(every) = self.series else { return self.advance_and_record(steps) };
        let first = every - self.done % every;
        // A tape goes along with steps.
        if self.system.receivers.is_empty() && self.taping.is_none() {
            let (done, of) = (self.done, &self.system);
            let (time, all) = self.session.advance_and_reduce((of, done), steps, (first, every))?;
            for (number, reduced) in all.into_iter().enumerate() {
                let step = done + first + number * every;
                let totals = self.system.totals_of(&reduced, step);
                self.note_row(totals, step);
            }
            self.done += steps;
            return Ok(time);
        }
        let (mut left, mut time) = (steps, Duration::ZERO);
        while left > 0 {
            let steps = left.min(every - self.done % every);
            time += self.advance_and_record(steps)?;
            self.note_totals()?;
            left -= steps;
        }
        Ok(time)
    }

    /// Takes so many steps at once, and notes what the receivers receive after each.
    fn advance_and_record(&mut self, steps: usize) -> Result<Duration, Error> {
        let places = self.places();
        let (time, rows) = match &mut self.taping {
            Some(taping) => self.session.advance_taping(steps, &places, taping)?,
            None if places.is_empty() => (self.session.advance(steps)?, Vec::new()),
            None => self.session.advance_and_record(steps, &places)?,
        };
        if places.is_empty() {
            self.done += steps;
            return Ok(time);
        }
        for values in rows {
            self.done += 1;
            self.note(values);
        }
        Ok(time)
    }

    /// Notes what the receivers receive now.
    pub(super) fn record(&mut self) -> Result<(), Error> {
        if !self.system.receivers.is_empty() {
            let values = self.session.record(&self.places())?;
            self.note(values);
        }
        Ok(())
    }

    fn note(&mut self, values: Vec<f64>) {
        let time = self.system.time(self.done);
        let received =
            ReceivedValues { system: &self.system, numbers: &self.received, values: &values };
        let traces = self.system.traces.iter();
        let recorded = traces.map(|trace| received.record(&trace.of, self.done));
        self.records.push([time].into_iter().chain(recorded).collect());
    }

    /// The receivers' fields and places in C order.
    pub(super) fn places(&self) -> Vec<(usize, usize)> {
        let [_, ny, nx] = self.system.shape.extents();
        let place = |receiver: &crate::parts::Receiver| {
            let [z, y, x] = receiver.at;
            (receiver.field, (z * ny + y) * nx + x)
        };
        self.system.receivers.iter().map(place).collect()
    }
}
