// SPDX-License-Identifier: MIT OR Apache-2.0
//! Equations of fields that are stepped, recorded and compared, whatever computes them.

use std::cell::OnceCell;
use std::rc::Rc;
use std::time::Duration;

use crate::batch::BatchSeat;
use crate::check::{self, ComparedPoints};
use crate::checked::System;
use crate::growth::{self, InitialValues};
use crate::plan::{self, ChosenPlan, Request};
use crate::receivers::ValueIndex;
use crate::session::{Jumps, StepSession};
use crate::start::StartValues;
use crate::tape::TapedSession;
use crate::{gpu, ranks};
use compute::engine::EngineRequest;
use compute::families::refusal::Refusal;
use compute::plan::Sharing;
use compute::report::Timing;
use compute::run::{BatchSize, Stepping, Time, take_steps};
use problem::check::field_growth::FieldGrowth;
use problem::check::rounded::RoundedCoefficient;
use problem::check::verify::Comparison;
use problem::check::wave_growth::WaveGrowth;
use problem::control::Control;
use problem::observe::{NoObserver, Observer, Snapshot};
use problem::{Depth, Error, Grid};

mod on_device;
mod records;
mod report;
mod snapshot;
mod state;
mod time;
mod trace;

use on_device::DeviceArrayStart;
use snapshot::SystemSnapshot;

pub use state::{StepRecords, SystemState};

/// Work between two looks at whether all values are finite.
const FINITE: Duration = Duration::from_secs(1);

/// The engine and the options that a system is computed with.
#[derive(Clone)]
pub struct ComputeOptions {
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
    pub seat: Option<BatchSeat>,
}

