// SPDX-License-Identifier: MIT OR Apache-2.0
//! Equations of fields that are stepped, recorded and compared, whatever computes them.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::time::Duration;

use crate::batch::Seat;
use crate::check::{self, Points};
use crate::checked::System;
use crate::expression::Array;
use crate::growth::{self, Outset};
use crate::paced::Verdict;
use crate::plan::{self, Chosen, Request};
use crate::receivers::{Numbers, Received};
use crate::session::{Jumps, StepSession};
use crate::start::StartValues;
use crate::{gpu, ranks};
use compute::device::{DeviceArray, DeviceGrid};
use compute::engine::EngineRequest;
use compute::families::refusal::Refusal;
use compute::plan::Sharing;
use compute::report::Timing;
use compute::run::{Pace, Stepping, Time, take_steps};
use problem::check::field_growth::FieldGrowth;
use problem::check::rounded::RoundedCoefficient;
use problem::check::verify::Comparison;
use problem::check::wave_growth::WaveGrowth;
use problem::control::Control;
use problem::observe::{ArrayName, Nobody, Observer, Snapshot};
use problem::{Clock, Depth, Error, Grid, Region};

mod report;
mod snapshot;
mod trace;

use snapshot::SystemSnapshot;

/// Work between two looks at whether all values are finite.
const FINITE: Duration = Duration::from_secs(1);

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

/// What a system is to be computed on.
#[derive(Clone)]
pub struct Asked {
    /// The engine.
    pub engine: EngineRequest,
    /// Steps that are taken at a time while nobody looks, at least 1: then `auto` takes all of them at once, where that is
    /// possible and predicted to be faster.
    pub steps: usize,
    /// The family by name ([`crate::families`]), if it is not the one that is predicted to be fastest.
    pub family: Option<&'static str>,
    /// Who shares the grid, if it is not one device alone.
    pub sharing: Option<Sharing>,
    /// Values of fields instead of those that the system starts with, also one and more steps before.
    pub inputs: Rc<[(String, Grid)]>,
    /// Its place among systems that are computed side by side, if it is one of them: they are asked for the engine then.
    pub seat: Option<Seat>,
}

impl Default for Asked {
    fn default() -> Self {
        let (engine, inputs) = (EngineRequest::Auto, Rc::default());
        Self { engine, steps: 1, family: None, sharing: None, inputs, seat: None }
    }
}

/// A system with its values.
pub struct SystemSimulation {
    system: System,
    session: Box<dyn StepSession>,
    control: Control,
    done: usize,
    /// Those of them that an earlier run took.
    first: usize,
    /// Steps after which all values were finite.
    finite: usize,
    time: Duration,
    /// Those since all values were looked at.
    unseen: Duration,
    checks: Vec<Comparison>,
    /// The comparison of the last step before a look after which the run may have ended.
    end: Option<Comparison>,
    /// Steps that were compared, whose time does not count.
    untimed: usize,
    /// Where a step is compared.
    points: Points,
    /// Whether all steps are compared.
    compares_all: bool,
    records: Vec<Vec<f64>>,
    /// Steps between two rows of totals, if they are wanted, and the rows.
    series: Option<usize>,
    rows: Vec<Vec<f64>>,
    /// Digits that tell which totals these are of, and how often there is a row.
    rows_of: String,
    /// The totals after so many steps that somebody asked for last.
    told: Option<(usize, Vec<f64>)>,
    /// Of which receiver each value is.
    received: Numbers,
    /// What it began with.
    outset: Outset,
    /// By how much values had grown after so many steps.
    grown: (usize, Vec<FieldGrowth>),
    /// The growth that was foreseen.
    foreseen: Option<WaveGrowth>,
    /// What is to be measured after the steps.
    timed: Time,
    /// What was measured after the steps, and the jumps before that.
    measured: Option<(Timing, Option<Jumps>)>,
    /// What was chosen of all ways, for so many steps at a time; of ranks nothing.
    chosen: Option<(Chosen, usize)>,
    /// What takes its steps again from the start; none where nothing can.
    again: Option<EngineRequest>,
    /// How many systems are computed side by side, this one among them.
    side_by_side: usize,
    /// What it began with instead of the system's own values.
    inputs: Rc<[(String, Grid)]>,
}

