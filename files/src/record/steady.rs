// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a computation still changes: it has come to a steady state where it does so by less than a tolerance.

use rayon::prelude::*;
use std::ops::ControlFlow;

use problem::observe::{Observer, Snapshot, copy, next_multiple};
use problem::values::Element;
use problem::{Error, Grid, View, with_values};

/// Ends a computation when no value changes by more than a tolerance in a step, on average over the steps since the
/// last look.
#[derive(Debug)]
pub struct SteadyEnd {
    tolerance: f64,
    every: usize,
    before: Option<(usize, Vec<Grid>)>,
    change: Option<f64>,
    reached: bool,
}

impl SteadyEnd {
    /// With a look every so many steps, at least 1.
    #[must_use]
    pub fn new(tolerance: f64, every: usize) -> Self {
        Self { tolerance, every, before: None, change: None, reached: false }
    }

    /// The largest change of a value in a step, on average between the last two looks; none before there were two.
    #[must_use]
    pub fn change(&self) -> Option<f64> {
        self.change
    }

    /// Whether it was less than the tolerance.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        self.reached
    }
}

impl Observer for SteadyEnd {
    fn next(&self, done: usize) -> Option<usize> {
        next_multiple(done, self.every)
    }

    fn may_end(&self, done: usize) -> Option<usize> {
        self.next(done)
    }

    fn look(&mut self, done: usize, snapshot: &mut dyn Snapshot) -> Result<ControlFlow<()>, Error> {
        if !done.is_multiple_of(self.every) {
            return Ok(ControlFlow::Continue(()));
        }
        let arrays = snapshot.arrays();
        let present = (0..arrays.len()).filter(|array| arrays[*array].level == 0);
        let view = View::whole(snapshot.shape());
        let now =
            present.map(|array| copy(snapshot, array, &view)).collect::<Result<Vec<_>, _>>()?;
        if let Some((step, before)) = &self.before {
            let changes = before.iter().zip(&now).map(|(before, now)| largest_change(before, now));
            let change = changes.fold(0.0, f64::max) / (done - step).max(1) as f64;
            self.change = Some(change);
            self.reached = change < self.tolerance;
        }
        self.before = Some((done, now));
        Ok(if self.reached { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

/// The largest difference of two grids at a point; infinite, if there is one that is not a number.
fn largest_change(before: &Grid, now: &Grid) -> f64 {
    with_values!(&before.values, before => {
        let now = same_type(before, &now.values);
        let difference = |(a, b): (&_, &_)| {
            let difference = (Element::to_f64(*a) - Element::to_f64(*b)).abs();
            if difference.is_nan() { f64::INFINITY } else { difference }
        };
        before.par_iter().zip(now).map(difference).reduce(|| 0.0, f64::max)
    })
}

/// The values of the same field some steps later, which have its type.
fn same_type<'a, T: Element>(_: &[T], values: &'a problem::Values) -> &'a [T] {
    T::unwrap(values).expect("a field keeps its type")
}
