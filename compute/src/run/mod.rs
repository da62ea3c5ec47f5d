// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run, part by part: plan it, compute, keep the result, verify it, and only then measure, if anybody
//! asks. Whoever drives the parts writes the result as soon as there is one, so that nothing that comes
//! after can lose it.

use std::borrow::Cow;

use crate::device::DeviceArray;
use crate::engine::cpu::Cpu;
use crate::engine::{Engine, EngineRequest, Input, State, SumSession, Sweeps};
use crate::plan::{self, Choice, Sharing};
use crate::report::{MorePrecise, Report, ReportProblem, Timing, Verification};
use files::io::StartSource;
use problem::check::sample;
use problem::check::verify::{Comparison, Verdict, Verify};
use problem::control::Control;
use problem::error::InterruptedWork;
use problem::observe::{NoObserver, Observer, Snapshot};
use problem::region::Region;
use problem::{Error, Grid, Job, ValueLocation, Values, memory};

mod budget;
mod checked;
mod checkpointed;
mod completed;
mod computing;
mod finished;
mod last_steps;
mod overflow;
mod stepping;
mod timing;
mod verifying;

pub use checked::checked;
pub use checkpointed::checkpointed;
pub use completed::Completed;
pub use stepping::{BatchSize, Stepping, take_steps};
pub use timing::{Time, measure};

pub(crate) use computing::{Computing, StepsTaken};

use budget::{MemoryBudget, RunDemand};
use finished::Finished;
use last_steps::ComparedRegions;

/// The name of the field of a stencil, which has only one.
pub const FIELD: &str = "u";

/// Bytes of a part of a grid that is read at a time.
pub const PIECE_BYTES: usize = 4 << 20;

/// How to run a job.
#[derive(Clone, Default)]
pub struct Options {
    /// Which engine.
    pub engine: EngineRequest,
    /// Who shares the grid, if it is not one device alone.
    pub sharing: Option<Sharing>,
    /// How much to compare; chosen by cost if not given.
    pub verify: Option<Verify>,
    /// Whether somebody may look at the grid before all steps are done.
    pub stops: bool,
    /// Every how many steps somebody will, if that is known.
    pub portion: Option<usize>,
    /// Whether another run may go on from a step of this one: then what is compared on the way does not depend on
    /// where it began, since where an engine stops can make a difference to the last digits.
    pub resumable: bool,
    /// The name of the field, if it is not [`FIELD`].
    pub field: Option<String>,
    /// Steps that an earlier run has taken; the grid to start from is that after them.
    pub done: usize,
    /// Whether the engine is not to keep the input: it takes a third less memory, but of values that outgrow their type only the
    /// steps between which they do are told, and all steps cannot be compared: [`Verify::Full`] is refused.
    pub drops_input: bool,
    /// What to measure.
    pub time: Time,
    /// Who may end it, and who is told how far it has come.
    pub control: Control,
}

impl Options {
    /// The name of the field.
    pub(crate) fn field(&self) -> &str {
        self.field.as_deref().unwrap_or(FIELD)
    }
}

/// Whether the grid that a run starts from is in memory already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputMemory {
    /// It is still to be made, and goes to the run.
    ToCome,
    /// It is still to be made, and stays with its owner.
    ToBeLent,
    /// It is, and goes to the run.
    Given,
    /// It is, and stays with its owner.
    Lent,
    /// Each rank makes or reads its part.
    ByParts,
}

/// The steps of a [`checked`] job as sweeps over arrays, where the engine that runs it takes them so: without a grid of its own, and
/// without a comparison.
///
/// # Errors
/// No engine can run the job.
pub fn sweeps(job: &Job, engine: EngineRequest) -> Result<Option<Sweeps>, Error> {
    Ok(plan::choose_whole(engine, job)?.engine.sweeps(job))
}

/// A job with an engine that can run it in the memory that there is.
pub struct Run {
    job: Job,
    /// The job with as many steps as are taken at a time.
    portion: Job,
    options: Options,
    choice: Choice,
    budget: MemoryBudget,
}

