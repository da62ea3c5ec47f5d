// SPDX-License-Identifier: MIT OR Apache-2.0
//! A computation that a program drives: a stencil, a grid, and as many steps at a time as it likes.
//!
//! Heat in a rod of 63 points between two ends at 0 begins as half a wave of a sine, of which each step leaves
//! the same part:
//!
//! ```
//! # mod stencil { pub use {compute::*, problem::*, transform::{Stencil, catalogue}}; }
//! use stencil::{Grid, Simulation, Stencil};
//! use std::f64::consts::PI;
//!
//! # fn main() -> Result<(), stencil::Error> {
//! let wave = |point: usize| (PI * (point + 1) as f64 / 64.0).sin();
//! let grid = Grid::new(&[63], (0..63).map(wave).collect::<Vec<f64>>())?;
//! let heat = Stencil::dense("heat", &[3], &[0.25, 0.5, 0.25]).expect("three weights");
//!
//! let mut rod = Simulation::new(heat, grid).build()?;
//! rod.step(100)?;
//! rod.step(900)?;
//!
//! let middle = rod.field("u")?.get(31);
//! let exact = (PI / 128.0).cos().powi(2 * 1000);
//! assert!((middle - exact).abs() < 1e-12, "{middle} instead of {exact}");
//! # Ok(())
//! # }
//! ```

use std::borrow::Cow;

use transform::Stencil;

use crate::device::{DeviceArray, DeviceGrid};
use crate::engine::{EngineRequest, Input};
use crate::families::Family;
use crate::plan::Sharing;
use crate::report::{Report, Timing, Verification};
use crate::run::{Computing, Loaded, Options, Progressed, Run, Start, Time, checked};
use problem::check::verify::Verify;
use problem::control::{Control, portions};
use problem::{Boundary, Depth, Dtype, Error, Grid, Job};

/// The field of a stencil, which has only one.
const FIELDS: &[&str] = &[crate::run::FIELD];

/// Steps that are planned for, if nothing is said.
const STEPS: usize = 1000;

/// A grid on an engine's device.
pub struct Simulation {
    run: Loaded,
    progressed: Progressed,
}

impl Simulation {
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
    /// time; a [`field`](Simulation::field) is looked at in any case. The portions in which steps are
    /// taken make no difference but, where an engine fuses steps, to how often a value is rounded: steps that
    /// fill no whole launch are taken by smaller ones.
    ///
    /// # Errors
    /// - [`Error::Overflow`]: a value is not finite.
    /// - [`Error::Stopped`]: somebody asked for an end. So many steps as [`Simulation::steps`] says are done,
    ///   and more can be.
    /// - [`Error::Driver`] and the like: the device refuses.
    pub fn step(&mut self, steps: usize) -> Result<(), Error> {
        let Loaded { job, options, session, .. } = &mut self.run;
        let (session, control) = (session.as_mut(), &options.control);
        let at = &mut self.progressed;
        let mut computing = Computing::new(job, session, Input::Dropped, control, at, steps);
        computing.take_all()
    }

    /// Takes so many time steps, and calls `observe` with the simulation whenever the number of all steps that
    /// are done is a multiple of `every` (at least 1). What it needs of a field it asks for. Steps are planned for
    /// portions of 1000; for others [`Builder::portions`] says so.
    ///
    /// ```
    /// # mod stencil { pub use {compute::*, problem::*, transform::{Stencil, catalogue}}; }
    /// # use stencil::{Grid, Simulation, catalogue};
    /// # fn main() -> Result<(), stencil::Error> {
    /// # let heat = catalogue::find("star1d1r").expect("a name of the catalogue");
    /// let mut rod = Simulation::new(heat, Grid::new(&[100], vec![1.0; 100])?).build()?;
    /// rod.observe(1000, 250, |now| {
    ///     println!("{} {}", now.steps(), now.field("u")?.get(50));
    ///     Ok(())
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`Simulation::step`], and whatever `observe` returns, which ends it at that step.
    pub fn observe(
        &mut self,
        steps: usize,
        every: usize,
        mut observe: impl FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for (portion, is_observed) in portions(self.steps(), steps, every) {
            self.step(portion)?;
            if is_observed {
                observe(self)?;
            }
        }
        Ok(())
    }

    /// Time steps that are done.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.progressed.steps()
    }

    /// The names of its fields.
    #[must_use]
    pub fn fields(&self) -> &[&'static str] {
        FIELDS
    }

    /// A copy of a field as it is now, in its element type; of tf32 it is f32. That of a stencil is `u`.
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
    /// Those of [`Simulation::field`]; [`Error::GpuFull`]: there is no room for the copy; [`Error::NoDriver`] and the
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

    fn check_name(&self, name: &str) -> Result<(), Error> {
        if FIELDS.contains(&name) {
            return Ok(());
        }
        let known = FIELDS.iter().map(|&field| field.to_owned()).collect();
        Err(Error::UnknownField { name: name.to_owned(), known })
    }

    /// What computes: engine, kernel, device, and why these; and the speed of the steps that are done, of which
    /// none was verified ([`run`](crate::run::run) does that).
    #[must_use]
    pub fn report(&self) -> Report {
        let timing = Timing::own(self.progressed.time());
        self.run.report(self.steps(), timing, Verification::off())
    }
}

/// What a [`Simulation`] is to be. Whatever is not said is chosen as on the command line: zeros around the
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
    ///
    /// ```
    /// # mod stencil { pub use {compute::*, problem::*, transform::{Stencil, catalogue}}; }
    /// use stencil::engine::EngineRequest;
    /// use stencil::plan::Sharing;
    /// use stencil::ranks::engine::Ranks;
    /// # use stencil::{Grid, Simulation, catalogue};
    /// # fn main() -> Result<(), stencil::Error> {
    /// # let heat = catalogue::find("star2d1r").expect("a name of the catalogue");
    /// let plate = Grid::new(&[64, 64], vec![1.0; 64 * 64])?;
    /// // Of GPUs, `devices: Some(vec![0, 1])` would say which.
    /// let two = Sharing::among(Ranks::Threads(2));
    /// let mut plate = Simulation::new(heat, plate).engine(EngineRequest::Cpu).shared(two).build()?;
    /// plate.step(10)?;
    /// # Ok(())
    /// # }
    /// ```
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

    /// Who may end a call of [`Simulation::step`], and who is told how far it has come.
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
    pub fn build(self) -> Result<Simulation, Error> {
        let Self { job, start, options } = self;
        let run = match start {
            Values::Grid(grid) => {
                let grid = Grid::new(grid.shape.axes(), grid.values)?;
                let job = checked(job)?;
                let grid = grid.stored_as(job.dtype)?;
                let mut run = Run::plan(job, options, Start::Given)?.load(Cow::Owned(grid))?;
                run.session.drop_input();
                run
            }
            Values::Array(array) => {
                let job = checked(job)?;
                if array.dtype().stored() != job.dtype.stored() {
                    let (own, asked) = (array.dtype(), job.dtype);
                    let reason = format!(
                        "its values are {own}, and {asked} is asked for: convert it on the GPU first, or leave \
                         the type out"
                    );
                    return Err(Error::DeviceArray { reason });
                }
                Run::plan(job, options, Start::Lent)?.load_array(&array)?
            }
        };
        Ok(Simulation { run, progressed: Progressed::new() })
    }
}

#[cfg(test)]
mod tests;
