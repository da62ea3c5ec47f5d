// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sum with constant weights on a grid, as many steps at a time as a program likes.

use std::borrow::Cow;

use transform::Stencil;

use crate::device::{DeviceArray, DeviceGrid};
use crate::engine::{EngineRequest, Input};
use crate::families::Family;
use crate::plan::Sharing;
use crate::report::{Report, Timing, Verification};
use crate::run::{
    Computing, InputMemory, Loaded, Options, Run, Stepping, StepsTaken, Time, checked,
};
use problem::check::verify::Verify;
use problem::control::Control;
use problem::observe::{Observer, Snapshot};
use problem::{Boundary, Depth, Dtype, Error, Grid, Job, Shape, ValueLocation};

/// Steps that are planned for, if nothing is said.
const STEPS: usize = 1000;

/// A grid on an engine's device.
pub struct SumSimulation {
    run: Loaded,
    progressed: StepsTaken,
}

impl SumSimulation {
    /// Of a stencil on a grid with as many axes, which holds the values of step 0.
    #[must_use]
    #[expect(clippy::new_ret_no_self, reason = "whatever else can be chosen has a default")]
    pub fn new(stencil: Stencil, grid: Grid) -> Builder {
        let job = Job::new(stencil, grid.shape, grid.dtype(), STEPS);
        Builder { job, start: Values::Grid(grid), options: options() }
    }

    /// Of a stencil on an array in the memory of the GPU that computes. It is copied there, into the halo of zeros
    /// that kernels need, when [`Builder::build`] is called, and is not needed after that. Engines that take grids of
    /// this machine's memory only (`cpu`, `fft`) have it copied there.
    #[must_use]
    pub fn of_array(stencil: Stencil, array: DeviceArray) -> Builder {
        let job = Job::new(stencil, array.shape(), array.dtype(), STEPS);
        Builder { job, start: Values::Array(array), options: options() }
    }

    /// Takes so many time steps. It looks now and then whether all values are finite, in a small part of the
    /// time; a [`field`](SumSimulation::field) is looked at in any case. The portions in which steps are
    /// taken make no difference but, where an engine fuses steps, to how often a value is rounded: steps that
    /// fill no whole launch are taken by smaller ones.
    ///
    /// # Errors
    /// - [`Error::Overflow`]: a value is not finite.
    /// - [`Error::Stopped`]: somebody asked for an end. So many steps as [`SumSimulation::steps`] says are done,
    ///   and more can be.
    /// - [`Error::Driver`] and the like: the device refuses.
    pub fn step(&mut self, steps: usize) -> Result<(), Error> {
        let Loaded { job, options, session, .. } = &mut self.run;
        let (session, control) = (session.as_mut(), &options.control);
        let at = &mut self.progressed;
        Computing::new(job, session, Input::Dropped, control, at, steps).take_all()
    }

    /// Takes so many time steps while somebody looks at the grid between them, who may end it earlier.
    ///
    /// # Errors
    /// [`SumSimulation::step`] fails, or the observer.
    pub fn step_observed(
        &mut self,
        steps: usize,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        let engine = self.run.engine();
        let Loaded { job, options, session, .. } = &mut self.run;
        let (session, control) = (session.as_mut(), &options.control);
        let at = &mut self.progressed;
        let computing = Computing::new(job, session, Input::Dropped, control, at, steps);
        computing.named(engine, options.field()).all(&[], observer).map(|_| ())
    }