impl SystemSimulation {
    /// A system at its start, on all cores of this machine.
    ///
    /// # Errors
    /// [`Error::NotFinite`]: a value to start with is not finite. [`Error::Memory`]: it does not fit.
    pub fn new(system: &System) -> Result<Self, Error> {
        Self::on(system, EngineRequest::Cpu)
    }

    /// A system at its start, on what is asked for: `cuda`, `cpu`, `fft`, `emulate`, or with `auto` the GPU if there is one that
    /// can compute it, else the CPU, step by step.
    ///
    /// # Errors
    /// As [`SystemSimulation::new`]; [`Error::Unsupported`]: another engine is asked for, or the one that is cannot
    /// compute this; [`Error::NoDriver`] and the like: there is no GPU to ask for.
    pub fn on(system: &System, engine: EngineRequest) -> Result<Self, Error> {
        Self::asked(system, &Asked { engine, ..Asked::default() })
    }

    /// A system at its start, on what is asked for.
    ///
    /// # Errors
    /// As [`SystemSimulation::on`]; [`Error::Split`]: ranks cannot share it.
    pub fn asked(system: &System, asked: &Asked) -> Result<Self, Error> {
        let simulation = Self::begun(system, asked, &|| StartValues::with(system, &asked.inputs))?;
        let again = trace::again(&simulation);
        Ok(Self { inputs: Rc::clone(&asked.inputs), again, ..simulation })
    }

    /// With these values.
    fn begun(
        system: &System,
        asked: &Asked,
        beginning: &dyn Fn() -> Result<StartValues, Error>,
    ) -> Result<Self, Error> {
        let outset = OnceCell::new();
        let noted = || noted(system, &outset, beginning);
        let simulation = Self::begun_on(system, asked, &noted)?;
        Ok(Self { outset: outset.into_inner().unwrap_or_default(), ..simulation })
    }

    fn begun_on(
        system: &System,
        &Asked { engine, steps, family, ref sharing, ref seat, .. }: &Asked,
        beginning: &dyn Fn() -> Result<StartValues, Error>,
    ) -> Result<Self, Error> {
        // Whoever says how long jumps are asks for them.
        let jumps = system.jump != Depth::Auto;
        if jumps && !matches!(engine, EngineRequest::Auto | EngineRequest::Fft) {
            return Err(Refusal::Jump.error(engine.into()));
        }
        let engine = if jumps { EngineRequest::Fft } else { engine };
        if let Some(sharing) = sharing {
            if family.is_some() {
                let reason = "ranks take the kernel that is predicted to be fastest, none by name";
                return Err(Error::Split { reason: reason.into() });
            }
            return Self::with(system, ranks::session(system, engine, sharing, beginning)?);
        }
        if let Some(seat) = seat {
            let chosen = seat.chosen();
            chosen.way.family.require(system)?;
            let beginning = beginning()?;
            let counted = system.with_sources_that_count(&beginning);
            let session = seat.open(&counted, beginning)?;
            let (chosen, side_by_side) = (Some((chosen, steps)), seat.members());
            return Ok(Self { chosen, side_by_side, ..Self::with(system, session)? });
        }
        // Before values to start with are computed for nothing.
        let request = Request { engine, family, steps, ..Request::default() };
        let mut chosen = plan::choose(system, request)?;
        chosen.way.family.require(system)?;
        let beginning = beginning()?;
        let counted = system.with_sources_that_count(&beginning);
        if counted.sources.len() != system.sources.len() {
            chosen = plan::choose(&counted, request)?;
        }
        let session = match engine {
            EngineRequest::Emulate => {
                let whole = counted.whole();
                gpu::emulated((counted, whole), chosen.launch(), beginning, None)?
            }
            _ => chosen.open(counted, beginning)?,
        };
        Ok(Self { chosen: Some((chosen, steps)), ..Self::with(system, session)? })
    }

