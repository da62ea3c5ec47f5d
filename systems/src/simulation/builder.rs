// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be chosen of a simulation.

use compute::device::DeviceArray;
use compute::engine::EngineRequest;
use compute::families;
use compute::plan::Sharing;
use compute::simulation as sums;
use problem::control::Control;
use problem::{Boundary, Depth, Dtype, Error, Grid, Job};

use super::equations::{ComputeOptions, SystemSimulation, SystemState};
use super::{Form, Simulation};
use crate::checked::System;
use crate::families as ways;
use crate::parts::Start;
use crate::sum;

/// What a [`Simulation`] is to be. Whatever is not said is chosen as on the command line: the engine and the kernel that are
/// predicted to be fastest; of a stencil zeros around the grid, and the grid's own element type.
pub struct Builder {
    of: BuilderKind,
}

/// What is built: a simulation of a stencil, or of a system.
enum BuilderKind {
    Sum(Box<sums::Builder>, Option<Error>),
    System(Box<SystemChoices>),
}

/// A system with what is asked for.
struct SystemChoices {
    choices: Choices,
    inputs: Vec<(String, Grid)>,
    /// What an earlier run left, and whether it was changed since.
    left: Option<(SystemState, bool)>,
    /// The first choice that a system says itself.
    refused: Option<Error>,
}

/// What is asked for of a system, whatever it starts with.
#[derive(Clone)]
pub struct Choices {
    pub system: System,
    pub asked: ComputeOptions,
    pub control: Control,
    pub portions: Option<usize>,
    fuse: Depth,
    kernel: Option<&'static dyn families::Family>,
    /// Steps between two rows of totals.
    pub series: Option<usize>,
}

/// A choice that is none of what is computed.
fn none(reason: &str) -> Error {
    Error::Unsupported { engine: "of this simulation", reason: reason.to_owned() }
}

impl Builder {
    pub(super) fn of_sum(builder: sums::Builder) -> Self {
        Self { of: BuilderKind::Sum(Box::new(builder), None) }
    }

    pub(super) fn of_system(system: System) -> Self {
        let (asked, control) = (ComputeOptions::default(), Control::default());
        let (portions, fuse, kernel, series) = (None, Depth::Auto, None, None);
        let choices = Choices { system, asked, control, portions, fuse, kernel, series };
        let (inputs, left, refused) = (Vec::new(), None, None);
        Self { of: BuilderKind::System(Box::new(SystemChoices { choices, inputs, left, refused })) }
    }

    /// With a choice of a stencil's, or of a system's.
    fn with(
        self,
        sum: impl FnOnce(sums::Builder) -> sums::Builder,
        system: impl FnOnce(&mut SystemChoices),
    ) -> Self {
        let of = match self.of {
            BuilderKind::Sum(builder, refused) => {
                BuilderKind::Sum(Box::new(sum(*builder)), refused)
            }
            BuilderKind::System(mut of) => {
                system(&mut of);
                BuilderKind::System(of)
            }
        };
        Self { of }
    }

    /// What lies around the grid of a stencil. The fields of a system say it themselves.
    #[must_use]
    pub fn boundary(self, boundary: Boundary) -> Self {
        let refuse = |of: &mut SystemChoices| {
            of.refuse(
                "the fields of a system have boundaries of their own: give them in its description",
            );
        };
        self.with(|sum| sum.boundary(boundary), refuse)
    }

    /// How values of a stencil's grid are stored between steps; those of the grid are rounded to it. A system says it itself.
    #[must_use]
    pub fn dtype(self, dtype: Dtype) -> Self {
        let refuse = |of: &mut SystemChoices| {
            of.refuse("a system has an element type of its own: give it in its description");
        };
        self.with(|sum| sum.dtype(dtype), refuse)
    }

