// SPDX-License-Identifier: MIT OR Apache-2.0
//! A computation that a program drives: a stencil or a system of fields, and as many steps at a time as the program likes.
//!
//! Heat in a rod of 63 points between two ends at 0 begins as half a wave of a sine, of which each step leaves an equal part:
//!
//! ```
//! # mod stencil { pub use {compute::*, problem::*, systems::Simulation, transform::{Stencil, catalogue}}; }
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

use compute::device::{DeviceArray, DeviceGrid};
use compute::report::Report;
use compute::simulation::SumSimulation;
use problem::control::portions;
use problem::observe::Observer;
use problem::{Error, Grid};
use transform::Stencil;

use crate::checked::System;

mod builder;
mod equations;
mod gradient;
mod kept;
mod shots;
mod state;

use builder::Choices;
use gradient::KeptTapes;

pub use builder::Builder;
pub use equations::{ComputeOptions, SystemSimulation, SystemState};
pub use gradient::{Cotangents, Gradient, GradientBy, ShotGradients, TapeStorage};
pub use kept::SaveRequest;

/// A stencil or a system of fields on an engine's device.
///
/// A system that is a stencil (one field, each of whose values becomes a sum of values around it with constant weights) is
/// computed by what computes stencils.
pub struct Simulation {
    form: Form,
    /// What was asked for of a system.
    choices: Option<Box<Choices>>,
    /// Memory of the gradient that was taken last, for the next one.
    tapes: Option<Box<KeptTapes>>,
}

/// What takes the steps.
enum Form {
    Sum(Box<SumSimulation>),
    Equations(Box<SystemSimulation>),
}

impl Simulation {
    /// Of a stencil on a grid with as many axes, which holds the values of step 0.
    #[must_use]
    #[expect(clippy::new_ret_no_self, reason = "whatever else can be chosen has a default")]
    pub fn new(stencil: Stencil, grid: Grid) -> Builder {
        Builder::of_sum(SumSimulation::new(stencil, grid))
    }

    /// Of a stencil on an array in the memory of the GPU that computes. It is copied there, into the halo of zeros
    /// that kernels need, when [`Builder::build`] is called, and is not needed after that. Engines that take grids of
    /// this machine's memory only (`cpu`, `fft`) have it copied there.
    #[must_use]
    pub fn of_array(stencil: Stencil, array: DeviceArray) -> Builder {
        Builder::of_sum(SumSimulation::of_array(stencil, array))
    }