    /// A system as an earlier run left it, on what is asked for.
    ///
    /// # Errors
    /// As [`SystemSimulation::asked`]; [`Error::UnknownField`], [`Error::Points`]: the values are not those of this
    /// system.
    pub fn resumed(system: &System, asked: &Asked, left: SystemState) -> Result<Self, Error> {
        Self::left(system, asked, left, Ok)
    }

    /// A system as another one left it, whose equations or values were changed since: solid points have what walls say.
    ///
    /// # Errors
    /// As [`SystemSimulation::resumed`]; [`Error::NotFinite`]: a value that walls say is not finite.
    pub(super) fn changed(
        system: &System,
        asked: &Asked,
        left: SystemState,
    ) -> Result<Self, Error> {
        Self::left(system, asked, left, |values| values.beside_walls(system))
    }

    fn left(
        system: &System,
        asked: &Asked,
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
        let simulation = Self::begun(system, asked, &beginning)?;
        Ok(Self { done: step, finite: step, first: step, records, rows, rows_of, ..simulation })
    }

    /// A system at its start, on an engine that has its values.
    pub(crate) fn with(system: &System, session: Box<dyn StepSession>) -> Result<Self, Error> {
        let mut simulation = Self {
            system: system.clone(),
            session,
            control: Control::default(),
            done: 0,
            first: 0,
            finite: 0,
            time: Duration::ZERO,
            unseen: Duration::ZERO,
            checks: Vec::new(),
            end: None,
            untimed: 0,
            points: Points::Sample,
            compares_all: false,
            records: Vec::new(),
            series: None,
            rows: Vec::new(),
            rows_of: String::new(),
            told: None,
            received: Numbers::default(),
            outset: Outset::default(),
            grown: (0, Vec::new()),
            foreseen: None,
            timed: Time::Off,
            measured: None,
            chosen: None,
            again: None,
            side_by_side: 1,
            inputs: Rc::default(),
        };
        let places = simulation.places().into_iter().enumerate();
        simulation.received = places.map(|(number, place)| (place, number)).collect();
        simulation.keep_time()?;
        simulation.record()?;
        Ok(simulation)
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

    /// The session.
    #[cfg(test)]
    pub(crate) fn session(&mut self) -> &mut dyn StepSession {
        &mut *self.session
    }

    /// The growth that so many more steps make large, as far as the equations are linear and say it. Its report says so,
    /// too.
    pub fn foresee_growth(&mut self, steps: usize) -> Option<WaveGrowth> {
        self.foreseen = growth::foresee(&self.system, &self.outset, self.done, steps);
        self.foreseen.clone()
    }

    /// What [`compute::run::Completed::measure`] measures.
    #[must_use]
    pub fn time(mut self, time: Time) -> Self {
        self.timed = time;
        self
    }

    /// With somebody who may end [`SystemSimulation::step`], and is told how far it has come.
    #[must_use]
    pub fn control(mut self, control: Control) -> Self {
        self.control = control;
        self
    }

    /// Compares every step that [`SystemSimulation::run`] takes, at every point; or no more than it is told to, at a
    /// sample of the points.
    pub fn compare_all(&mut self, all: bool) {
        self.compares_all = all;
        self.points = if all { Points::All } else { Points::Sample };
    }

    /// Takes so many time steps.
    ///
    /// # Errors
    /// - [`Error::FieldOverflow`]: a value is not finite; looked for about every second.
    /// - [`Error::Stopped`]: somebody asked for an end. So many steps as [`SystemSimulation::steps`] says are
    ///   done, and more can be.
    pub fn step(&mut self, steps: usize) -> Result<(), Error> {
        self.run(self.done + steps, &[], &mut Nobody)
    }

    /// Takes steps until so many are done in all, or somebody who looks between them has seen enough. Those that
    /// follow `compared` steps, or all with [`SystemSimulation::compare_all`], are compared as
    /// [`SystemSimulation::checked_step`] does.
    ///
    /// # Errors
    /// As [`SystemSimulation::step`] and [`SystemSimulation::checked_step`], and those of whoever looks.
    pub fn run(
        &mut self,
        last: usize,
        compared: &[usize],
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        let control = self.control.clone();
        let mut steps = Steps { simulation: self, compared };
        take_steps(&mut steps, last, &mut Pace::default(), observer, &control)
    }

    /// It as somebody looks at it.
    pub fn snapshot(&mut self) -> impl Snapshot {
        SystemSnapshot::of(self)
    }

    /// Takes one time step, and compares it with the same step in f64: at every point of a small grid, else at
    /// a sample. Its time does not count.
    ///
    /// # Errors
    /// [`Error::Verification`]: they differ by more than rounding explains.
    pub fn checked_step(&mut self) -> Result<&Comparison, Error> {
        let check = self.compare(self.points)?;
        self.checks.push(check);
        Ok(self.checks.last().expect("it has just come"))
    }

    /// Takes one time step that may be the last one, and compares it at few points, for many looks have little time
    /// each; of all such comparisons the last is kept.
    fn checked_end(&mut self) -> Result<(), Error> {
        self.end = Some(self.compare(Points::Few)?);
        Ok(())
    }

    /// Takes one time step, and compares it.
    fn compare(&mut self, points: Points) -> Result<Comparison, Error> {
        loop {
            self.keep_time()?;
            let check = check::step(&self.system, &mut *self.session, self.done, points)?;
            self.done += 1;
            let noted = [self.records.len(), self.rows.len()];
            self.record()?;
            self.note_totals()?;
            if !check.holds() {
                return Err(check.into());
            }
            if self.settle(noted)? {
                self.untimed += 1;
                return Ok(check);
            }
        }
    }

    /// Whether the step that was taken last is good enough; else it is taken back, with what was noted after so many records
    /// and rows.
    fn settle(&mut self, noted: [usize; 2]) -> Result<bool, Error> {
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
        }
        self.system.clock = clock;
        self.session.tell_clock(clock)?;
        Ok(is_taken)
    }

