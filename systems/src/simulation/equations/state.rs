// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a system has come to, and how it goes on from there or goes back to it.

use std::cell::Cell;
use std::time::Duration;

use super::{ComputeOptions, SystemSimulation};
use crate::checked::System;
use crate::expression::Array;
use crate::session::StepSession;
use crate::start::StartValues;
use crate::tape::{Tape, TapeValues, TapedSession};
use compute::device::{DeviceArray, DeviceGrid};
use problem::observe::ArrayName;
use problem::{Clock, Dtype, Error, Grid, Region};

/// What an earlier run left of a system.
#[derive(Clone, Debug)]
pub struct SystemState {
    /// Steps that it took.
    pub step: usize,
    /// The values of fields and of their earlier levels.
    pub arrays: Vec<(ArrayName, Grid)>,
    /// What receivers recorded.
    pub records: Vec<Vec<f64>>,
    /// The rows of totals, where it had some.
    pub series: Vec<Vec<f64>>,
    /// Digits that tell which totals these are of, and how often there is a row.
    pub rows_of: String,
    /// When the next steps were to be, where their number does not say it: without it time begins anew.
    pub clock: Option<Clock>,
}

/// What was noted in steps.
pub struct StepRecords {
    records: Vec<Vec<f64>>,
    rows: Vec<Vec<f64>>,
    time: Duration,
}

impl SystemSimulation {
    /// A system as an earlier run left it, on what is asked for.
    ///
    /// # Errors
    /// As [`SystemSimulation::asked`]; [`Error::UnknownField`], [`Error::Points`]: the values are not those of this
    /// system.
    pub fn resumed(
        system: &System,
        asked: &ComputeOptions,
        left: SystemState,
    ) -> Result<Self, Error> {
        Self::left(system, asked, left, Ok)
    }

    /// A system as another one left it, whose equations or values were changed since: solid points have what walls say.
    ///
    /// # Errors
    /// As [`SystemSimulation::resumed`]; [`Error::NotFinite`]: a value that walls say is not finite.
    pub(in crate::simulation) fn changed(
        system: &System,
        asked: &ComputeOptions,
        left: SystemState,
    ) -> Result<Self, Error> {
        Self::left(system, asked, left, |values| values.beside_walls(system))
    }

    fn left(
        system: &System,
        asked: &ComputeOptions,
        left: SystemState,
        then: impl Fn(StartValues) -> Result<StartValues, Error>,
    ) -> Result<Self, Error> {
        let SystemState { step, arrays, records, series: rows, rows_of, clock } = left;
        let is_own = |clock: &Clock| system.varies_steps() || clock.dt == system.clock.dt;
        let clock = clock.filter(is_own).unwrap_or(system.clock);
        let system = &System { clock, ..system.clone() };
        let arrays = Cell::new(arrays);
        // Whoever begins asks once.
        let beginning = || then(StartValues::resumed(system, step, arrays.take())?);
        let simulation = Self::begun(system, asked, &beginning, &[])?;
        Ok(Self { done: step, finite: step, first: step, records, rows, rows_of, ..simulation })
    }

    /// All that is needed to go on from here.
    ///
    /// # Errors
    /// The device refuses, or there is no memory for the copy.
    pub fn state(&mut self) -> Result<SystemState, Error> {
        self.check_finite()?;
        Ok(SystemState {
            step: self.done,
            arrays: self.arrays()?,
            records: self.records.clone(),
            series: self.series().to_vec(),
            rows_of: self.rows_of.clone(),
            clock: self.clock(),
        })
    }

    /// A copy of a field as it was some steps before now; none where no equation reads that.
    ///
    /// # Errors
    /// [`Error::UnknownField`]; [`Error::Memory`]; the device refuses.
    pub(in crate::simulation) fn level(
        &mut self,
        name: &str,
        level: usize,
    ) -> Result<Option<Grid>, Error> {
        let own = Array::Field { field: self.system.find(name)?, level };
        let number = self.system.numbered().into_iter().position(|array| array == own);
        number.map(|number| self.session.grid(number)).transpose()
    }

    /// Gives a field other values some steps before now, where the engine takes values in their place. False where it does not,
    /// and where walls say something of them, too.
    ///
    /// # Errors
    /// [`Error::UnknownField`]; the device refuses.
    pub(in crate::simulation) fn put(
        &mut self,
        name: &str,
        level: usize,
        values: &Grid,
    ) -> Result<bool, Error> {
        let field = self.system.find(name)?;
        let own = Array::Field { field, level };
        let number = self.system.numbered().into_iter().position(|array| array == own);
        let Some(number) = number.filter(|_| self.system.solid.is_none()) else { return Ok(false) };
        let whole = Region::whole(self.system.shape);
        let values = self.system.with_zeros(field, values);
        match self.session.write(number, whole, &values.values) {
            Err(Error::Unsupported { .. }) => return Ok(false),
            written => written?,
        }
        self.begins_here();
        Ok(true)
    }

    /// Gives a field the values of an array in the memory of a GPU, of its shape, where they can be copied and looked at there.
    /// False where they cannot, or where one is not finite; then nothing is changed.
    ///
    /// # Errors
    /// [`Error::UnknownField`]; the device refuses.
    pub(in crate::simulation) fn put_array(
        &mut self,
        name: &str,
        level: usize,
        from: &DeviceArray,
    ) -> Result<bool, Error> {
        let takes_all =
            self.system.solid.is_none() && self.system.zeros(self.system.find(name)?).is_none();
        let Some(number) = self.number(name, level)?.filter(|_| takes_all) else {
            return Ok(false);
        };
        if from.dtype() != self.system.dtype || !self.session.take_array(number, from)? {
            return Ok(false);
        }
        self.begins_here();
        Ok(true)
    }