    /// Computed by several GPUs of this machine, or by processes ([`compute::ranks`]), each a part. The values are those of
    /// one.
    ///
    /// ```
    /// # mod stencil { pub use {compute::*, problem::*, systems::Simulation, transform::{Stencil, catalogue}}; }
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
        let too = sharing.clone();
        self.with(|sum| sum.shared(sharing), |of| of.choices.asked.sharing = Some(too))
    }

    /// What computes.
    #[must_use]
    pub fn engine(self, engine: EngineRequest) -> Self {
        self.with(|sum| sum.engine(engine), |of| of.choices.asked.engine = engine)
    }

    /// Time steps to take as one sum, of a stencil or a system that is one.
    #[must_use]
    pub fn fuse(self, fuse: Depth) -> Self {
        self.with(|sum| sum.fuse(fuse), |of| of.choices.fuse = fuse)
    }

    /// Sweeps to chain on chip; of a system, steps of a launch.
    #[must_use]
    pub fn chain(self, chain: Depth) -> Self {
        self.with(|sum| sum.chain(chain), |of| of.choices.system.chain = chain)
    }

    /// Time steps to take at once by Fourier transforms, at most, of the engine [`Fft`](EngineRequest::Fft).
    #[must_use]
    pub fn jump(self, jump: Depth) -> Self {
        self.with(|sum| sum.jump(jump), |of| of.choices.system.jump = jump)
    }

    /// The family of kernels that is to take most of the steps, of a stencil or a system that is one.
    #[must_use]
    pub fn kernel(self, kernel: &'static dyn families::Family) -> Self {
        self.with(|sum| sum.kernel(kernel), |of| of.choices.kernel = Some(kernel))
    }

    /// The family of ways to take the steps of a system.
    #[must_use]
    pub fn way(mut self, way: &'static dyn ways::Family) -> Self {
        match &mut self.of {
            BuilderKind::Sum(_, refused) => {
                *refused =
                    Some(none("`way` is for systems; of a stencil `kernel` names the kernels"));
            }
            BuilderKind::System(of) => of.choices.asked.family = Some(way.name()),
        }
        self
    }

    /// Values of fields of a system, by their names, instead of those that it starts with, also one and more steps before.
    #[must_use]
    pub fn inputs(mut self, inputs: Vec<(String, Grid)>) -> Self {
        match &mut self.of {
            BuilderKind::Sum(_, refused) => {
                *refused = Some(none("a stencil starts with the grid that it is given"));
            }
            BuilderKind::System(of) => of.inputs.extend(inputs),
        }
        self
    }

    /// Values of a field of a system in the memory of a GPU, instead of those that it starts with. They come by way of this
    /// machine's memory, and are not needed after this.
    ///
    /// # Errors
    /// [`Error::Memory`]: there is no room for them; [`Error::Driver`] and the like: the device refuses.
    pub fn input_array(self, name: &str, array: &DeviceArray) -> Result<Self, Error> {
        let grid = array.download()?;
        Ok(self.inputs(vec![(name.to_owned(), grid)]))
    }

    /// From what an earlier run left ([`Simulation::state`]), instead of the values that it starts with.
    #[must_use]
    pub fn state(mut self, left: SystemState) -> Self {
        self.of = match self.of {
            BuilderKind::Sum(builder, refused) => {
                let step = left.step;
                match only(left) {
                    Ok(grid) => BuilderKind::Sum(Box::new(builder.start(grid).done(step)), refused),
                    Err(wrong) => BuilderKind::Sum(builder, Some(wrong)),
                }
            }
            BuilderKind::System(of) => {
                BuilderKind::System(Box::new(SystemChoices { left: Some((left, false)), ..*of }))
            }
        };
        self
    }

    /// The grid of a stencil is that after so many steps.
    #[must_use]
    pub fn done(self, steps: usize) -> Self {
        let refuse = |of: &mut SystemChoices| {
            of.refuse("the state of a system says how many steps are done");
        };
        self.with(|sum| sum.done(steps), refuse)
    }

    /// With rows of the totals of a system, every so many steps, at least 1 ([`Simulation::series`]).
    #[must_use]
    pub fn series(mut self, every: usize) -> Self {
        match &mut self.of {
            BuilderKind::Sum(_, refused) => *refused = Some(none("a stencil has no totals")),
            BuilderKind::System(of) => of.choices.series = Some(every.max(1)),
        }
        self
    }

    /// About how many steps will be asked for at a time, at least 1: what is fastest for as many as are planned for
    /// otherwise need not be for others.
    #[must_use]
    pub fn portions(self, steps: usize) -> Self {
        self.with(|sum| sum.portions(steps), |of| of.choices.portions = Some(steps.max(1)))
    }

    /// Who may end a call of [`Simulation::step`], and who is told how far it has come.
    #[must_use]
    pub fn control(self, control: Control) -> Self {
        let too = control.clone();
        self.with(|sum| sum.control(control), |of| of.choices.control = too)
    }

    /// Plans, and hands the values to the engine.
    ///
    /// # Errors
    /// - [`Error::Points`]: a grid has more values than points, or fewer.
    /// - [`Error::DeviceArray`]: the array on the GPU has values of another stored type than was asked for.
    /// - [`Error::SizeAxes`]: the grid has other axes than the stencil.
    /// - [`Error::NotFinite`], [`Error::Boundary`]: a value, a weight or a constant of the boundary is not finite
    ///   in the element type.
    /// - [`Error::UnknownField`]: values are given of a field that the system does not have.
    /// - [`Error::Unsupported`], [`Error::NoEngine`], [`Error::Split`]: what was asked for cannot be computed.
    /// - [`Error::Memory`], [`Error::GpuMemory`]: it does not fit.
    /// - [`Error::NoDriver`] and the like: there is no GPU for the engine that was asked for.
    pub fn build(self) -> Result<Simulation, Error> {
        match self.of {
            BuilderKind::Sum(_, Some(refused)) => Err(refused),
            BuilderKind::Sum(builder, None) => Ok(Simulation {
                form: Form::Sum(Box::new(builder.build()?)),
                choices: None,
                tapes: None,
            }),
            BuilderKind::System(of) => of.build(),
        }
    }
}