    /// Finds out how long the next steps are, where that follows from the values and is due, and tells the session. For how many
    /// steps it is known.
    fn keep_time(&mut self) -> Result<usize, Error> {
        if self.done >= self.system.clock.until {
            let reduced = self.session.reduced(&self.system, self.done)?;
            let clock = self.system.clock_after(&reduced, self.done)?;
            self.system.clock = clock;
            self.session.tell_clock(clock)?;
        }
        Ok(self.system.clock.until - self.done)
    }

    /// The step up to which the length of steps is known, found out where it is due and no end in time is over.
    fn keep_time_unless_over(&mut self) -> Result<usize, Error> {
        if !self.system.is_over(self.done) {
            self.keep_time()?;
        }
        Ok(self.system.clock.until)
    }

    /// When the next steps are, where their number does not say it.
    fn clock(&self) -> Option<Clock> {
        self.system.tells_time().then_some(self.system.clock)
    }

    /// Time steps that are done.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.done
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

    /// The system.
    #[must_use]
    pub fn system(&self) -> &System {
        &self.system
    }

    /// Coefficients that the element type cannot hold.
    #[must_use]
    pub fn rounded_coefficients(&self) -> &[RoundedCoefficient] {
        self.outset.rounded()
    }

    /// The names of its fields.
    pub fn fields(&self) -> impl ExactSizeIterator<Item = &str> {
        self.system.fields()
    }