    /// A copy of a field so many steps before now in the memory of the GPU that computes it, if all values are known to be finite; none where that is not done
    /// without this machine's memory.
    ///
    /// # Errors
    /// [`Error::UnknownField`]; there is no room; the device refuses.
    pub(in crate::simulation) fn on_device(
        &mut self,
        name: &str,
        level: usize,
    ) -> Result<Option<DeviceGrid>, Error> {
        match self.number(name, level)? {
            Some(number) => self.session.give_array(number),
            None => Ok(None),
        }
    }

    /// Goes back to a state, with what was noted up to it, and on as a system that differs in values of tables; false where the
    /// engine cannot: then nothing that it has counts.
    ///
    /// # Errors
    /// [`Error::UnknownField`]; the device refuses.
    pub(in crate::simulation) fn begin_shot(
        &mut self,
        system: &System,
        state: &SystemState,
    ) -> Result<bool, Error> {
        // Before anything is changed.
        for (name, values) in &state.arrays {
            self.number(&name.field, name.level)?;
            if values.shape != self.system.shape {
                let (shape, found) = (self.system.shape.to_string(), values.shape.to_string());
                return Err(Error::Extents { shape, found });
            }
        }
        if self.system.varies_steps()
            || !self.session.take_tables(&system.tables)
            || !self.session.take_step(state.step)
        {
            return Ok(false);
        }
        (self.done, self.finite, self.unseen) = (state.step, state.step, Duration::ZERO);
        self.first = self.first.min(state.step);
        for (name, values) in &state.arrays {
            if !self.put(&name.field, name.level, values)? {
                return Ok(false);
            }
        }
        self.system.tables.clone_from(&system.tables);
        self.system.source.clone_from(&system.source);
        self.records.clone_from(&state.records);
        self.rows.clone_from(&state.series);
        self.rows_of.clone_from(&state.rows_of);
        Ok(true)
    }

    /// A field has other values: its steps begin here.
    fn begins_here(&mut self) {
        self.forget_start();
        self.system.clock = self.system.found_anew(self.system.clock, self.done);
    }

    /// Its steps cannot be taken again from the start.
    fn forget_start(&mut self) {
        (self.told, self.again, self.foreseen) = (None, None, None);
        self.grown = (0, Vec::new());
        self.outset.forget_values();
    }

    /// The number that an array has in its session; none where no equation reads it.
    ///
    /// # Errors
    /// [`Error::UnknownField`].
    pub(in crate::simulation) fn number(
        &self,
        name: &str,
        level: usize,
    ) -> Result<Option<usize>, Error> {
        let own = Array::Field { field: self.system.find(name)?, level };
        Ok(self.system.numbered().into_iter().position(|array| array == own))
    }

    /// Keeps arrays as they are now, by their numbers.
    ///
    /// # Errors
    /// The device refuses, or a file cannot be written.
    pub(in crate::simulation) fn keep(
        &mut self,
        arrays: impl Iterator<Item = usize>,
        (to, dtype): (&mut [TapeValues], Dtype),
    ) -> Result<(), Error> {
        for (array, kept) in arrays.zip(to) {
            self.session.keep(array, kept, dtype)?;
        }
        self.session.wait_for_copies()
    }

    /// Takes values that were kept of all of its arrays, so many steps and that time, where the session can; what was noted since is not
    /// taken back.
    ///
    /// # Errors
    /// The device refuses, or a file cannot be read.
    pub(in crate::simulation) fn return_to(
        &mut self,
        (step, clock): (usize, Clock),
        kept: &[TapeValues],
    ) -> Result<bool, Error> {
        if !self.session.take_step(step) {
            return Ok(false);
        }
        self.system.clock = clock;
        self.session.tell_clock(clock)?;
        (self.done, self.finite, self.unseen) = (step, step, Duration::ZERO);
        for (array, kept) in kept.iter().enumerate() {
            match self.session.restore_values(array, kept) {
                Err(Error::Unsupported { .. }) => return Ok(false),
                taken => taken?,
            }
        }
        Ok(true)
    }

    /// Takes steps with a tape of these arrays that goes along, and returns it.
    ///
    /// # Errors
    /// As [`SystemSimulation::step`], and of what is done with the tape.
    pub(in crate::simulation) fn step_taping(
        &mut self,
        steps: usize,
        taping: TapedSession,
    ) -> Result<Tape, Error> {
        self.taping = Some(taping);
        let stepped = self.step(steps);
        let taping = self.taping.take().expect("it goes along");
        stepped.map(|()| taping.tape)
    }

    /// Begins to note when steps are, and how long, where that follows from the values.
    pub(in crate::simulation) fn note_paces(&mut self) {
        self.paces = self.system.varies_steps().then(Vec::new);
    }

    /// The time and the length of each step since then, which are not noted any more.
    pub(in crate::simulation) fn noted_paces(&mut self) -> Vec<[f64; 2]> {
        self.paces.take().unwrap_or_default()
    }

    /// What was noted until now, which it has no more.
    pub(in crate::simulation) fn passed(&mut self) -> StepRecords {
        StepRecords {
            records: std::mem::take(&mut self.records),
            rows: std::mem::take(&mut self.rows),
            time: self.time,
        }
    }

    /// Takes what was noted.
    pub(in crate::simulation) fn restore_records(&mut self, passed: StepRecords) {
        let StepRecords { records, rows, time } = passed;
        (self.records, self.rows, self.time) = (records, rows, time);
    }

    /// When the next steps are.
    pub(in crate::simulation) fn present_clock(&self) -> Clock {
        self.system.clock
    }

    /// The session.
    pub(in crate::simulation) fn room(&mut self) -> &mut dyn StepSession {
        &mut *self.session
    }
}
