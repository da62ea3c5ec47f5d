// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a filter is computed in.

use problem::boundary::Side;

use super::number::Float;
use super::values::{CUT_SINGLE, Value};
use super::weights::bound;
use super::{Filter, Stage};

/// The largest whole numbers up to which all are held by f32 and f64.
const SINGLE: f64 = 16_777_216.0;
const DOUBLE: f64 = 9_007_199_254_740_992.0;
/// The largest sum of the type u16.
const SHORT: f64 = 32_767.0;
/// Weights are looked at for whole multiples of 2 to the power of minus this.
const MOST_DIGITS: i32 = 24;

/// The most that the order of sums may change them by, if they are computed in any: more of them would be computed again than is
/// won.
const MOST_OFF: f64 = 1.0 / 256.0;

/// A type of sums, and their order.
#[derive(Clone, Debug, PartialEq)]
pub enum Precision {
    /// u16: means of bytes.
    Short,
    /// f32.
    Single(SumOrder),
    /// f64.
    Double(SumOrder),
}

/// The order in which the terms of sums are added.
#[derive(Clone, Debug, PartialEq)]
pub enum SumOrder {
    /// Any: sums are exact, or are not cut.
    Any,
    /// Any, but scipy's where that may decide what is cut off. For each stage the most that the order changes a sum by.
    Checked(Vec<f64>),
    /// The order of scipy.
    Scipy,
}

impl Precision {
    /// Of a filter that reads and writes these types. Results are whole numbers if `O` is: then those of scipy.
    pub fn of<I: Value, O: Value>(filter: &Filter) -> Self {
        Self::between(filter, Numbers::of::<I>(), Numbers::of::<O>())
    }

    fn between(filter: &Filter, from: Numbers, to: Numbers) -> Self {
        let Some(largest) = to.largest else {
            let is_single = to.bytes <= 4
                && match from.largest {
                    Some(largest) => largest <= SINGLE,
                    None => from.bytes <= 4,
                };
            return if is_single {
                Self::Single(SumOrder::Any)
            } else {
                Self::Double(SumOrder::Any)
            };
        };
        let (Some(read), Some(outside)) = (from.largest, outside(filter)) else {
            return Self::Double(SumOrder::Scipy);
        };
        let range = |largest: f64, is_signed: bool| Range {
            low: if is_signed { -largest } else { 0.0 },
            high: largest,
        };
        let (read, held) = (range(read, from.is_signed), range(largest, to.is_signed));
        let sizes = Sizes::of(filter, read, held, outside);
        let is_single = sizes.read <= SINGLE && sizes.results < CUT_SINGLE;
        let is_bytes = from.bytes == 1 && to.bytes == 1 && sizes.low >= 0.0;
        let is_mean = filter.stages.iter().all(Stage::is_mean);
        if is_bytes
            && !from.is_signed
            && !to.is_signed
            && is_mean
            && sizes.exact.is_some_and(|it| it <= SHORT)
        {
            return Self::Short;
        }
        match sizes.exact {
            Some(sums) if sums < SINGLE && is_single => return Self::Single(SumOrder::Any),
            Some(sums) if sums < DOUBLE => return Self::Double(SumOrder::Any),
            _ => {}
        }
        if is_single && let Some(bounds) = bounds::<f32>(filter, &sizes) {
            return Self::Single(SumOrder::Checked(bounds));
        }
        if sizes.read <= DOUBLE
            && let Some(bounds) = bounds::<f64>(filter, &sizes)
        {
            return Self::Double(SumOrder::Checked(bounds));
        }
        Self::Double(SumOrder::Scipy)
    }
}

/// The most that the order changes the sum of each stage by; none if that is too much.
fn bounds<C: Float>(filter: &Filter, sizes: &Sizes) -> Option<Vec<f64>> {
    let stages = filter.stages.iter().zip(&sizes.values);
    let bounds: Vec<f64> =
        stages.clone().map(|(stage, values)| bound::<C>(stage, *values)).collect();
    let is_checked = |(stage, bound): (&Stage, &f64)| *bound <= MOST_OFF && stage.divisor == 1.0;
    filter.stages.iter().zip(&bounds).all(is_checked).then_some(bounds)
}

