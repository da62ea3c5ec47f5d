// SPDX-License-Identifier: MIT OR Apache-2.0
//! What follows the steps of a computation, whatever it computes.

use crate::report::Report;
use problem::Error;
use problem::check::verify::Comparison;
use problem::observe::Snapshot;

/// A computation whose steps are taken: what is kept of it, compared, measured and told.
pub trait Completed {
    /// Steps that were taken, with those of an earlier run.
    fn step(&self) -> usize;

    /// Lets somebody look at its arrays. Not after [`Completed::measure`].
    ///
    /// # Errors
    /// An error of `look`.
    fn show(
        &mut self,
        look: &mut dyn FnMut(&mut dyn Snapshot) -> Result<(), Error>,
    ) -> Result<(), Error>;

    /// Compares what is to be compared after all steps. Says whether rounding explains all differences, those on the way
    /// included.
    ///
    /// # Errors
    /// Somebody asked for an end, memory that is gone, or the device refuses: then the result is not verified.
    fn verify(&mut self) -> Result<bool, Error> {
        Ok(true)
    }

    /// The first comparison that rounding does not explain.
    fn failure(&self) -> Option<Comparison> {
        None
    }

    /// What receivers recorded: for the start and each step, the time and the value at each receiver.
    fn records(&self) -> &[Vec<f64>] {
        &[]
    }

    /// What totals were every so many steps: rows of the step, the time and each total.
    fn series(&self) -> &[Vec<f64>] {
        &[]
    }

    /// Measures how long the steps and a copy take. The values are lost.
    ///
    /// # Errors
    /// Somebody asked for an end, or the device refuses: then the time is the run's own.
    fn measure(&mut self) -> Result<(), Error>;

    /// What is known so far.
    fn report(&self) -> Report;
}