    /// Of a system with the values that it starts with.
    ///
    /// ```
    /// # mod stencil { pub use {problem::*, systems::Simulation}; pub mod system { pub use systems::*; } }
    /// use stencil::Simulation;
    /// use stencil::system::{Description, FieldText, System};
    /// use std::path::Path;
    ///
    /// # fn main() -> Result<(), stencil::Error> {
    /// let spots = Description::new(&[8, 8])
    ///     .field(FieldText::new("u", "1", "u - 0.5*u*v"))
    ///     .field(FieldText::new("v", "0.5", "v + 0.25*u*v"));
    /// let system = System::new(&spots, Path::new("."))?;
    /// let mut spots = Simulation::of(&system).build()?;
    /// spots.step(1)?;
    /// assert_eq!(spots.fields(), ["u", "v"]);
    /// assert_eq!(spots.field("u")?.get(0), 0.75);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn of(system: &System) -> Builder {
        Builder::of_system(system.clone())
    }

    /// Takes so many time steps. It looks now and then whether all values are finite, in a small part of the
    /// time; a [`field`](Simulation::field) is looked at in any case. The portions in which steps are
    /// taken make no difference but, where an engine fuses steps, to how often a value is rounded: steps that
    /// fill no whole launch are taken by smaller ones.
    ///
    /// # Errors
    /// - [`Error::Overflow`], [`Error::FieldOverflow`]: a value is not finite.
    /// - [`Error::Stopped`]: somebody asked for an end. So many steps as [`Simulation::steps`] says are done,
    ///   and more can be.
    /// - [`Error::Driver`] and the like: the device refuses.
    pub fn step(&mut self, steps: usize) -> Result<(), Error> {
        match &mut self.form {
            Form::Sum(sum) => sum.step(steps),
            Form::Equations(system) => system.step(steps),
        }
    }

    /// Takes so many time steps while somebody looks at the arrays between them, who may end it earlier.
    ///
    /// # Errors
    /// [`Simulation::step`] fails, or the observer.
    pub fn step_observed(
        &mut self,
        steps: usize,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        match &mut self.form {
            Form::Sum(sum) => sum.step_observed(steps, observer),
            Form::Equations(system) => system.run(system.steps() + steps, &[], observer),
        }
    }

    /// Takes so many time steps, and calls `observe` with the simulation whenever the number of all steps that
    /// are done is a multiple of `every` (at least 1). What it needs of a field it asks for. Steps of a stencil are planned
    /// for portions of 1000, those of a system for single ones; for others [`Builder::portions`] says so.
    ///
    /// ```
    /// # mod stencil { pub use {compute::*, problem::*, systems::Simulation, transform::{Stencil, catalogue}}; }
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
    /// Whatever [`Simulation::step`] fails with, and whatever `observe` returns, which ends it at that step.
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
        match &self.form {
            Form::Sum(sum) => sum.steps(),
            Form::Equations(system) => system.steps(),
        }
    }

    /// The names of its fields; that of a stencil is `u`.
    #[must_use]
    pub fn fields(&self) -> Vec<&str> {
        match &self.form {
            Form::Sum(sum) => vec![sum.name()],
            Form::Equations(system) => system.fields().collect(),
        }
    }

    /// A copy of a field as it is now, in its element type; of tf32 it is f32.
    ///
    /// # Errors
    /// - [`Error::UnknownField`], with those that there are.
    /// - [`Error::Overflow`], [`Error::FieldOverflow`]: a value is not finite.
    /// - [`Error::Memory`]: there is no room for the copy.
    /// - [`Error::Driver`] and the like: the device refuses.
    pub fn field(&mut self, name: &str) -> Result<Grid, Error> {
        match &mut self.form {
            Form::Sum(sum) => sum.field(name),
            Form::Equations(system) => system.field(name),
        }
    }

    /// A copy of a field as it is now, in the memory of the GPU, in C order: for other libraries. Engines that give
    /// grids in this machine's memory only (`cpu`, `fft`) copy them from there to the GPU.
    ///
    /// # Errors
    /// Whatever [`Simulation::field`] fails with; [`Error::GpuFull`]: there is no room for the copy; [`Error::NoDriver`] and the
    /// like: there is no GPU.
    pub fn field_on_device(&mut self, name: &str) -> Result<DeviceGrid, Error> {
        match &mut self.form {
            Form::Sum(sum) => sum.field_on_device(name),
            Form::Equations(_) => self.level_on_device(name, 0),
        }
    }

    /// What the receivers of a system recorded: for the start and each step, the time and the value at each receiver.
    #[must_use]
    pub fn records(&self) -> &[Vec<f64>] {
        match &self.form {
            Form::Sum(_) => &[],
            Form::Equations(system) => system.records(),
        }
    }

    /// The totals of a system by name, as the values are now; none of a stencil.
    ///
    /// ```
    /// # mod stencil { pub use {problem::*, systems::Simulation}; pub mod system { pub use systems::*; } }
    /// use stencil::Simulation;
    /// use stencil::system::{Description, FieldText, System};
    /// use std::path::Path;
    ///
    /// # fn main() -> Result<(), stencil::Error> {
    /// let rod = Description::new(&[4])
    ///     .spacing(0.25)
    ///     .field(FieldText::new("u", "x", "0.5*u"))
    ///     .total("mass", "sum(u)*h")
    ///     .total("hottest", "max(u)");
    /// let system = System::new(&rod, Path::new("."))?;
    /// let mut rod = Simulation::of(&system).build()?;
    /// rod.step(1)?;
    /// assert_eq!(rod.totals()?, [("mass".to_owned(), 0.1875), ("hottest".to_owned(), 0.375)]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Memory`]: there is no room for a copy of the values, where one is needed; [`Error::Driver`] and the like:
    /// the device refuses.
    pub fn totals(&mut self) -> Result<Vec<(String, f64)>, Error> {
        let Form::Equations(system) = &mut self.form else { return Ok(Vec::new()) };
        let totals = system.totals()?;
        Ok(system.system().totals().map(str::to_owned).zip(totals).collect())
    }

    /// What computes: engine, kernel, device, and why these; and the speed of the steps that are done, of which
    /// none was verified.
    #[must_use]
    pub fn report(&self) -> Report {
        match &self.form {
            Form::Sum(sum) => sum.report(),
            Form::Equations(system) => system.report(),
        }
    }
}

#[cfg(test)]
mod state_tests;
#[cfg(test)]
mod tests;