impl Run {
    /// Finds the engine, and decides what memory leaves room for.
    ///
    /// # Errors
    /// No engine can run the job, or there is not enough memory; all steps are to be compared without the input.
    pub fn plan(job: Job, options: Options, start: InputMemory) -> Result<Self, Error> {
        let steps = options.portion.map_or(job.steps, |portion| portion.clamp(1, job.steps.max(1)));
        let portion = Job { steps, ..job.clone() };
        let choice = match &options.sharing {
            Some(sharing) => plan::choose_shared(options.engine, &portion, sharing)?,
            None if options.stops => plan::choose(options.engine, &portion)?,
            None => plan::choose_whole(options.engine, &portion)?,
        };
        if options.drops_input && options.verify == Some(Verify::Full) {
            let reason =
                "every point after all steps is compared from the input on, which is to be dropped"
                    .into();
            return Err(Error::Unsupported { engine: choice.engine.name(), reason });
        }
        let bytes = job.shape.points() as u128 * job.dtype.bytes() as u128;
        let check = options.verify != Some(Verify::Off);
        let bytes_if = |state| if start == state { bytes } else { 0 };
        // Of a grid that ranks make, those of this machine have their parts.
        let parts = bytes_if(InputMemory::ByParts);
        let parts = options.sharing.as_ref().map_or(parts, |sharing| sharing.here(parts));
        // Without it nothing is compared from there on.
        let begins_at_input = options.done == 0 && !options.drops_input;
        let wanted = RunDemand {
            check,
            full: check && begins_at_input && sample::wants_full(&job, options.verify),
            released: bytes_if(InputMemory::Given),
            to_come: bytes_if(InputMemory::ToCome) + parts,
            to_stay: bytes_if(InputMemory::ToBeLent),
        };
        let mut budget = MemoryBudget::new(choice.engine.as_ref(), &job, wanted, memory::free())?;
        if !begins_at_input {
            budget.input = Input::Dropped;
        }
        Ok(Self { job, portion, options, choice, budget })
    }

    /// What is to be computed.
    #[must_use]
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// What computes it.
    #[must_use]
    pub fn engine(&self) -> &dyn Engine {
        self.choice.engine.as_ref()
    }

    /// Why less is compared than was asked for, or than would be with more memory.
    #[must_use]
    pub fn reduced(&self) -> Option<&str> {
        self.budget.reduced.as_deref()
    }

    /// Why the measured speeds of the GPU are not planned with, where there are some.
    #[must_use]
    pub fn stale_speeds(&self) -> Option<&str> {
        self.choice.stale_speeds.as_deref()
    }

    /// Hands the input to the engine.
    ///
    /// # Errors
    /// The input holds a value that is not finite, or the device refuses.
    pub(crate) fn load(self, input: Cow<'_, Grid>) -> Result<Loaded, Error> {
        let Self { job, portion, options, choice, budget } = self;
        input.check_finite(ValueLocation::Input)?;
        let mut session = choice.engine.prepare(&portion)?;
        session.load(&input)?;
        if budget.input == Input::Dropped {
            session.drop_input();
        }
        Ok(Loaded { job, portion: portion.steps, options, choice, budget, session })
    }

    /// Has the engine start from what it can make or read by itself, or hands it the grid.
    ///
    /// # Errors
    /// As [`Run::load`]; a file cannot be read, or the grid does not fit in memory.
    fn start(self, initial: &StartSource) -> Result<Loaded, Error> {
        let Self { job, portion, options, choice, budget } = self;
        let mut session = choice.engine.prepare(&portion)?;
        if !session.start(initial)? {
            let input = initial.grid(job.shape, job.dtype)?;
            session.load(&input)?;
        }
        if budget.input == Input::Dropped {
            session.drop_input();
        }
        Ok(Loaded { job, portion: portion.steps, options, choice, budget, session })
    }

