// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a computation has come to the end that its own condition says.

use std::ops::ControlFlow;

use problem::Error;
use problem::observe::{Observer, Snapshot, next_multiple};

/// Ends a computation when its condition holds.
#[derive(Debug)]
pub struct TotalsEnd {
    every: usize,
    reached: bool,
}

impl TotalsEnd {
    /// With a look every so many steps, at least 1.
    #[must_use]
    pub fn new(every: usize) -> Self {
        Self { every, reached: false }
    }

    /// Whether the condition held.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        self.reached
    }
}

impl Observer for TotalsEnd {
    fn next(&self, done: usize) -> Option<usize> {
        next_multiple(done, self.every)
    }

    fn may_end(&self, done: usize) -> Option<usize> {
        self.next(done)
    }

    fn look(&mut self, done: usize, snapshot: &mut dyn Snapshot) -> Result<ControlFlow<()>, Error> {
        // Before the first step nothing has changed.
        self.reached = done > 0 && done.is_multiple_of(self.every) && snapshot.has_ended()?;
        Ok(if self.reached { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}