    /// Time steps that are done.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.progressed.steps()
    }

    /// The name of its field.
    #[must_use]
    pub fn name(&self) -> &str {
        self.run.options.field()
    }

    /// A copy of a field as it is now, in its element type; of tf32 it is f32. A stencil has one field, `u`.
    ///
    /// # Errors
    /// - [`Error::UnknownField`], with those that there are.
    /// - [`Error::Overflow`]: a value is not finite.
    /// - [`Error::Memory`]: there is no room for the copy.
    /// - [`Error::Driver`] and the like: the device refuses.
    pub fn field(&mut self, name: &str) -> Result<Grid, Error> {
        self.check_name(name)?;
        let grid = self.run.session.store()?;
        self.progressed.check(&grid)?;
        Ok(grid)
    }

    /// A copy of a field as it is now, in the memory of the GPU, in C order: for other libraries. Engines that give
    /// grids in this machine's memory only (`cpu`, `fft`) have it copied from there.
    ///
    /// # Errors
    /// Whatever [`SumSimulation::field`] fails with; [`Error::GpuFull`]: there is no room for the copy; [`Error::NoDriver`] and the
    /// like: there is no GPU.
    pub fn field_on_device(&mut self, name: &str) -> Result<DeviceGrid, Error> {
        self.check_name(name)?;
        if self.run.session.knows_finite()?
            && let Some(grid) = self.run.session.store_on_device()?
        {
            return Ok(grid);
        }
        let grid = self.field(name)?;
        match self.run.session.store_on_device()? {
            Some(grid) => Ok(grid),
            None => DeviceGrid::upload(&grid),
        }
    }

    /// Gives the field other values, from which the next steps go on: they are rounded to its element type.
    ///
    /// # Errors
    /// - [`Error::UnknownField`], [`Error::Points`]: there is no such field, or the grid has another shape.
    /// - [`Error::NotFinite`]: a value is not finite in the element type.
    /// - [`Error::Split`]: ranks share the grid.
    /// - [`Error::Driver`] and the like: the device refuses.
    pub fn set_field(&mut self, name: &str, values: Grid) -> Result<(), Error> {
        self.check_set(name, values.shape)?;
        let grid = values.stored_as(self.run.job.dtype)?;
        grid.check_finite(ValueLocation::Input)?;
        self.run.session.load(&grid)?;
        self.run.session.drop_input();
        self.progressed.changed();
        Ok(())
    }

    /// Gives the field values that lie in the memory of the GPU that computes, where they are copied; engines that take grids
    /// of this machine's memory only (`cpu`, `fft`) have them copied there.
    ///
    /// # Errors
    /// As [`SumSimulation::set_field`]; [`Error::DeviceArray`]: its values are of another type.
    pub fn set_field_array(&mut self, name: &str, values: &DeviceArray) -> Result<(), Error> {
        self.check_set(name, values.shape())?;
        check_type(values, self.run.job.dtype)?;
        let session = &mut self.run.session;
        if !session.load_array(values)? {
            return self.set_field(name, values.download()?);
        }
        if !session.knows_finite()? {
            session.store()?.check_finite(ValueLocation::Input)?;
        }
        session.drop_input();
        self.progressed.changed();
        Ok(())
    }

    /// Goes on from the grid that an earlier run left after so many steps.
    ///
    /// # Errors
    /// As [`SumSimulation::set_field`].
    pub fn go_on(&mut self, values: Grid, done: usize) -> Result<(), Error> {
        let name = self.name().to_owned();
        self.set_field(&name, values)?;
        self.run.options.done = done;
        self.progressed = StepsTaken::from(done);
        Ok(())
    }

    fn check_set(&self, name: &str, found: Shape) -> Result<(), Error> {
        self.check_name(name)?;
        let Loaded { job, options, .. } = &self.run;
        if options.sharing.is_some() {
            let reason = "ranks share the grid, which takes no other values between steps";
            return Err(Error::Split { reason: reason.into() });
        }
        if found == job.shape {
            return Ok(());
        }
        Err(Error::Extents { shape: job.shape.to_string(), found: found.to_string() })
    }

    /// Shows it as it stands to whoever keeps it.
    ///
    /// # Errors
    /// Whatever `look` fails with.
    pub fn show(
        &mut self,
        look: &mut dyn FnMut(&mut dyn Snapshot) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let engine = self.run.engine();
        let Loaded { job, options, session, .. } = &mut self.run;
        let (session, control) = (session.as_mut(), &options.control);
        let computing =
            Computing::new(job, session, Input::Dropped, control, &mut self.progressed, 0);
        let mut computing = computing.named(engine, options.field());
        let mut standing = computing.snapshot();
        look(&mut *standing)
    }

    /// What is computed.
    #[must_use]
    pub fn job(&self) -> &Job {
        &self.run.job
    }

    fn check_name(&self, name: &str) -> Result<(), Error> {
        if name == self.name() {
            return Ok(());
        }
        Err(Error::UnknownField { name: name.to_owned(), known: vec![self.name().to_owned()] })
    }

    /// What computes: engine, kernel, device, and why these; and the speed of the steps that are done, of which
    /// none was verified ([`run`](crate::run::run) does that).
    #[must_use]
    pub fn report(&self) -> Report {
        let timing = Timing::own(self.progressed.time());
        let own = self.steps() - self.run.options.done;
        self.run.report(own, timing, Verification::off())
    }
}

/// Makes sure that an array on a GPU has values of a type as it is stored.
fn check_type(array: &DeviceArray, asked: Dtype) -> Result<(), Error> {
    let own = array.dtype();
    if own.stored() == asked.stored() {
        return Ok(());
    }
    let reason = format!(
        "its values are {own}, and {asked} is asked for: convert it on the GPU first, or leave the type out"
    );
    Err(Error::DeviceArray { reason })
}

/// What a [`SumSimulation`] is to be. Whatever is not said is chosen as on the command line: zeros around the
/// grid, in its own element type, on the engine and with the kernel that are predicted to be fastest.
pub struct Builder {
    job: Job,
    start: Values,
    options: Options,
}

/// The values of step 0.
enum Values {
    Grid(Grid),
    Array(DeviceArray),
}

/// Of whoever looks between the steps, and verifies and measures nothing.
fn options() -> Options {
    let (verify, time) = (Some(Verify::Off), Time::Off);
    Options { verify, time, stops: true, ..Options::default() }
}

