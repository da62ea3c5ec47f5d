// SPDX-License-Identifier: MIT OR Apache-2.0
//! A simulation that is changed between its steps: fields, parameters, all of its state.
//!
//! Of a system it begins anew with what it came to, as a run that goes on from a checkpoint does: so its next steps are those
//! of a run that begins with these values. Values of a field alone are written where they lie, by engines that can.

use std::fmt::Display;

use super::{Form, Simulation, SystemState};
use crate::checked::System;
use compute::device::{DeviceArray, DeviceGrid};
use problem::observe::ArrayName;
use problem::{Clock, Error, Grid, ValueLocation};

impl Simulation {
    /// Gives a field other values, from which the next steps go on, rounded to its element type. What it was in earlier steps, as
    /// equations of waves read it, stays ([`Simulation::set_level`]). At solid points of a system it has what walls say.
    ///
    /// ```
    /// # mod stencil { pub use {compute::*, problem::*, systems::Simulation, transform::{Stencil, catalogue}}; }
    /// # use stencil::{Grid, Simulation, Stencil};
    /// # fn main() -> Result<(), stencil::Error> {
    /// let mean = Stencil::dense("mean", &[3], &[0.25, 0.5, 0.25]).expect("three weights");
    /// let mut rod = Simulation::new(mean, Grid::new(&[3], vec![0.0, 4.0, 0.0])?).build()?;
    /// rod.step(1)?;
    /// rod.set_field("u", Grid::new(&[3], vec![0.0, 8.0, 0.0])?)?;
    /// rod.step(1)?;
    /// assert_eq!((rod.steps(), rod.field("u")?.get(0)), (2, 2.0));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`Error::UnknownField`], [`Error::Extents`]: there is no such field, or the grid has another shape.
    /// - [`Error::NotFinite`]: a value is not finite in the element type.
    /// - [`Error::Split`]: ranks share the grid.
    /// - Whatever [`super::Builder::build`] fails with.
    pub fn set_field(&mut self, name: &str, values: Grid) -> Result<(), Error> {
        self.set_level(name, 0, values)
    }

    /// Gives a field other values some steps before now, or with 0 now.
    ///
    /// # Errors
    /// As [`Simulation::set_field`]; no equation reads the field so many steps before.
    pub fn set_level(&mut self, name: &str, level: usize, values: Grid) -> Result<(), Error> {
        let system = match &mut self.form {
            Form::Sum(sum) if level == 0 => return sum.set_field(name, values),
            Form::Sum(sum) => return Err(unknown(name, level, &[sum.name()])),
            Form::Equations(system) => system,
        };
        let (shape, dtype) = (system.system().shape(), system.system().dtype());
        system.system().find(name)?;
        if values.shape != shape {
            let (shape, found) = (shape.to_string(), values.shape.to_string());
            return Err(Error::Extents { shape, found });
        }
        let values = values.stored_as(dtype)?;
        values.check_finite(ValueLocation::InputAs(dtype))?;
        self.check_alone()?;
        self.put_level(name, level, values)
    }

    /// Gives a field other values, which are checked, also where ranks share it.
    pub(super) fn put_level(
        &mut self,
        name: &str,
        level: usize,
        values: Grid,
    ) -> Result<(), Error> {
        if let Form::Equations(system) = &mut self.form
            && system.put(name, level, &values)?
        {
            return Ok(());
        }
        let mut state = self.state()?;
        let own = ArrayName { field: name.to_owned(), level };
        match state.arrays.iter_mut().find(|(name, _)| *name == own) {
            Some((_, grid)) => *grid = values,
            None => return Err(unknown(name, level, &self.fields())),
        }
        self.begin_with(state)
    }

    /// Gives a field the values of an array in the memory of a GPU. It is copied there, where that GPU computes; else, and where a
    /// system has another type or solid points, it comes by way of this machine's memory. It is not needed after this.
    ///
    /// # Errors
    /// As [`Simulation::set_field`]; [`Error::DeviceArray`]: values of a stencil's grid are of another type.
    pub fn set_field_array(&mut self, name: &str, values: &DeviceArray) -> Result<(), Error> {
        match &mut self.form {
            Form::Sum(sum) => sum.set_field_array(name, values),
            Form::Equations(_) => self.set_level_array(name, 0, values),
        }
    }

    /// Gives a field of a system other values some steps before now, those of an array in the memory of a GPU. They are copied there,
    /// if that GPU computes and both are of one type; else they come by way of this machine's memory. It is not needed after this.
    ///
    /// # Errors
    /// As [`Simulation::set_level`].
    pub fn set_level_array(
        &mut self,
        name: &str,
        level: usize,
        values: &DeviceArray,
    ) -> Result<(), Error> {
        self.check_alone()?;
        if let Form::Equations(system) = &mut self.form
            && system.system().shape() == values.shape()
            && system.put_array(name, level, values)?
        {
            return Ok(());
        }
        self.set_level(name, level, values.download()?)
    }