    /// A copy of a field as it is now, in the element type of the system.
    ///
    /// # Errors
    /// - [`Error::UnknownField`], with those that there are.
    /// - [`Error::FieldOverflow`]: a value is not finite.
    /// - [`Error::Memory`]: there is no room for the copy.
    pub fn field(&mut self, name: &str) -> Result<Grid, Error> {
        let field = self.system.find(name)?;
        let grid = self.session.grid(field)?;
        self.check_field(field, &grid).map_err(|error| self.traced(error))?;
        Ok(grid)
    }

    /// A copy of a field as it was some steps before now; none where no equation reads that.
    ///
    /// # Errors
    /// [`Error::UnknownField`]; [`Error::Memory`]; the device refuses.
    pub(super) fn level(&mut self, name: &str, level: usize) -> Result<Option<Grid>, Error> {
        let own = Array::Field { field: self.system.find(name)?, level };
        let number = self.system.numbered().into_iter().position(|array| array == own);
        number.map(|number| self.session.grid(number)).transpose()
    }

    /// Gives a field other values some steps before now, where the engine takes values in their place. False where it does not,
    /// and where walls say something of them, too.
    ///
    /// # Errors
    /// [`Error::UnknownField`]; the device refuses.
    pub(super) fn put(&mut self, name: &str, level: usize, values: &Grid) -> Result<bool, Error> {
        let own = Array::Field { field: self.system.find(name)?, level };
        let number = self.system.numbered().into_iter().position(|array| array == own);
        let Some(number) = number.filter(|_| self.system.solid.is_none()) else { return Ok(false) };
        let whole = Region::whole(self.system.shape);
        match self.session.write(number, whole, &values.values) {
            Err(Error::Unsupported { .. }) => return Ok(false),
            written => written?,
        }
        self.begins_here();
        Ok(true)
    }

    /// A field has other values: its steps cannot be taken again from the start.
    fn begins_here(&mut self) {
        (self.told, self.again, self.foreseen) = (None, None, None);
        self.grown = (0, Vec::new());
        self.outset.forget_values();
        self.system.clock = self.system.found_anew(self.system.clock, self.done);
    }

