// SPDX-License-Identifier: MIT OR Apache-2.0
//! What rounding can make of a value: intervals that hold the result of every engine that rounds each operation
//! to the nearest number of its type, or leaves roundings out.
//!
//! **Rule.** The interval of an operation holds f(x) (1 + δ) + ε for all x of its arguments' intervals, with
//! |δ| ≤ u and |ε| ≤ η: u is the unit roundoff of the type that the engine computes in, η its smallest number. The
//! ends are computed in f64, and moved out by what f64 may have lost. So it holds also what an engine gets that
//! computes a part exactly: with fused multiply-adds, or in a wider type, rounded once at its end.
//! - A sum of n products, in any order: n + 2 roundings, of weight, product and sums, of Σ|w||x|.
//! - exp, ln, sin, cos, tanh and powers: `FUNCTION` roundings.
//! - **What is exact stays exact**: operations on single numbers whose result the type holds have no width, so that
//!   counts of neighbours can be compared with whole numbers. A sum of products that are multiples of 2^q and
//!   together at most 2^q / u has no rounding in any order.
//! - Where a comparison can go either way, its value is the interval from 0 to 1, and `if` gives the hull of both.
//! - Where a value can be anything (a division by what can be 0, or beyond the type's largest number), the interval
//!   is all numbers, and so is that of everything that is computed of it.

use super::description::Table;
use super::evaluate::NumberKind;
use super::expression::{Function, Type};
use compute::engine::fft::solve::Solver;
use problem::Dtype;

/// Roundings that a function's own error is worth: those of C libraries are below one unit in the last place,
/// which is two roundings.
const FUNCTION: f64 = 4.0;

/// An interval of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// Any number.
const ANY: Interval = Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };

/// Arithmetic that rounds.
#[derive(Clone, Copy, Debug)]
pub struct Rounding {
    /// Half the distance from 1 to the next number.
    unit: f64,
    /// The smallest number above 0.
    least: f64,
    /// The largest number.
    most: f64,
    single: bool,
    sums: SumRounding,
    /// The unit roundoff of the numbers in which transforms of solves are made.
    transforms: f64,
    /// The type that values are stored in.
    stored: Dtype,
}

/// How an engine sums products with constant weights, where that is not one rounding after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SumRounding {
    /// Roundings of a sum besides.
    pub more: f64,
    /// Whether what no order of summation rounds is exact.
    pub is_exact: bool,
}

impl Default for SumRounding {
    fn default() -> Self {
        Self { more: 0.0, is_exact: true }
    }
}

impl Rounding {
    /// The rounding of an engine which computes with values of this type: in f64 for f64, else in f32.
    #[must_use]
    pub fn of(dtype: Dtype) -> Self {
        match dtype {
            Dtype::F64 => Self {
                unit: f64::EPSILON / 2.0,
                least: f64::from_bits(1),
                most: f64::MAX,
                single: false,
                sums: SumRounding::default(),
                transforms: f64::EPSILON / 2.0,
                stored: dtype,
            },
            _ => Self {
                unit: f64::from(f32::EPSILON) / 2.0,
                least: f64::from(f32::from_bits(1)),
                most: f64::from(f32::MAX),
                single: true,
                sums: SumRounding::default(),
                transforms: f64::EPSILON / 2.0,
                stored: dtype,
            },
        }
    }

    /// Sets how the engine rounds sums.
    #[must_use]
    pub fn with_sums(self, sums: SumRounding) -> Self {
        Self { sums, ..self }
    }

    /// It of an engine that makes transforms in numbers of this type.
    #[must_use]
    pub fn with_transforms(self, dtype: Dtype) -> Self {
        Self { transforms: Self::of(dtype).unit, ..self }
    }

    /// Whether the type holds a number.
    fn holds(&self, value: f64) -> bool {
        value.is_finite() && (!self.single || f64::from(value as f32) == value)
    }

    /// What so many roundings of a value of this magnitude can make of an interval.
    fn widen(&self, interval: Interval, roundings: f64, magnitude: f64) -> Interval {
        let known = magnitude <= self.most && !interval.low.is_nan() && !interval.high.is_nan();
        if !known {
            return ANY;
        }
        // A little more: the powers of 1 + u, and what f64 loses here.
        let error =
            roundings * (1.001 * self.unit + f64::EPSILON) * magnitude + roundings * self.least;
        Interval { low: interval.low - error, high: interval.high + error }
    }

    /// One rounding, or as many as a function may take.
    fn rounded(&self, interval: Interval, roundings: f64) -> Interval {
        let magnitude = interval.low.abs().max(interval.high.abs());
        self.widen(interval, roundings, magnitude)
    }
}

impl Interval {
    /// One number.
    #[must_use]
    pub fn point(value: f64) -> Self {
        Self { low: value, high: value }
    }

    fn is_point(self) -> bool {
        self.low == self.high
    }

    fn hull(values: &[f64]) -> Self {
        if values.iter().any(|value| value.is_nan()) {
            return ANY;
        }
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Self { low, high }
    }

