// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a filter is computed in.

use problem::boundary::Side;

use super::values::Value;
use super::{Filter, Stage};

/// The largest whole numbers up to which all are held by f32 and f64.
const SINGLE: f64 = 16_777_216.0;
const DOUBLE: f64 = 9_007_199_254_740_992.0;
/// Weights are looked at for whole multiples of 2 to the power of minus this.
const MOST_DIGITS: i32 = 24;

/// A type of sums, and their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// f32.
    Single,
    /// f64.
    Double,
    /// f64 in the order of scipy: what is cut off depends on the last bit.
    Ordered,
}

impl Precision {
    /// Of a filter that reads and writes these types. Results are whole numbers if `O` is: then those of scipy.
    pub fn of<I: Value, O: Value>(filter: &Filter) -> Self {
        let Some(largest) = O::LARGEST else {
            let is_single = size_of::<O>() <= 4
                && match I::LARGEST {
                    Some(largest) => largest <= SINGLE,
                    None => size_of::<I>() <= 4,
                };
            return if is_single { Self::Single } else { Self::Double };
        };
        let Some(read) = I::LARGEST else { return Self::Ordered };
        let Some(outside) = outside(filter) else { return Self::Ordered };
        let mut values = read.max(outside);
        let mut sums: f64 = 0.0;
        for stage in &filter.stages {
            match largest_sum(stage, values) {
                Some(sum) => sums = sums.max(sum),
                None => return Self::Ordered,
            }
            values = largest.max(outside);
        }
        match sums {
            _ if sums < SINGLE => Self::Single,
            _ if sums < DOUBLE => Self::Double,
            _ => Self::Ordered,
        }
    }
}

/// The largest magnitude of constants around the array; none if one is not a whole number.
fn outside(filter: &Filter) -> Option<f64> {
    filter.sides.iter().try_fold(0.0f64, |largest, side| match side {
        Side::Constant(value) if value.fract() != 0.0 || !value.is_finite() => None,
        Side::Constant(value) => Some(largest.max(value.abs())),
        _ => Some(largest),
    })
}

/// The largest magnitude of a sum of whole numbers, in units of the last digit of its terms; none if the weights have too many digits.
fn largest_sum(stage: &Stage, values: f64) -> Option<f64> {
    let is_whole = |unit: f64| stage.terms.iter().all(|it| (it.weight * unit).fract() == 0.0);
    let unit = (0..=MOST_DIGITS).map(|digits| 2f64.powi(digits)).find(|unit| is_whole(*unit))?;
    // Each partial sum, too, is within this.
    Some(stage.terms.iter().map(|it| (it.weight * unit).abs()).sum::<f64>() * values)
}