/// What the numbers of a type are.
#[derive(Clone, Copy)]
struct Numbers {
    /// See [`Value::LARGEST`].
    largest: Option<f64>,
    bytes: usize,
    is_signed: bool,
}

impl Numbers {
    fn of<V: Value>() -> Self {
        let is_signed = V::cut(-1.0).widen() < 0.0;
        Self { largest: V::LARGEST, bytes: size_of::<V>(), is_signed }
    }
}

/// The numbers from one to another.
#[derive(Clone, Copy)]
struct Range {
    low: f64,
    high: f64,
}

impl Range {
    fn with(self, others: Self) -> Self {
        Self { low: self.low.min(others.low), high: self.high.max(others.high) }
    }

    fn magnitude(self) -> f64 {
        self.high.max(-self.low)
    }

    /// Of weighted sums of these numbers.
    fn summed(self, stage: &Stage) -> Self {
        let sum = |up: f64, down: f64| -> f64 {
            let product = |weight: f64| weight * if weight > 0.0 { up } else { down };
            stage.terms.iter().map(|term| product(term.weight)).sum::<f64>() / stage.divisor
        };
        // A little more for what is rounded.
        let [low, high] = [sum(self.low, self.high), sum(self.high, self.low)];
        let more = 1e-9 * (low.abs() + high.abs());
        Self { low: low - more, high: high + more }
    }
}

/// How large the numbers of a filter get.
struct Sizes {
    /// The largest magnitude that each stage reads.
    values: Vec<f64>,
    /// And of all of them; their least, and the largest magnitude of a result.
    read: f64,
    low: f64,
    results: f64,
    /// Of sums in units of the last digit of their terms; none if weights have too many digits.
    exact: Option<f64>,
}

impl Sizes {
    /// Of a filter of an array of numbers `read`. Between stages it is of a type that holds numbers `held`; `outside` are constants.
    fn of(filter: &Filter, read: Range, held: Range, outside: Range) -> Self {
        let mut now = read.with(outside);
        let mut sizes =
            Self { values: Vec::new(), read: 0.0, low: 0.0, results: 0.0, exact: Some(0.0) };
        for stage in &filter.stages {
            let (values, sums) = (now.magnitude(), now.summed(stage));
            sizes.values.push(values);
            sizes.read = sizes.read.max(values);
            sizes.low = sizes.low.min(now.low);
            sizes.results = sizes.results.max(sums.magnitude());
            let exact = sizes.exact.zip(largest_sum(stage, values));
            sizes.exact = exact.map(|(others, it)| others.max(it));
            let cut = Range { low: sums.low.trunc(), high: sums.high.trunc() };
            // What is beyond the type becomes any number of it.
            let is_held = held.low <= cut.low && cut.high <= held.high;
            now = if is_held { cut } else { held }.with(outside);
        }
        sizes
    }
}

/// The constants around the array; none if one is not a whole number.
fn outside(filter: &Filter) -> Option<Range> {
    let none = Range { low: 0.0, high: 0.0 };
    filter.sides.iter().try_fold(none, |others, side| match *side {
        Side::Constant(value) if value.fract() != 0.0 || !value.is_finite() => None,
        Side::Constant(value) => Some(others.with(Range { low: value, high: value })),
        _ => Some(others),
    })
}

/// The largest magnitude of a sum of whole numbers, in units of the last digit of its terms; none if the weights have too many digits.
fn largest_sum(stage: &Stage, values: f64) -> Option<f64> {
    let is_whole = |unit: f64| stage.terms.iter().all(|it| (it.weight * unit).fract() == 0.0);
    let unit = (0..=MOST_DIGITS).map(|digits| 2f64.powi(digits)).find(|unit| is_whole(*unit))?;
    // Each partial sum, too, is within this.
    Some(stage.terms.iter().map(|it| (it.weight * unit).abs()).sum::<f64>() * values)
}