    fn map(self, f: impl Fn(f64) -> f64) -> Self {
        Self::hull(&[f(self.low), f(self.high)])
    }

    fn pairs(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        let Self { low, high } = other;
        Self::hull(&[f(self.low, low), f(self.low, high), f(self.high, low), f(self.high, high)])
    }
}

impl NumberKind for Rounding {
    type Number = Interval;

    fn number(&self, value: f64) -> Interval {
        let point = Interval::point(value);
        if self.holds(value) { point } else { self.rounded(point, 2.0) }
    }

    fn stored(&self, value: f64) -> Interval {
        if value.is_finite() { Interval::point(value) } else { ANY }
    }

    /// An engine has the one; the result is held to what the other would have made.
    fn kept(&self, given: f64, stored: f64) -> Interval {
        Interval::hull(&[given, stored])
    }

    /// Rounding keeps the order.
    fn computed(&self, value: Interval) -> Interval {
        let Interval { low, high } = value;
        Interval { low: low.min(self.stored.round(low)), high: high.max(self.stored.round(high)) }
    }

    fn call(&self, function: Function, arguments: &[Interval]) -> Interval {
        let chooses = function.gives() == Type::Condition || function == Function::If;
        if !chooses && arguments.iter().any(|it| it.low.is_infinite() || it.high.is_infinite()) {
            return ANY;
        }
        let a = arguments[0];
        let b = || arguments[1];
        let exact = |value: Interval, is_exact: fn(f64, f64, f64) -> bool| {
            let one = a.is_point() && b().is_point() && self.holds(value.low);
            let exact = one && is_exact(a.low, b().low, value.low);
            if exact { value } else { self.rounded(value, 1.0) }
        };
        match function {
            Function::Negate => Interval { low: -a.high, high: -a.low },
            Function::Abs if a.low >= 0.0 => a,
            Function::Abs if a.high <= 0.0 => Interval { low: -a.high, high: -a.low },
            Function::Abs => Interval { low: 0.0, high: a.high.max(-a.low) },
            Function::Add => {
                exact(Interval { low: a.low + b().low, high: a.high + b().high }, is_exact_sum)
            }
            Function::Subtract => {
                let sum = Interval { low: a.low - b().high, high: a.high - b().low };
                exact(sum, |a, b, sum| is_exact_sum(a, -b, sum))
            }
            Function::Multiply => {
                exact(a.pairs(b(), |a, b| a * b), |a, b, product| a.mul_add(b, -product) == 0.0)
            }
            Function::Divide if b().low <= 0.0 && b().high >= 0.0 => ANY,
            Function::Divide => exact(a.pairs(b(), |a, b| a / b), |a, b, quotient| {
                quotient.mul_add(b, -a) == 0.0 && quotient.abs() > f64::MIN_POSITIVE
            }),
            Function::Sqrt if a.low < 0.0 => ANY,
            Function::Sqrt => self.rounded(a.map(f64::sqrt), 1.0),
            Function::Exp => self.rounded(a.map(f64::exp), FUNCTION),
            Function::Ln if a.low <= 0.0 => ANY,
            Function::Ln => self.rounded(a.map(f64::ln), FUNCTION),
            Function::Tanh => self.rounded(a.map(f64::tanh), FUNCTION),
            Function::Sin => self.wave(a, f64::sin),
            Function::Cos => self.wave(a, f64::cos),
            Function::Atan2 => self.angle(a, b()),
            Function::Floor => a.map(f64::floor),
            Function::Power => self.power(a, b()),
            Function::PowerOf(n) => self.whole_power(a, n),
            Function::Min | Function::And => {
                Interval { low: a.low.min(b().low), high: a.high.min(b().high) }
            }
            Function::Max | Function::Or => {
                Interval { low: a.low.max(b().low), high: a.high.max(b().high) }
            }
            Function::Less => truth(a.high < b().low, a.low >= b().high),
            Function::LessEqual => truth(a.high <= b().low, a.low > b().high),
            Function::Equal => {
                let same = a.is_point() && a == b();
                truth(same, a.high < b().low || b().high < a.low)
            }
            Function::Not => Interval { low: 1.0 - a.high, high: 1.0 - a.low },
            Function::If if a.high == 0.0 => arguments[2],
            Function::If if a.low == 1.0 => b(),
            Function::If => Interval {
                low: b().low.min(arguments[2].low),
                high: b().high.max(arguments[2].high),
            },
        }
    }

    fn sum(&self, parts: &[(f64, Interval)]) -> Interval {
        let (mut low, mut high, mut magnitude) = (0.0, 0.0, 0.0);
        for (weight, value) in parts {
            let [a, b] = [weight * value.low, weight * value.high];
            low += a.min(b);
            high += a.max(b);
            magnitude += a.abs().max(b.abs());
        }
        let sum = Interval { low, high };
        if self.sums.is_exact && self.is_exact(parts, magnitude) {
            return sum;
        }
        self.widen(sum, parts.len() as f64 + 2.0 + self.sums.more, magnitude)
    }

