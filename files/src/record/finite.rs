// SPDX-License-Identifier: MIT OR Apache-2.0
//! A look at all values every some steps: are they finite?

use problem::Error;
use problem::observe::{Observer, Snapshot, next_multiple};
use std::ops::ControlFlow;

/// Ends a computation with the first look at a value that is not finite.
#[derive(Clone, Copy, Debug)]
pub struct FiniteEnd {
    /// Steps between two looks, at least 1.
    pub every: usize,
}

impl Observer for FiniteEnd {
    fn next(&self, done: usize) -> Option<usize> {
        next_multiple(done, self.every)
    }

    fn look(&mut self, done: usize, snapshot: &mut dyn Snapshot) -> Result<ControlFlow<()>, Error> {
        if done.is_multiple_of(self.every) {
            snapshot.check_finite()?;
        }
        Ok(ControlFlow::Continue(()))
    }
}