    /// A copy of a field as it was some steps before now, where equations read that; with 0 as it is now.
    ///
    /// # Errors
    /// As [`Simulation::field`]; no equation reads the field so many steps before.
    pub fn level(&mut self, name: &str, level: usize) -> Result<Grid, Error> {
        if level == 0 {
            return self.field(name);
        }
        let found = match &mut self.form {
            Form::Sum(_) => None,
            Form::Equations(system) => system.level(name, level)?,
        };
        found.ok_or_else(|| unknown(name, level, &self.fields()))
    }

    /// A copy of a field so many steps before now, in the memory of the GPU, as [`Simulation::field_on_device`] gives it.
    ///
    /// # Errors
    /// As there; no equation reads the field so many steps before.
    pub fn level_on_device(&mut self, name: &str, level: usize) -> Result<DeviceGrid, Error> {
        match &mut self.form {
            Form::Sum(_) if level == 0 => return self.field_on_device(name),
            Form::Sum(_) => (),
            Form::Equations(system) => {
                if let Some(grid) = system.on_device(name, level)? {
                    return Ok(grid);
                }
            }
        }
        DeviceGrid::upload(&self.level(name, level)?)
    }

    /// The constants of a system, with their values; a stencil has none.
    #[must_use]
    pub fn parameters(&self) -> Vec<(String, f64)> {
        let constants = self.system().into_iter().flat_map(System::constants);
        constants.map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Gives a constant of a system another value, a number or an expression of constants. Whatever is made of it is computed
    /// anew: other constants, coefficients, the spacing, the time step. Fields and what they were in earlier steps stay, and time
    /// goes on from where it is.
    ///
    /// ```
    /// # mod stencil { pub use {problem::*, systems::Simulation}; pub mod system { pub use systems::*; } }
    /// # use stencil::Simulation;
    /// # use stencil::system::{Description, FieldText, System};
    /// # use std::path::Path;
    /// # fn main() -> Result<(), stencil::Error> {
    /// let growth = Description::new(&[4])
    ///     .constant("r", 1)
    ///     .field(FieldText::new("u", 1.0, "u + r*u"));
    /// let mut growth = Simulation::of(&System::new(&growth, Path::new("."))?).build()?;
    /// growth.step(1)?;
    /// growth.set_parameter("r", 2)?;
    /// growth.step(1)?;
    /// assert_eq!(growth.field("u")?.get(0), 6.0);
    /// assert_eq!(growth.parameters(), [("r".to_owned(), 2.0)]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::System`]: there is no such constant, or the system makes no sense with this value, and is as it was;
    /// [`Error::Split`]: ranks share the grid; whatever [`super::Builder::build`] fails with.
    pub fn set_parameter(&mut self, name: &str, value: impl Display) -> Result<(), Error> {
        self.set_parameters(&[(name, value)])
    }

    /// Gives several constants of a system other values, all at once: what one of them is by the others follows from their new values.
    ///
    /// # Errors
    /// As [`Simulation::set_parameter`]; then none of them is changed.
    pub fn set_parameters<N: AsRef<str>, V: Display>(
        &mut self,
        values: &[(N, V)],
    ) -> Result<(), Error> {
        let Some(choices) = &self.choices else {
            let name = values.first().map_or("", |(name, _)| name.as_ref());
            let reason = format!("there is no parameter '{name}': a stencil has weights");
            return Err(Error::Unsupported { engine: "of this simulation", reason });
        };
        let system = choices.system.with_constants(values)?;
        self.check_alone()?;
        let mut state = self.state()?;
        let system = match self.system() {
            Some(before) => system.after(before, state.step),
            None => system,
        };
        if let Some(every) = choices_series(self) {
            state.rows_of = system.rows_of(every);
        }
        state.clock = state.clock.filter(|_| system.varies_steps());
        // What lies around kept values may be made of constants.
        self.tapes = None;
        let before = self.choices.clone();
        if let Some(choices) = &mut self.choices {
            choices.system = system;
        }
        let begun = self.begin_with(state);
        if begun.is_err() {
            self.choices = before;
        }
        begun
    }

    /// All that is needed to go on from here: fields, what they were in earlier steps, what was recorded, the time.
    ///
    /// ```
    /// # mod stencil { pub use {problem::*, systems::Simulation}; pub mod system { pub use systems::*; } }
    /// # use stencil::Simulation;
    /// # use stencil::system::{Description, FieldText, System};
    /// # use std::path::Path;
    /// # fn main() -> Result<(), stencil::Error> {
    /// let doubling = Description::new(&[4]).field(FieldText::new("u", 1.0, "2*u"));
    /// let doubling = System::new(&doubling, Path::new("."))?;
    /// let mut first = Simulation::of(&doubling).build()?;
    /// first.step(3)?;
    /// let mut copy = Simulation::of(&doubling).state(first.state()?).build()?;
    /// copy.step(1)?;
    /// assert_eq!((copy.steps(), copy.field("u")?.get(0)), (4, 16.0));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A value is not finite; there is no memory for the copy; the device refuses.
    pub fn state(&mut self) -> Result<SystemState, Error> {
        let sum = match &mut self.form {
            Form::Equations(system) => return system.state(),
            Form::Sum(sum) => sum,
        };
        let name = sum.name().to_owned();
        let grid = sum.field(&name)?;
        Ok(SystemState {
            step: sum.steps(),
            arrays: vec![(ArrayName { field: name, level: 0 }, grid)],
            records: Vec::new(),
            series: Vec::new(),
            rows_of: String::new(),
            clock: self.clock_of_a_sum(),
        })
    }

    /// When the next steps are, of a system that is computed as a sum, where their number does not say it.
    pub(super) fn clock_of_a_sum(&self) -> Option<Clock> {
        let (Form::Sum(_), Some(choices)) = (&self.form, &self.choices) else { return None };
        choices.system.has_variable_steps().then_some(choices.system.clock)
    }

    /// The system, if it is one.
    #[must_use]
    pub fn system(&self) -> Option<&System> {
        match &self.form {
            Form::Equations(system) => Some(system.system()),
            Form::Sum(_) => self.choices.as_ref().map(|choices| &choices.system),
        }
    }

    /// The time in what is simulated; of a stencil its steps.
    #[must_use]
    pub fn time(&self) -> f64 {
        match (&self.form, &self.choices) {
            (Form::Equations(system), _) => system.now(),
            (Form::Sum(sum), Some(choices)) => choices.system.time(sum.steps()),
            (Form::Sum(sum), None) => sum.steps() as f64,
        }
    }

    /// The rows of totals of a system: the step, the time and each total ([`super::Builder::series`]).
    #[must_use]
    pub fn series(&self) -> &[Vec<f64>] {
        match &self.form {
            Form::Sum(_) => &[],
            Form::Equations(system) => system.series(),
        }
    }

    /// Goes on from values that were changed; where that is not possible, it is as it was.
    pub(super) fn begin_with(&mut self, mut state: SystemState) -> Result<(), Error> {
        let choices = self.choices.as_mut().expect("equations are of a system");
        let anew = |clock| choices.system.found_anew(clock, state.step);
        state.clock = state.clock.map(anew);
        // What it began with is of no use any more.
        choices.asked.inputs = Default::default();
        self.form = choices.left(state, true)?;
        Ok(())
    }

    /// Goes on from what an earlier run of it left.
    pub(super) fn go_on(&mut self, state: SystemState) -> Result<(), Error> {
        match (&mut self.form, &self.choices) {
            (Form::Sum(sum), None) => {
                let step = state.step;
                match state.arrays.into_iter().next() {
                    Some((_, grid)) => sum.go_on(grid, step),
                    None => Ok(()),
                }
            }
            (_, Some(choices)) => {
                let mut own = choices.clone();
                own.system = own.system.with_clock_of(state.clock);
                self.form = own.left(state, false)?;
                self.choices = Some(own);
                Ok(())
            }
            (Form::Equations(_), None) => unreachable!("equations are of a system"),
        }
    }

    /// Makes sure that no ranks share it.
    pub(super) fn check_alone(&self) -> Result<(), Error> {
        let sharing = self.choices.as_ref().and_then(|choices| choices.asked.sharing.as_ref());
        match sharing {
            None => Ok(()),
            Some(_) => {
                let reason = "a grid that ranks share cannot be changed between steps";
                Err(Error::Split { reason: reason.into() })
            }
        }
    }
}

fn choices_series(simulation: &Simulation) -> Option<usize> {
    simulation.choices.as_ref().and_then(|choices| choices.series)
}

/// No equation reads a field so many steps before.
fn unknown(name: &str, level: usize, known: &[&str]) -> Error {
    let name = match level {
        0 => name.to_owned(),
        _ => format!("{name}, {level} steps before"),
    };
    Error::UnknownField { name, known: known.iter().map(|name| (*name).to_owned()).collect() }
}