    fn table(&self, table: &Table, argument: Interval) -> Interval {
        let inside = |at: &&f64| argument.low < **at && **at < argument.high;
        let knots = table.arguments.iter().filter(inside).map(|at| table.at(*at));
        let ends = [table.at(argument.low), table.at(argument.high)];
        let values: Vec<f64> = ends.into_iter().chain(knots).collect();
        self.rounded(Interval::hull(&values), 2.0)
    }

    fn solved(&self, solver: &Solver, right: Vec<Interval>) -> Vec<Interval> {
        let largest = |it: &Interval| it.low.abs().max(it.high.abs());
        if !right.iter().all(|it| largest(it).is_finite()) {
            return vec![ANY; right.len()];
        }
        let middle: Vec<f64> = right.iter().map(|it| it.low.midpoint(it.high)).collect();
        let norm = |of: &dyn Fn(&Interval) -> f64| {
            right.iter().map(|it| of(it).powi(2)).sum::<f64>().sqrt()
        };
        let off = norm(&|it| 0.5 * (it.high - it.low));
        let off = solver.off(norm(&largest), off, self.transforms);
        let around = |(point, value): (usize, f64)| {
            let off = off + solver.off_by_adding(point, value, self.transforms);
            Interval { low: value - off, high: value + off }
        };
        solver.solution(&middle).into_iter().enumerate().map(around).collect()
    }
}

impl Rounding {
    /// Whether no order of summation rounds.
    fn is_exact(&self, parts: &[(f64, Interval)], magnitude: f64) -> bool {
        let mut least = f64::INFINITY;
        for (weight, value) in parts {
            let product = weight * value.low;
            let exact = weight.mul_add(value.low, -product) == 0.0;
            if !(value.is_point() && self.holds(*weight) && exact) {
                return false;
            }
            if product != 0.0 {
                least = least.min(lowest_bit(product));
            }
        }
        magnitude == 0.0 || magnitude / least <= 0.5 / self.unit
    }

    /// Sine or cosine: no steeper than 1.
    fn wave(&self, a: Interval, f: fn(f64) -> f64) -> Interval {
        let half = (a.high - a.low) / 2.0;
        let whole = Interval { low: -1.0, high: 1.0 };
        // Beyond, f64 itself knows little of the angle.
        if half.is_nan() || half >= 1.0 || a.high.abs().max(a.low.abs()) > 1e6 {
            return whole;
        }
        let middle = f(a.low + half);
        let error = half + 1e6 * f64::EPSILON * f64::EPSILON;
        let near = Interval { low: middle - error, high: middle + error };
        let near = self.widen(near, FUNCTION, 1.0);
        Interval { low: near.low.max(-1.0), high: near.high.min(1.0) }
    }

    /// Of points in a rectangle of y and x: the corners have the smallest and the largest angle, but where it has the point 0
    /// in it or a part of the axis behind that, at which angles leap.
    fn angle(&self, y: Interval, x: Interval) -> Interval {
        use std::f64::consts::PI;
        let leaps = y.low <= 0.0 && y.high >= 0.0 && x.low <= 0.0;
        let whole = Interval { low: -PI, high: PI };
        let angle = if leaps { whole } else { y.pairs(x, f64::atan2) };
        self.rounded(angle, FUNCTION)
    }

    fn power(&self, a: Interval, b: Interval) -> Interval {
        if a.low < 0.0 || (a.low == 0.0 && b.low <= 0.0) {
            return ANY;
        }
        self.rounded(a.pairs(b, f64::powf), FUNCTION)
    }

    /// By multiplications, and a division if it is negative.
    fn whole_power(&self, a: Interval, n: i32) -> Interval {
        let around_zero = a.low <= 0.0 && a.high >= 0.0;
        if n < 0 && around_zero {
            return ANY;
        }
        let mut power = a.map(|a| a.powi(n));
        if n % 2 == 0 && around_zero {
            power.low = 0.0;
        }
        let whole = |value: f64| value.fract() == 0.0 && value.abs() * self.unit <= 0.5;
        if n > 0 && a.is_point() && whole(a.low) && whole(power.low) {
            return power;
        }
        self.rounded(power, f64::from(n.abs()) + 2.0)
    }
}

/// 1, 0, or either.
fn truth(holds: bool, fails: bool) -> Interval {
    Interval { low: f64::from(u8::from(holds)), high: f64::from(u8::from(!fails)) }
}

/// Whether a sum in f64 has no rounding (Knuth's two-sum).
fn is_exact_sum(a: f64, b: f64, sum: f64) -> bool {
    let of_b = sum - a;
    let of_a = sum - of_b;
    (b - of_b) + (a - of_a) == 0.0
}

/// The value of the lowest bit of a number.
fn lowest_bit(value: f64) -> f64 {
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7ff).max(1) as i32 - 1075;
    let zeros = (bits & ((1 << 52) - 1)).trailing_zeros().min(52) as i32;
    2f64.powi(exponent + zeros)
}

#[cfg(test)]
mod widths;