    /// Hands an array in a GPU's memory to the engine, of the job's shape and stored type. Engines that take
    /// grids of this machine's memory only have it copied there.
    ///
    /// # Errors
    /// As [`Run::load`], and the grid does not fit in memory.
    pub(crate) fn load_array(self, input: &DeviceArray) -> Result<Loaded, Error> {
        let Self { job, portion, options, choice, budget } = self;
        let mut session = choice.engine.prepare(&portion)?;
        if !session.load_array(input)? {
            let grid = input.download()?;
            grid.check_finite(ValueLocation::Input)?;
            session.load(&grid)?;
        } else if !session.knows_finite()? {
            session.store()?.check_finite(ValueLocation::Input)?;
        }
        session.drop_input();
        Ok(Loaded { job, portion: portion.steps, options, choice, budget, session })
    }

    /// Takes all steps, compares some of them on the way, and makes sure that all values are finite.
    ///
    /// # Errors
    /// The input holds a value that is not finite, or the result does; the device refuses; somebody asked
    /// for an end.
    pub fn compute(self, input: Cow<'_, Grid>) -> Result<Computed, Error> {
        self.compute_observed(input, &mut NoObserver)
    }

    /// Computes as [`Run::compute`] does, with an observer that looks between the steps, and may end the run.
    ///
    /// # Errors
    /// As [`Run::compute`], and what the observer fails with.
    pub fn compute_observed(
        self,
        input: Cow<'_, Grid>,
        observer: &mut dyn Observer,
    ) -> Result<Computed, Error> {
        compute(self.load(input)?, observer)
    }

    /// Computes from a start that whoever computes can make or read by itself, each rank its part.
    ///
    /// # Errors
    /// As [`Run::compute_observed`]; a file cannot be read.
    pub fn compute_from(
        self,
        initial: &StartSource,
        observer: &mut dyn Observer,
    ) -> Result<Computed, Error> {
        compute(self.start(initial)?, observer)
    }
}

/// Takes all steps of what is loaded.
fn compute(mut run: Loaded, observer: &mut dyn Observer) -> Result<Computed, Error> {
    let Loaded { job, options, budget, choice, session, .. } = &mut run;
    let facts = sample::Facts {
        launch: session.launch(),
        jumps: session.jump().is_some(),
        seams: session.seams(),
        keeps_input: budget.input == Input::Kept,
        most_bytes: budget.check_bytes,
        always_spans: options.resumable || options.done > 0,
        open_ended: observer.may_end(options.done).is_some(),
    };
    let check = options.verify != Some(Verify::Off);
    let checks = check.then(|| sample::plan(job, budget.full, &facts));
    let spans = checks.as_ref().map_or(&[][..], |checks| &checks.spans);
    // A comparison before each look would cost jumps as many as those that are made.
    let tail = spans.first().filter(|_| facts.open_ended && !facts.jumps);
    let tail =
        tail.map(|span| ComparedRegions::new(span.to_step - span.from_step, span.regions.clone()));
    let (session, control) = (session.as_mut(), &options.control);
    let mut at = StepsTaken::from(options.done);
    let left = job.steps.saturating_sub(options.done);
    let computing = Computing::new(job, session, budget.input, control, &mut at, left);
    let computing = computing.named(choice.engine.name(), options.field()).with_tail(tail);
    let comparisons = computing.all(spans, observer)?;
    // The steps that this run took: an observer may have ended it early.
    let wished = std::mem::replace(&mut job.steps, at.steps() - options.done);
    let whole = checks.map(|checks| match job.steps < wished && options.done == 0 {
        // What was too much for all steps may not be for those that were taken.
        true => {
            let fits = || sample::full_bytes(job) <= budget.check_bytes;
            let wanted = || sample::wants_full(job, options.verify) && fits();
            budget.full |= budget.input == Input::Kept && wanted();
            sample::plan(job, budget.full, &facts).whole
        }
        false => checks.whole,
    });
    let verdict = Verdict { comparisons, by_jumps: false };
    let timing = Timing::own(at.time());
    let noise = session.jump().and(session.jumped()).map(|jumped| jumped.error);
    let verified = if check { Verified::NotYet } else { Verified::Off };
    Ok(Computed { run, whole, verdict, noise, verified, timing })
}

