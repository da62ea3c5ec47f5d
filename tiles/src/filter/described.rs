// SPDX-License-Identifier: MIT OR Apache-2.0
//! A filter as plain values, for those who compute it elsewhere.

use transform::Tap;

use super::ordered::{OrderedProduct, products};
use super::precision::{Precision, SumOrder};
use super::weights::rounded;
use super::{Filter, Stage, Value};

/// What a filter is computed in, and its sums.
#[derive(Clone, Debug)]
pub struct Described {
    /// f32; else f64.
    pub is_single: bool,
    /// The sums, one after the other.
    pub stages: Vec<Summed>,
}

/// A sum, divided.
#[derive(Clone, Debug)]
pub struct Summed {
    /// Its terms.
    pub terms: Terms,
    /// What it is divided by.
    pub divisor: f64,
}

/// The terms of a sum. Offsets along x are in points.
#[derive(Clone, Debug)]
pub enum Terms {
    /// In any order.
    Any(Vec<Tap>),
    /// In this order, each product rounded by itself.
    Ordered(Vec<OrderedProduct>),
}

impl Filter {
    /// How arrays of one type become such of another.
    #[must_use]
    pub fn described<I: Value, O: Value>(&self) -> Described {
        self.described_in(Precision::of::<I, O>(self), O::LARGEST.is_some())
    }

    fn described_in(&self, precision: Precision, is_whole: bool) -> Described {
        let (is_single, is_ordered) = match precision {
            Precision::Short | Precision::Single(SumOrder::Any) => (true, false),
            Precision::Double(SumOrder::Any) => (false, false),
            // What decides in which order is not looked at point by point there.
            _ => (false, true),
        };
        let stages = self.stages.iter().map(|stage| {
            let Stage { mut terms, is_line, divisor } = stage.clone();
            // Where results are no whole numbers, weights are divided, not sums.
            let kept = if is_whole { divisor } else { 1.0 };
            for term in &mut terms {
                term.weight *= kept / divisor;
                term.offset[2] *= self.step as i32;
            }
            let terms = match (is_ordered, is_single) {
                (true, _) => Terms::Ordered(products(&terms, is_line)),
                (false, true) => Terms::Any(rounded::<f32>(&terms)),
                (false, false) => Terms::Any(rounded::<f64>(&terms)),
            };
            Summed { terms, divisor: kept }
        });
        Described { is_single, stages: stages.collect() }
    }
}
