// SPDX-License-Identifier: MIT OR Apache-2.0
//! Those who look at a computation between its steps: to write what it has come to, or to say that it is enough.

use std::fmt;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use crate::{Clock, Error, Grid, Region, Shape, Values, View};

mod copy;
mod part_file;

pub use copy::copy;
pub use part_file::{FileRegion, PartContent, PartFile};

/// An array of a computation: a field, or what a field was some steps before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayName {
    /// The field.
    pub field: String,
    /// How many steps before.
    pub level: usize,
}

/// What computes, as far as it makes a difference to the last digits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComputedBy {
    /// The engine.
    pub engine: String,
    /// With which kernel, and how many steps at a time; nothing of engines for which that makes no difference.
    pub how: String,
}

impl fmt::Display for ComputedBy {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { engine, how } = self;
        if how.is_empty() { write!(f, "{engine}") } else { write!(f, "{engine} ({how})") }
    }
}

/// A copy of what a view shows of an array, which comes while the computation goes on.
pub trait PendingCopy {
    /// The copy, if it is here already.
    fn here(&self) -> Option<&Grid> {
        None
    }

    /// Waits for it.
    ///
    /// # Errors
    /// The device failed.
    fn arrive(self: Box<Self>) -> Result<CompletedCopy, Error>;
}

/// A copy that has come, of which another thread makes a grid.
pub type CompletedCopy = Box<dyn FnOnce() -> Grid + Send>;

impl PendingCopy for Grid {
    fn here(&self) -> Option<&Grid> {
        Some(self)
    }

    fn arrive(self: Box<Self>) -> Result<CompletedCopy, Error> {
        Ok(Box::new(|| *self))
    }
}

/// A computation that stands still between two steps.
pub trait Snapshot {
    /// The extents of its arrays.
    fn shape(&self) -> Shape;

    /// Its arrays: the present values of all fields, then what it needs of earlier ones.
    fn arrays(&self) -> Vec<ArrayName>;

    /// What computes it.
    fn by(&self) -> ComputedBy;

    /// The values of a box of points of an array, given by its place, in C order.
    ///
    /// # Errors
    /// The device refuses, or there is no memory for a copy.
    fn read(&mut self, array: usize, region: Region) -> Result<Values, Error>;

    /// A copy of what a view shows of an array, given by its place, as it is now. Where a device can send it while it
    /// goes on, it is on its way when this returns.
    ///
    /// # Errors
    /// The device refuses, or there is no memory for a copy.
    fn capture(&mut self, array: usize, view: &View) -> Result<Box<dyn PendingCopy>, Error> {
        copied(self, array, view)
    }

    /// Makes sure that all present values are finite.
    ///
    /// # Errors
    /// [`Error::Overflow`] or [`Error::FieldOverflow`]: one is not.
    fn check_finite(&mut self) -> Result<(), Error>;

    /// The points of each rank, where several share the computation.
    fn parts(&self) -> Option<Vec<Region>> {
        None
    }

    /// Has each rank write a file, the first that of rank 0, of its own points of the one array that there is; returns what
    /// `io::part_file::write` did. A rank that cannot write can go on.
    ///
    /// # Errors
    /// Whatever a rank failed with; always, of computations that are not shared.
    fn write_parts(&mut self, _files: &[PartFile]) -> Result<Vec<String>, Error> {
        Err(Error::Unsupported { engine: "of one rank", reason: "it has no parts".into() })
    }

    /// What receivers recorded so far: rows of one length.
    fn records(&self) -> &[Vec<f64>] {
        &[]
    }

    /// What totals were so far, where rows of them are wanted: rows of one length.
    fn series(&self) -> &[Vec<f64>] {
        &[]
    }

    /// Digits that tell which totals the rows are of, and how often there is one.
    fn rows_of(&self) -> String {
        String::new()
    }

    /// When the next steps are, where their length follows from the values.
    fn clock(&self) -> Option<Clock> {
        None
    }

    /// Whether the condition holds at which the computation has come to its end, if it has one.
    ///
    /// # Errors
    /// The device refuses, or there is no memory for a copy.
    fn has_ended(&mut self) -> Result<bool, Error> {
        Ok(false)
    }
}

/// A copy of what a view shows of an array, made before this returns.
///
/// # Errors
/// The device refuses, or there is no memory for it.
pub fn copied(
    snapshot: &mut (impl Snapshot + ?Sized),
    array: usize,
    view: &View,
) -> Result<Box<dyn PendingCopy>, Error> {
    Ok(Box::new(copy(snapshot, array, view)?))
}

/// Who looks at a computation.
pub trait Observer {
    /// The next step after so many at which it has to stand still; it may also do so in between.
    fn next(&self, done: usize) -> Option<usize>;

    /// The next step after so many after which it may have seen enough; none if it never has. What computes compares the
    /// steps before it.
    fn may_end(&self, _done: usize) -> Option<usize> {
        None
    }

    /// Looks, after so many steps, and breaks a computation that has come to what was wanted of it.
    ///
    /// # Errors
    /// Whatever ends the computation.
    fn look(&mut self, done: usize, snapshot: &mut dyn Snapshot) -> Result<ControlFlow<()>, Error>;

    /// Is told that a computation ends by an error while it stands after so many steps.
    fn ends(&mut self, _done: usize, _standing: &mut dyn Snapshot, _why: &Error) {}

    /// Is told that a computation has come to its end, after so many steps: all that were wanted, or enough. What it
    /// fails with it keeps to itself: the result is there.
    fn finishes(&mut self, _done: usize, _standing: &mut dyn Snapshot) {}
}

/// An observer that looks at nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn next(&self, _: usize) -> Option<usize> {
        None
    }

    fn look(&mut self, _: usize, _: &mut dyn Snapshot) -> Result<ControlFlow<()>, Error> {
        Ok(ControlFlow::Continue(()))
    }
}

/// Several, one after the other.
#[derive(Default)]
pub struct Observers<'a>(pub Vec<&'a mut dyn Observer>);

impl Observer for Observers<'_> {
    fn next(&self, done: usize) -> Option<usize> {
        self.0.iter().filter_map(|observer| observer.next(done)).min()
    }

    fn may_end(&self, done: usize) -> Option<usize> {
        self.0.iter().filter_map(|observer| observer.may_end(done)).min()
    }

    fn look(&mut self, done: usize, snapshot: &mut dyn Snapshot) -> Result<ControlFlow<()>, Error> {
        let mut flow = ControlFlow::Continue(());
        for observer in &mut self.0 {
            if observer.look(done, snapshot)? == ControlFlow::Break(()) {
                flow = ControlFlow::Break(());
            }
        }
        Ok(flow)
    }

    fn ends(&mut self, done: usize, snapshot: &mut dyn Snapshot, why: &Error) {
        for observer in &mut self.0 {
            observer.ends(done, snapshot, why);
        }
    }

    fn finishes(&mut self, done: usize, snapshot: &mut dyn Snapshot) {
        for observer in &mut self.0 {
            observer.finishes(done, snapshot);
        }
    }
}

/// The next multiple of a period after so many steps.
#[must_use]
pub fn next_multiple(done: usize, period: usize) -> Option<usize> {
    (done / period + 1).checked_mul(period)
}