/// A job on an engine's device, at its input.
pub(crate) struct Loaded {
    pub job: Job,
    /// Steps that were planned for.
    portion: usize,
    pub options: Options,
    choice: Choice,
    budget: MemoryBudget,
    pub session: Box<dyn SumSession>,
}

impl Loaded {
    /// The name of the engine.
    pub fn engine(&self) -> &'static str {
        self.choice.engine.name()
    }

    /// What is said of a run of so many steps that took so long.
    pub fn report(&self, steps: usize, timing: Timing, verification: Verification) -> Report {
        let Self { job, portion, options, choice, session, .. } = self;
        let facts = crate::report::Facts {
            engine: choice.engine.name(),
            why: Some(choice.why.clone()),
            kernel: session.kernel(),
            forecast: choice.forecast.of_steps(steps, *portion),
            fuse: session.arithmetic().fuse,
            chain: session.chain(),
            noise: session.jump().and(session.jumped()).map(|jumped| jumped.error),
            jump: session.jump(),
            arithmetic: session.arithmetic().to_string(),
            keeps: MorePrecise::more_than(&session.arithmetic()),
            device: session.device(),
            timed_steps: steps,
            sweeps: session.sweeps(steps),
            timing,
        };
        let field = options.field().to_owned();
        let problem = ReportProblem { steps, ..ReportProblem::of(job, &field) };
        let report = Report::new(problem, facts, verification);
        Report { resumed_after: (options.done > 0).then_some(options.done), ..report }
    }
}

/// How far the verification came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verified {
    /// Nobody wants it.
    Off,
    /// It is not done, or was interrupted.
    NotYet,
    /// All that was planned was compared.
    Done,
}

/// A result, finite at every point.
pub struct Computed {
    run: Loaded,
    /// What is still to be compared after all steps.
    whole: Option<Vec<Region>>,
    verdict: Verdict,
    /// What rounding left in the jumps of the run; those that are measured after it do not count.
    noise: Option<f64>,
    verified: Verified,
    timing: Timing,
}

impl Computed {
    /// What was computed, with the steps that this run took.
    #[must_use]
    pub fn job(&self) -> &Job {
        &self.run.job
    }

    /// Steps that were taken, with those of an earlier run.
    #[must_use]
    pub fn step(&self) -> usize {
        self.run.options.done + self.run.job.steps
    }

    /// It as somebody looks at it. Not after [`Computed::measure`].
    pub fn snapshot(&mut self) -> impl Snapshot {
        Finished(self)
    }

    /// The values of a box of grid points, in C order. Not after [`Computed::measure`].
    ///
    /// # Errors
    /// The device refuses.
    pub fn read(&mut self, region: Region) -> Result<Values, Error> {
        self.run.session.read(0, State::Now, region)
    }

    /// The whole grid. Not after [`Computed::measure`].
    ///
    /// # Errors
    /// It does not fit in memory, or the device refuses.
    pub fn grid(&mut self) -> Result<Grid, Error> {
        self.run.session.store()
    }

