// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shots: runs that begin with one state and differ in what sources add, by one computation that is planned once.

use super::{Form, Simulation, SystemState};
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
        let Some(choices) = &self.choices else {
            let reason = "shots are of systems: a stencil has no sources".to_owned();
            return Err(Error::Unsupported { engine: "of this simulation", reason });
        };
        let system = choices.system.with_series(state.step, series)?;
        let has_begun = match &mut self.form {
            Form::Equations(own) => own.begin_shot(&system, state)?,
            Form::Sum(_) => false,
        };
        let before = self.choices.clone();
        if let Some(choices) = &mut self.choices {
            choices.system = system;
        }
        if has_begun {
            return Ok(());
        }
        let begun = self.begin_with(state.clone());
        if begun.is_err() {
            self.choices = before;
        }
        begun
    }
}

#[cfg(test)]
mod tests {
    use crate::{Description, FieldText, Simulation, System};

    /// A state of another system changes neither values nor what sources add.
    #[test]
    fn a_shot_that_is_refused_changes_nothing() {
        let mut line =
            Description::new(&[4]).field(FieldText::new("u", 0.0, "u/2")).source("u", &[1], 0);
        line.set_series(&[vec![0.0, 0.0]]).unwrap();
        let line = System::new(&line, std::path::Path::new("")).unwrap();
        let mut line = Simulation::of(&line).build().unwrap();
        let begin = line.state().unwrap();
        let mut other = begin.clone();
        other.arrays[0].0.field = "v".into();
        line.begin_shot(&begin, &[vec![4.0, 2.0]]).unwrap();
        line.begin_shot(&other, &[vec![8.0, 8.0]]).unwrap_err();
        line.step(2).unwrap();
        assert_eq!(line.field("u").unwrap().get(1), 4.0);
    }
}