impl Builder {
    /// Of a job, whose steps are those that are planned for, on its grid, whose field has this name.
    #[must_use]
    pub fn of_job(job: Job, grid: Grid, field: String) -> Self {
        let options = Options { field: Some(field), ..options() };
        Self { job: Job { steps: STEPS, ..job }, start: Values::Grid(grid), options }
    }

    /// Of a job, as [`Builder::of_job`], on an array in the memory of a GPU, which is not needed once this is built.
    #[must_use]
    pub fn of_job_on_device(job: Job, array: DeviceArray, field: String) -> Self {
        let options = Options { field: Some(field), ..options() };
        Self { job: Job { steps: STEPS, ..job }, start: Values::Array(array), options }
    }

    /// What lies around the grid.
    #[must_use]
    pub fn boundary(mut self, boundary: Boundary) -> Self {
        self.job.boundary = boundary;
        self
    }

    /// How values are stored between steps; those of the grid are rounded to it.
    #[must_use]
    pub fn dtype(mut self, dtype: Dtype) -> Self {
        self.job.dtype = dtype;
        self
    }

    /// Computed by several GPUs of this machine, or by processes ([`crate::ranks`]), each a part. The values are those of one.
    #[must_use]
    pub fn shared(self, sharing: Sharing) -> Self {
        let options = Options { sharing: Some(sharing), ..self.options };
        Self { options, ..self }
    }

    /// What computes.
    #[must_use]
    pub fn engine(mut self, engine: EngineRequest) -> Self {
        self.options.engine = engine;
        self
    }

    /// Time steps to take as one sum.
    #[must_use]
    pub fn fuse(mut self, fuse: Depth) -> Self {
        self.job.fuse = fuse;
        self
    }

    /// Sweeps to chain on chip.
    #[must_use]
    pub fn chain(mut self, chain: Depth) -> Self {
        self.job.chain = chain;
        self
    }

    /// Time steps to take at once by Fourier transforms, at most, of the engine
    /// [`Fft`](EngineRequest::Fft).
    #[must_use]
    pub fn jump(mut self, jump: Depth) -> Self {
        self.job.jump = jump;
        self
    }

    /// The family of kernels that is to take most of the steps.
    #[must_use]
    pub fn kernel(mut self, kernel: &'static dyn Family) -> Self {
        self.job.kernel = Some(kernel.name());
        self
    }

    /// About how many steps will be asked for at a time, at least 1: what is fastest for 1000 steps, which is
    /// planned for otherwise, need not be for a few.
    #[must_use]
    pub fn portions(mut self, steps: usize) -> Self {
        self.job.steps = steps.max(1);
        self
    }

    /// Values of step 0, or of those that an earlier run took, instead of what was given before.
    #[must_use]
    pub fn start(mut self, grid: Grid) -> Self {
        self.start = Values::Grid(grid);
        self
    }

    /// Steps that an earlier run took: the grid to start from is that after them.
    #[must_use]
    pub fn done(mut self, steps: usize) -> Self {
        self.options.done = steps;
        self
    }

    /// Who may end a call of [`SumSimulation::step`], and who is told how far it has come.
    #[must_use]
    pub fn control(mut self, control: Control) -> Self {
        self.options.control = control;
        self
    }

    /// Plans, and hands the grid to the engine.
    ///
    /// # Errors
    /// - [`Error::Points`]: the grid has more values than points, or fewer.
    /// - [`Error::DeviceArray`]: the array on the GPU has values of another stored type than was asked for.
    /// - [`Error::SizeAxes`]: the grid has other axes than the stencil.
    /// - [`Error::NotFinite`], [`Error::Boundary`]: a value, a weight or a constant of the boundary is not finite
    ///   in the element type.
    /// - [`Error::Unsupported`], [`Error::NoEngine`]: what was asked for cannot be computed.
    /// - [`Error::Memory`], [`Error::GpuMemory`]: it does not fit.
    /// - [`Error::NoDriver`] and the like: there is no GPU for the engine that was asked for.
    pub fn build(self) -> Result<SumSimulation, Error> {
        let Self { job, start, options } = self;
        let done = options.done;
        let run = match start {
            Values::Grid(grid) => {
                let grid = Grid::new(grid.shape.axes(), grid.values)?;
                let job = checked(job)?;
                let grid = grid.stored_as(job.dtype)?;
                let mut run =
                    Run::plan(job, options, InputMemory::Given)?.load(Cow::Owned(grid))?;
                run.session.drop_input();
                run
            }
            Values::Array(array) => {
                let job = checked(job)?;
                check_type(&array, job.dtype)?;
                Run::plan(job, options, InputMemory::Lent)?.load_array(&array)?
            }
        };
        Ok(SumSimulation { run, progressed: StepsTaken::from(done) })
    }
}

#[cfg(test)]
mod tests;