    /// Compares what is to be compared after all steps. Says whether rounding explains all differences,
    /// those on the way included.
    ///
    /// # Errors
    /// Somebody asked for an end, memory that is gone, or the device refuses: then the result is not verified.
    pub fn verify(&mut self) -> Result<bool, Error> {
        let Some(regions) = self.whole.take() else { return Ok(true) };
        let Loaded { job, options, budget, session, .. } = &mut self.run;
        let (session, control) = (session.as_mut(), &options.control);
        // What is too much for steps may not be for jumps.
        let jumps = regions.is_empty() && budget.input == Input::Kept && job.steps > 0;
        let jumps = jumps.then(|| verifying::by_jumps(job, budget.check_bytes)).flatten();
        let compared = match &jumps {
            None => verifying::compare(job, session, &regions, control),
            Some(by) => verifying::compare_by_jumps(job, by, session, control).map(Some),
        };
        self.verdict.by_jumps = jumps.is_some();
        let comparison = compared.map_err(|error| InterruptedWork::Verifying.of(error))?;
        self.verdict.comparisons.extend(comparison);
        self.verified = Verified::Done;
        Ok(self.verdict.holds())
    }

    /// What the comparisons found.
    #[must_use]
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// Measures how long the steps and a copy take, and on the CPU what was to be expected. The grid is lost.
    ///
    /// # Errors
    /// Somebody asked for an end, or the device refuses: then the time is the run's own.
    pub fn measure(&mut self) -> Result<(), Error> {
        let (own, time, input) = (self.timing.steps, self.run.options.time, self.run.budget.input);
        let stop = &self.run.options.control.stop;
        let timing =
            timing::measure(self.run.session.as_mut(), self.run.job.steps, own, time, input, stop);
        self.timing = timing.map_err(|error| InterruptedWork::Measuring.of(error))?;
        let of_cpu = self.run.choice.engine.name() == Cpu.name();
        if self.timing.copy.is_some() && of_cpu {
            // A forecast is of the steps that were planned for, which are as many as are taken between two looks.
            let portion = Job { steps: self.run.portion, ..self.run.job.clone() };
            self.run.choice.forecast = plan::forecast_of_cpu(&portion);
        }
        Ok(())
    }

    /// What is known so far.
    #[must_use]
    pub fn report(&self) -> Report {
        let verification = match self.verified {
            Verified::Off => Verification::off(),
            done => {
                let full = self.run.budget.full;
                let complete = done == Verified::Done;
                let reduced = self.run.budget.reduced.clone();
                Verification::new(self.verdict.clone(), full, complete, reduced)
            }
        };
        let report = self.run.report(self.run.job.steps, self.timing, verification);
        Report { noise: self.noise, ..report }
    }
}

impl Completed for Computed {
    fn step(&self) -> usize {
        Self::step(self)
    }

    fn show(
        &mut self,
        look: &mut dyn FnMut(&mut dyn Snapshot) -> Result<(), Error>,
    ) -> Result<(), Error> {
        look(&mut self.snapshot())
    }

    fn verify(&mut self) -> Result<bool, Error> {
        Self::verify(self)
    }

    fn failure(&self) -> Option<Comparison> {
        self.verdict.failure().cloned()
    }

    fn measure(&mut self) -> Result<(), Error> {
        Self::measure(self)
    }

    fn report(&self) -> Report {
        Self::report(self)
    }
}

/// What to run, for those who want all of it.
pub struct Request {
    /// The computation.
    pub job: Job,
    /// The grid to start from, of the job's shape and element type.
    pub input: Grid,
    /// Which engine.
    pub engine: EngineRequest,
    /// How much to compare; chosen by cost if not given.
    pub verify: Option<Verify>,
}

/// Runs a job, verifies the result and measures the run. The result comes with its report, whose
/// `failed` must be looked at.
///
/// # Errors
/// The input holds a value that is not finite, no engine can run the job, there is not enough memory,
/// the device refuses, or the result is not finite.
pub fn run(request: &Request) -> Result<(Grid, Report), Error> {
    let &Request { engine, verify, .. } = request;
    let options = Options { engine, verify, ..Options::default() };
    let planned = Run::plan(request.job.clone(), options, InputMemory::Lent)?;
    let mut computed = planned.compute(Cow::Borrowed(&request.input))?;
    let grid = computed.grid()?;
    computed.verify()?;
    computed.measure()?;
    Ok((grid, computed.report()))
}

#[cfg(test)]
mod tests;