    /// Gives a field the values of an array in the memory of a GPU, of its shape, where they can be copied and looked at there.
    /// False where they cannot, or where one is not finite; then nothing is changed.
    ///
    /// # Errors
    /// [`Error::UnknownField`]; the device refuses.
    pub(super) fn put_array(
        &mut self,
        name: &str,
        level: usize,
        from: &DeviceArray,
    ) -> Result<bool, Error> {
        let own = Array::Field { field: self.system.find(name)?, level };
        let number = self.system.numbered().into_iter().position(|array| array == own);
        let Some(number) = number.filter(|_| self.system.solid.is_none()) else { return Ok(false) };
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
    pub(super) fn on_device(
        &mut self,
        name: &str,
        level: usize,
    ) -> Result<Option<DeviceGrid>, Error> {
        let own = Array::Field { field: self.system.find(name)?, level };
        match self.system.numbered().into_iter().position(|array| array == own) {
            Some(number) => self.session.give_array(number),
            None => Ok(None),
        }
    }

    /// Goes back to a state, without what was noted since, where the engine can: else nothing that it has counts.
    ///
    /// # Errors
    /// [`Error::UnknownField`]; the device refuses.
    pub(super) fn return_to(&mut self, state: &SystemState) -> Result<bool, Error> {
        if self.system.varies_steps() || !self.session.take_step(state.step) {
            return Ok(false);
        }
        (self.done, self.finite, self.unseen) = (state.step, state.step, Duration::ZERO);
        self.first = self.first.min(state.step);
        self.records.clear();
        self.rows.clear();
        for (name, values) in &state.arrays {
            if !self.put(&name.field, name.level, values)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Goes back to a state, with what was noted up to it, and on as a system that differs in values of tables; false where the
    /// engine cannot: then nothing that it has counts.
    ///
    /// # Errors
    /// [`Error::UnknownField`]; the device refuses.
    pub(super) fn begin_shot(
        &mut self,
        system: &System,
        state: &SystemState,
    ) -> Result<bool, Error> {
        if !self.session.take_tables(&system.tables) || !self.return_to(state)? {
            return Ok(false);
        }
        self.system.tables.clone_from(&system.tables);
        self.system.source.clone_from(&system.source);
        self.records.clone_from(&state.records);
        self.rows.clone_from(&state.series);
        self.rows_of.clone_from(&state.rows_of);
        Ok(true)
    }

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
        // Those of a run before are of no use to one that goes on without.
        if self.series.is_some() { &self.rows } else { &[] }
    }

    /// Notes the totals, if a row of them is due.
    fn note_totals(&mut self) -> Result<(), Error> {
        if self.series.is_some_and(|every| self.done.is_multiple_of(every)) {
            let totals = self.totals()?;
            self.note_row(totals, self.done);
        }
        Ok(())
    }

    fn note_row(&mut self, totals: Vec<f64>, step: usize) {
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

    /// Whether the condition holds at which it has come to its end, if it has one ([`crate::Description::end`]).
    ///
    /// # Errors
    /// As [`SystemSimulation::totals`].
    pub fn has_ended(&mut self) -> Result<bool, Error> {
        if self.system.end.is_none() {
            return Ok(false);
        }
        let reduced = match self.system.totals.reductions.is_empty() {
            true => Vec::new(),
            false => self.session.reduced(&self.system, self.done)?,
        };
        Ok(self.system.has_ended(&reduced, self.done))
    }

    /// Checks that all values are finite.
    ///
    /// # Errors
    /// [`Error::FieldOverflow`] with the first one that is not, and the step that made it, where steps can be taken
    /// again.
    pub fn check_finite(&mut self) -> Result<(), Error> {
        self.look().map_err(|error| self.traced(error))
    }

    /// Looks whether all values are finite.
    fn look(&mut self) -> Result<(), Error> {
        let mut grown = Vec::new();
        for field in 0..self.system.fields.len() {
            let grid = self.session.grid(field)?;
            self.check_field(field, &grid)?;
            let of = &self.system.fields[field];
            if let Some(before) = self.outset.values().get(field)
                && !of.is_memory
            {
                grown.push(FieldGrowth::of(&of.name, *before, &grid));
            }
        }
        (self.finite, self.grown) = (self.done, (self.done, grown));
        Ok(())
    }

    fn check_field(&self, field: usize, grid: &Grid) -> Result<(), Error> {
        let Some((index, value)) = grid.values.first_not_finite() else { return Ok(()) };
        Err(Error::FieldOverflow {
            field: self.system.fields[field].name.clone(),
            step: self.done,
            finite: self.finite,
            value,
            position: grid.shape.position(index),
        })
    }

    /// Takes so many steps at once, or fewer where their end is a time, and notes what the receivers receive after each, and the
    /// rows of totals that are due: nobody looks at values on the way, and nobody can end it. How long they took.
    ///
    /// # Errors
    /// The device refuses.
    pub fn advance(&mut self, steps: usize) -> Result<Duration, Error> {
        let (mut left, mut time) = (steps, Duration::ZERO);
        while left > 0 && !self.system.is_over(self.done) {
            let steps = left.min(self.keep_time()?);
            let noted = [self.records.len(), self.rows.len()];
            time += self.advance_evenly(steps)?;
            if self.settle(noted)? {
                left -= steps;
            }
            // The last steps before an end in time are for who looks at them.
            let until = self.keep_time_unless_over()?;
            if self.system.is_over(until) {
                break;
            }
        }
        Ok(time)
    }

    /// Takes so many steps of one length.
    fn advance_evenly(&mut self, steps: usize) -> Result<Duration, Error> {
        let Some(every) = self.series else { return self.advance_and_record(steps) };
        let first = every - self.done % every;
        if self.system.receivers.is_empty() {
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
        if self.system.receivers.is_empty() {
            let time = self.session.advance(steps)?;
            self.done += steps;
            return Ok(time);
        }
        let places = self.places();
        let (time, rows) = self.session.advance_and_record(steps, &places)?;
        for values in rows {
            self.done += 1;
            self.note(values);
        }
        Ok(time)
    }

    /// Notes what the receivers receive now.
    fn record(&mut self) -> Result<(), Error> {
        if !self.system.receivers.is_empty() {
            let values = self.session.record(&self.places())?;
            self.note(values);
        }
        Ok(())
    }

    fn note(&mut self, values: Vec<f64>) {
        let time = self.system.time(self.done);
        let received = Received { system: &self.system, numbers: &self.received, values: &values };
        let traces = self.system.traces.iter();
        let recorded = traces.map(|trace| received.record(&trace.of, self.done));
        self.records.push([time].into_iter().chain(recorded).collect());
    }

    /// The receivers' fields and places in C order.
    fn places(&self) -> Vec<(usize, usize)> {
        let [_, ny, nx] = self.system.shape.extents();
        let place = |receiver: &crate::parts::Receiver| {
            let [z, y, x] = receiver.at;
            (receiver.field, (z * ny + y) * nx + x)
        };
        self.system.receivers.iter().map(place).collect()
    }
}

/// The steps of a system, of which those that follow some steps are compared.
struct Steps<'a> {
    simulation: &'a mut SystemSimulation,
    compared: &'a [usize],
}

impl Stepping for Steps<'_> {
    fn done(&self) -> usize {
        self.simulation.done
    }

    fn launch(&self) -> usize {
        self.simulation.session.launch()
    }

    fn snapshot(&mut self) -> Box<dyn Snapshot + '_> {
        Box::new(SystemSnapshot::of(self.simulation))
    }

    fn is_over(&self) -> bool {
        self.simulation.system.is_over(self.simulation.done)
    }

    fn take(&mut self, steps: usize) -> Result<Duration, Error> {
        let simulation = &mut *self.simulation;
        let time = simulation.advance(steps)?;
        simulation.time += time;
        simulation.unseen += time;
        if simulation.unseen > FINITE {
            simulation.check_finite()?;
            simulation.unseen = Duration::ZERO;
        }
        Ok(time)
    }

    fn compare(&mut self, last: usize, may_end: Option<usize>) -> Result<Option<usize>, Error> {
        self.simulation.keep_time()?;
        let Self { simulation, compared } = self;
        let done = simulation.done;
        // The last step before a look after which it may end; a jump is not taken apart for it.
        let compares_end = !compared.is_empty() && simulation.session.jumps().is_none();
        // An end in time is known when the steps are that come to it.
        let clock = simulation.system.clock;
        let in_time = simulation.system.is_over(clock.until).then_some(clock.until);
        let may_end = may_end.into_iter().chain(in_time).min();
        let before_end = may_end.filter(|_| compares_end).map(|end| end - 1);
        if simulation.compares_all || compared.contains(&done) {
            simulation.checked_step()?;
        } else if before_end == Some(done) {
            simulation.checked_end()?;
        }
        let done = simulation.done;
        // Compared is the last one of the steps that are taken at once.
        let before = simulation.session.launch() - 1;
        let stops = compared.iter().chain(&before_end);
        let stops = stops.flat_map(|step| [step.saturating_sub(before), *step]);
        Ok(stops.filter(|step| *step > done && *step < last).min())
    }
}

/// What a system begins with, of which is noted what says how it grows.
fn noted(
    system: &System,
    outset: &OnceCell<Outset>,
    beginning: &dyn Fn() -> Result<StartValues, Error>,
) -> Result<StartValues, Error> {
    let beginning = beginning()?;
    outset.get_or_init(|| Outset::of(system, &beginning));
    Ok(beginning)
}