impl Default for ComputeOptions {
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
    /// Steps of `done` that an earlier run took.
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
    points: ComparedPoints,
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
    received: ValueIndex,
    /// What it began with.
    outset: InitialValues,
    /// By how much values had grown after so many steps.
    grown: (usize, Vec<FieldGrowth>),
    /// The growth that was foreseen.
    foreseen: Option<WaveGrowth>,
    /// What is to be measured after the steps.
    timed: Time,
    /// What was measured after the steps, and the jumps before that.
    measured: Option<(Timing, Option<Jumps>)>,
    /// What was chosen of all ways, for so many steps at a time; of ranks nothing.
    chosen: Option<(ChosenPlan, usize)>,
    /// What takes its steps again from the start; none where nothing can.
    again: Option<EngineRequest>,
    /// How many systems are computed side by side, this one among them.
    side_by_side: usize,
    /// What it began with instead of the system's own values.
    inputs: Rc<[(String, Grid)]>,
    /// What goes along with its steps.
    taping: Option<TapedSession>,
    /// The times and lengths of steps, if they are noted.
    paces: Option<Vec<[f64; 2]>>,
    /// How many steps are taken between two looks at signals.
    pace: BatchSize,
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
        Self::asked(system, &ComputeOptions { engine, ..ComputeOptions::default() })
    }

    /// A system at its start, on what is asked for.
    ///
    /// # Errors
    /// As [`SystemSimulation::on`]; [`Error::Split`]: ranks cannot share it.
    pub fn asked(system: &System, asked: &ComputeOptions) -> Result<Self, Error> {
        let on_device = match asked.inputs.is_empty() {
            true => on_device::arrays(system),
            false => Vec::new(),
        };
        let beginning = || StartValues::with(system, &asked.inputs);
        let simulation = Self::begun(system, asked, &beginning, &on_device)?;
        let again = trace::again(&simulation);
        Ok(Self { inputs: Rc::clone(&asked.inputs), again, ..simulation })
    }

    /// With these values, of which some lie on a GPU.
    fn begun(
        system: &System,
        asked: &ComputeOptions,
        beginning: &dyn Fn() -> Result<StartValues, Error>,
        on_device: &[DeviceArrayStart],
    ) -> Result<Self, Error> {
        let outset = OnceCell::new();
        let noted = || noted(system, &outset, beginning);
        let simulation = Self::begun_on(system, asked, &noted, (on_device, &outset))?;
        Ok(Self { outset: outset.into_inner().unwrap_or_default(), ..simulation })
    }

    fn begun_on(
        system: &System,
        &ComputeOptions { engine, steps, family, ref sharing, ref seat, .. }: &ComputeOptions,
        beginning: &dyn Fn() -> Result<StartValues, Error>,
        (on_device, outset): (&[DeviceArrayStart], &OnceCell<InitialValues>),
    ) -> Result<Self, Error> {
        // Whoever says how long jumps are asks for them.
        let jumps = system.jump != Depth::Auto;
        if jumps && !matches!(engine, EngineRequest::Auto | EngineRequest::Fft) {
            return Err(Refusal::Jump.error(engine.into()));
        }
        let engine = if jumps { EngineRequest::Fft } else { engine };
        if let Some(sharing) = sharing {
            if family.is_some() {
                let reason =
                    "ranks take the kernel that is predicted to be fastest; none can be named";
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
        let is_launched = chosen.way.launch.is_some() && engine != EngineRequest::Emulate;
        if is_launched && !on_device.is_empty() {
            let values = StartValues::beside_device(system)?;
            let beside = InitialValues::of_unknown(&values);
            let counted = system.with_sources_that_count(&values);
            let begun = chosen.open(counted, values).and_then(|mut session| {
                Ok(on_device::take(&mut *session, on_device)?.then_some(session))
            });
            match begun {
                Ok(Some(session)) => {
                    outset.get_or_init(|| beside);
                    let chosen = Some((chosen, steps));
                    return Ok(Self { chosen, ..Self::with(system, session)? });
                }
                Ok(None) => (),
                // Without the copies there may be room.
                Err(Error::GpuFull { .. }) => on_device::leave(on_device)?,
                Err(error) => return Err(error),
            }
        }
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
            points: ComparedPoints::Sample,
            compares_all: false,
            records: Vec::new(),
            series: None,
            rows: Vec::new(),
            rows_of: String::new(),
            told: None,
            received: ValueIndex::default(),
            outset: InitialValues::default(),
            grown: (0, Vec::new()),
            foreseen: None,
            timed: Time::Off,
            measured: None,
            chosen: None,
            again: None,
            side_by_side: 1,
            inputs: Rc::default(),
            taping: None,
            paces: None,
            pace: BatchSize::default(),
        };
        let places = simulation.places().into_iter().enumerate();
        simulation.received = places.map(|(number, place)| (place, number)).collect();
        simulation.update_clock()?;
        simulation.record()?;
        Ok(simulation)
    }

    /// The session.
    #[cfg(test)]
    pub(crate) fn session(&mut self) -> &mut dyn StepSession {
        &mut *self.session
    }

    /// The growth that so many more steps make large, as far as the equations are linear and say it. Its report says so,
    /// too.
    pub fn predict_growth(&mut self, steps: usize) -> Option<WaveGrowth> {
        self.foreseen = growth::predict(&self.system, &self.outset, self.done, steps);
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
        self.points = if all { ComparedPoints::All } else { ComparedPoints::Sample };
    }

    /// Takes so many time steps.
    ///
    /// # Errors
    /// - [`Error::FieldOverflow`]: a value is not finite; looked for about every second.
    /// - [`Error::Stopped`]: somebody asked for an end. So many steps as [`SystemSimulation::steps`] says are
    ///   done, and more can be.
    pub fn step(&mut self, steps: usize) -> Result<(), Error> {
        self.run(self.done + steps, &[], &mut NoObserver)
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
        // Many runs may be short, such as those of a gradient: how long steps take is known by the next one.
        let mut pace = self.pace;
        let mut steps = Steps { simulation: self, compared };
        let taken = take_steps(&mut steps, last, &mut pace, observer, &control);
        self.pace = pace;
        taken
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
        self.end = Some(self.compare(ComparedPoints::Few)?);
        Ok(())
    }

    /// Takes one time step, and compares it.
    fn compare(&mut self, points: ComparedPoints) -> Result<Comparison, Error> {
        loop {
            self.update_clock()?;
            let check = check::step(&self.system, &mut *self.session, self.done, points)?;
            self.done += 1;
            let noted = [self.records.len(), self.rows.len()];
            self.record()?;
            self.note_totals()?;
            if !check.holds() {
                return Err(check.into());
            }
            if self.accept_step(noted)? {
                self.untimed += 1;
                return Ok(check);
            }
        }
    }

    /// Time steps that are done.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.done
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
            let steps = left.min(self.update_clock()?);
            let noted = [self.records.len(), self.rows.len()];
            let (clock, first) = (self.system.clock, self.done);
            time += self.advance_evenly(steps)?;
            if self.accept_step(noted)? {
                left -= steps;
                if let Some(paces) = &mut self.paces {
                    let steps = first..self.done;
                    paces.extend(steps.map(|step| [clock.at(step as f64), clock.dt]));
                }
            }
            // The last steps before an end in time are for who looks at them.
            let until = self.update_clock_unless_over()?;
            if self.system.is_over(until) {
                break;
            }
        }
        Ok(time)
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
        self.simulation.update_clock()?;
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
    outset: &OnceCell<InitialValues>,
    beginning: &dyn Fn() -> Result<StartValues, Error>,
) -> Result<StartValues, Error> {
    let beginning = beginning()?;
    outset.get_or_init(|| InitialValues::of(system, &beginning));
    Ok(beginning)
}
