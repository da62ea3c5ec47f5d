// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a system's totals are of values: its reductions row by row ([`reduce`]), and what is made of them.

use crate::checked::System;
use crate::evaluate::{Evaluator, NoArrays, PlainF64};
use crate::expression::{Array, Node};
use problem::Region;

mod rows;

pub use rows::reduce;

impl System {
    /// The names of its totals.
    pub fn totals(&self) -> impl ExactSizeIterator<Item = &str> {
        self.totals.names.iter().map(String::as_str)
    }

    /// What its totals are after so many steps, of the values of its reductions.
    pub(super) fn totals_of(&self, reduced: &[f64], step: usize) -> Vec<f64> {
        let evaluator = Evaluator::new(self, PlainF64, &NoArrays, step as f64).with_totals(reduced);
        self.totals.values.iter().map(|node| evaluator.at(node, [0; 3])).collect()
    }

    /// Whether the condition at which a run has come to its end holds after so many steps, if there is one.
    pub(super) fn has_ended(&self, reduced: &[f64], step: usize) -> bool {
        let evaluator = Evaluator::new(self, PlainF64, &NoArrays, step as f64).with_totals(reduced);
        self.end.as_ref().is_some_and(|end| evaluator.at(end, [0; 3]) != 0.0)
    }

    /// Whether an equation or a source is made of totals, so that each step waits for all points of the one before.
    #[must_use]
    pub(super) fn waits_for_totals(&self) -> bool {
        let mut waits = false;
        let mut see = |node: &Node| waits |= matches!(node, Node::Total(_));
        self.visit(&mut see);
        self.sources.iter().for_each(|source| source.add.visit(&mut see));
        waits
    }

    /// That no step waits for all points of the one before, so that several can be taken at once.
    ///
    /// # Errors
    /// One does.
    pub(super) fn check_waits_for_no_total(&self) -> Result<(), String> {
        match self.waits_for_totals() {
            true => Err("each step waits for totals of the one before".into()),
            false => Ok(()),
        }
    }

    /// How far equations and totals read of arrays that are chosen, along each axis.
    pub(super) fn reads_around(&self, chosen: impl Fn(Array) -> bool) -> [usize; 3] {
        let [step, total] = [&self.program, &self.totals.program].map(|it| it.reach(&chosen));
        std::array::from_fn(|axis| step[axis].max(total[axis]))
    }

    /// All its points.
    pub(super) fn whole(&self) -> Region {
        Region::whole(self.shape)
    }
}
