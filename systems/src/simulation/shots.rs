// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shots: runs that begin with one state and differ in what sources add, by one computation that is planned once.

use super::{Form, Simulation, SystemState};
use crate::checked::System;
use problem::Error;

impl Simulation {
    /// Goes back to a state, from which sources add other numbers: a row for each source, a number for each step. The system has
    /// to be one with series ([`crate::Description::set_series`]).
    ///
    /// ```
    /// # mod stencil { pub use {problem::*, systems::Simulation}; pub mod system { pub use systems::*; } }
    /// use stencil::Simulation;
    /// use stencil::system::{Description, FieldText, System};
    /// use std::path::Path;
    ///
    /// # fn main() -> Result<(), stencil::Error> {
    /// let mut line = Description::new(&[4])
    ///     .field(FieldText::new("u", 0.0, "u/2"))
    ///     .source("u", &[1], 0)
    ///     .source("u", &[2], 0);
    /// line.set_series(&[vec![0.0, 0.0], vec![0.0, 0.0]]).expect("a row for each source");
    /// let mut line = Simulation::of(&System::new(&line, Path::new("."))?).build()?;
    /// let begin = line.state()?;
    /// for (shot, place) in [([vec![4.0, 2.0], vec![0.0, 0.0]], 1), ([vec![0.0, 0.0], vec![4.0, 2.0]], 2)] {
    ///     line.begin_shot(&begin, &shot)?;
    ///     line.step(2)?;
    ///     assert_eq!(line.field("u")?.get(place), 4.0);
    ///     assert_eq!(line.field("u")?.get(3 - place), 0.0);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - The system has no series, or other sources than there are rows; a number is not finite.
    /// - [`Error::Split`]: ranks share the grid.
    /// - Whatever [`super::Builder::build`] fails with.
    pub fn begin_shot(&mut self, state: &SystemState, series: &[Vec<f64>]) -> Result<(), Error> {
        self.check_alone()?;
        let Some(choices) = &mut self.choices else {
            let reason = "shots are of systems: a stencil has no sources".to_owned();
            return Err(Error::Unsupported { engine: "of this simulation", reason });
        };
        choices.system = choices.system.with_series(state.step, series)?;
        let system: &System = &choices.system;
        if let Form::Equations(own) = &mut self.form
            && own.begin_shot(system, state)?
        {
            return Ok(());
        }
        self.begin_with(state.clone())
    }
}