/// The one array of what a sum left.
fn only(left: SystemState) -> Result<Grid, Error> {
    let found = left.arrays.len();
    let mut arrays = left.arrays.into_iter();
    match (arrays.next(), arrays.next()) {
        (Some((_, grid)), None) => Ok(grid),
        _ => Err(none(&format!("the state has {found} arrays; a stencil has one"))),
    }
}

impl SystemChoices {
    fn refuse(&mut self, reason: &str) {
        self.refused.get_or_insert_with(|| none(reason));
    }

    fn build(self: Box<Self>) -> Result<Simulation, Error> {
        let Self { mut choices, inputs, left, refused } = *self;
        if let Some(refused) = refused {
            return Err(refused);
        }
        let form = match left {
            None => choices.form(inputs)?,
            Some(_) if !inputs.is_empty() => {
                return Err(none("both a state and start values are given"));
            }
            Some((left, is_changed)) => {
                choices.system = choices.system.with_clock_of(left.clock);
                choices.left(left, is_changed)?
            }
        };
        Ok(Simulation { form, choices: Some(Box::new(choices)), tapes: None })
    }
}

impl Choices {
    /// The system with the values that it starts with, but for those that are given.
    fn form(&self, inputs: Vec<(String, Grid)>) -> Result<Form, Error> {
        let Some(job) = self.job()? else {
            let asked = ComputeOptions { inputs: inputs.into(), ..self.asked() };
            return self.equations(SystemSimulation::asked(&self.system, &asked)?);
        };
        if inputs.is_empty()
            && let Start::OnDevice(given) = &self.system.fields[0].start
            && given.dtype() == job.dtype
            && let Some(own) = given.on_device()
        {
            let builder = sums::Builder::of_job_on_device(job.clone(), own.array(), self.name());
            match self.sum_of(builder, 0) {
                // Without the copy there may be room.
                Err(Error::GpuFull { .. }) => given.leave_device()?,
                built => return built,
            }
        }
        self.sum(job, sum::start(&self.system, &inputs)?, 0)
    }

    /// The system as an earlier run left it; where that was changed since, with what walls say.
    pub fn left(&self, left: SystemState, is_changed: bool) -> Result<Form, Error> {
        let Some(job) = self.job()? else {
            let (system, asked) = (&self.system, &self.asked());
            return self.equations(match is_changed {
                true => SystemSimulation::changed(system, asked, left)?,
                false => SystemSimulation::resumed(system, asked, left)?,
            });
        };
        let step = left.step;
        self.sum(job, only(left)?, step)
    }

    /// The job that the system is, if it is one.
    fn job(&self) -> Result<Option<Job>, Error> {
        let job = match (self.asked.family, sum::job(&self.system)) {
            (Some(_), _) => Err("`way` names how the steps are taken".to_owned()),
            (None, job) => job,
        };
        match job {
            Ok(job) => Ok(Some(sum::fused(job, self.fuse))),
            Err(why) if self.fuse != Depth::Auto => {
                Err(none(&format!("only a stencil fuses steps, and this system is not one: {why}")))
            }
            Err(why) if let Some(kernel) = self.kernel => {
                let reason = format!(
                    "{} is a kernel for stencils, and this system is not one: {why}",
                    kernel.name()
                );
                Err(none(&reason))
            }
            Err(_) => Ok(None),
        }
    }

    fn asked(&self) -> ComputeOptions {
        ComputeOptions { steps: self.portions.unwrap_or(1), ..self.asked.clone() }
    }

    fn equations(&self, simulation: SystemSimulation) -> Result<Form, Error> {
        let simulation = simulation.control(self.control.clone());
        let simulation = match self.series {
            Some(every) => simulation.with_series(every)?,
            None => simulation,
        };
        Ok(Form::Equations(Box::new(simulation)))
    }

    fn sum(&self, job: Job, grid: Grid, done: usize) -> Result<Form, Error> {
        self.sum_of(sums::Builder::of_job(job, grid, self.name()), done)
    }

    /// The name of its first field.
    fn name(&self) -> String {
        self.system.fields[0].name.clone()
    }

    fn sum_of(&self, builder: sums::Builder, done: usize) -> Result<Form, Error> {
        let mut builder = builder.done(done);
        builder = builder.engine(self.asked.engine).control(self.control.clone());
        if let Some(kernel) = self.kernel {
            builder = builder.kernel(kernel);
        }
        if let Some(steps) = self.portions {
            builder = builder.portions(steps);
        }
        if let Some(sharing) = &self.asked.sharing {
            builder = builder.shared(sharing.clone());
        }
        Ok(Form::Sum(Box::new(builder.build()?)))
    }
}
