// SPDX-License-Identifier: MIT OR Apache-2.0
//! A weighted sum over neighbours, for rows of arrays that hold all that the sum reads.

use fearless_simd::Level;
use transform::Tap;

use crate::runs::NeighbourRuns;
use crate::storage::{BlockInput, Storage};
use problem::values::Element;

/// Neighbours and their weights, and the vector instructions that their products are added with.
pub struct Window<T: Storage> {
    level: Level,
    runs: NeighbourRuns<T::Sum>,
}

impl<T: Storage> Window<T> {
    /// Of neighbours that lie at most `reach` planes before a point or behind it; their weights are rounded to the type of the
    /// sums.
    pub fn new(taps: &[Tap], reach: usize) -> Self {
        Self { level: Level::new(), runs: NeighbourRuns::new(taps, reach, T::Sum::from_f64) }
    }

    /// The weights, in the order in which products are added.
    pub fn weights(&self) -> &[T::Sum] {
        &self.runs.weights
    }

    /// The vector instructions.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Other vector instructions.
    #[cfg(test)]
    pub fn set_level(&mut self, level: Level) {
        self.level = level;
    }

    /// Computes rows of points of the middle one of the planes, of which the first point lies at the origin. A value that lies
    /// `ahead` of one that is used is asked for from memory; 0 asks for none.
    pub fn rows(
        &self,
        planes: &[&[T]],
        pitch: usize,
        origin: usize,
        ahead: usize,
        to: &mut [&mut [T]],
    ) {
        let source = BlockInput { runs: &self.runs, planes, pitch, origin, ahead };
        source.compute(self.level, to);
    }
}
