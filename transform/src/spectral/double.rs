// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of twice the digits of f64, as sums of two of them (double-double; Dekker 1971), some side by side so that
//! they become vectors. A product or a sum is off by at most 2⁻¹⁰² of it, a sum of opposite signs of its larger part.

use std::f64::consts::FRAC_PI_4;

/// So many numbers side by side, each `high + low` with `|low| ≤ 2⁻⁵³ |high|`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Double<const W: usize> {
    /// The numbers in f64.
    pub high: [f64; W],
    /// What f64 left out of them.
    pub low: [f64; W],
}

/// Below which a number counts as 0: what lies that far below others is slow to compute with, and its own digits
/// would be lost.
const FADED: f64 = 1e-150;

impl<const W: usize> Double<W> {
    /// 0.
    pub const ZERO: Self = Self { high: [0.0; W], low: [0.0; W] };

    /// One number in all places.
    #[must_use]
    #[inline(always)]
    pub fn splat(value: Double<1>) -> Self {
        Self { high: [value.high[0]; W], low: [value.low[0]; W] }
    }

    /// Numbers of f64.
    #[must_use]
    #[inline(always)]
    pub fn from_f64(value: f64) -> Self {
        Self { high: [value; W], low: [0.0; W] }
    }

    /// The sum.
    #[must_use]
    #[inline(always)]
    pub fn plus(self, other: Self) -> Self {
        let mut out = Self::ZERO;
        for w in 0..W {
            let (sum, rest) = two_sum(self.high[w], other.high[w]);
            let (low, lowest) = two_sum(self.low[w], other.low[w]);
            let (sum, rest) = quick_sum(sum, rest + low);
            (out.high[w], out.low[w]) = quick_sum(sum, rest + lowest);
        }
        out
    }

    /// The product.
    #[must_use]
    #[inline(always)]
    pub fn times(self, other: Self) -> Self {
        let mut out = Self::ZERO;
        for w in 0..W {
            let (a, b) = (self.high[w], other.high[w]);
            let product = a * b;
            let rest = a.mul_add(b, -product);
            let rest = self.low[w].mul_add(b, a.mul_add(other.low[w], rest));
            (out.high[w], out.low[w]) = quick_sum(product, rest);
        }
        out
    }

    /// The negative numbers.
    #[must_use]
    #[inline(always)]
    pub fn negative(self) -> Self {
        let mut out = self;
        for w in 0..W {
            (out.high[w], out.low[w]) = (-self.high[w], -self.low[w]);
        }
        out
    }

    /// The numbers, with 0 in place of those too small to count.
    #[must_use]
    #[inline(always)]
    pub fn without_faded(self) -> Self {
        let mut out = self;
        for w in 0..W {
            let is_there = self.high[w].abs() >= FADED || self.high[w].is_nan();
            out.high[w] = if is_there { self.high[w] } else { 0.0 };
            out.low[w] = if is_there { self.low[w] } else { 0.0 };
        }
        out
    }
}

impl Double<1> {
    /// A number of f64.
    #[must_use]
    pub fn new(value: f64) -> Self {
        Self::from_f64(value)
    }

    /// The quotient.
    #[must_use]
    pub fn over(self, other: Self) -> Self {
        let mut rest = self;
        let mut quotient = Self::ZERO;
        // Each digit is one of f64; the third one rounds.
        for _ in 0..3 {
            let digit = Self::new(rest.high[0] / other.high[0]);
            rest = rest.plus(other.times(digit).negative());
            quotient = quotient.plus(digit);
        }
        quotient
    }

    /// The nearest number of f64.
    #[must_use]
    pub fn value(self) -> f64 {
        self.high[0] + self.low[0]
    }

    /// The cosine and the sine of `2π · turn / turns`.
    #[must_use]
    pub fn turned(turn: usize, turns: usize) -> [Self; 2] {
        // In eighths of a turn and what is left, from the nearer end of the eighth.
        let (all, turns_of) = (8 * (turn % turns) as u128, turns as u128);
        let (eighth, left) = ((all / turns_of) as usize, (all % turns_of) as f64);
        let backwards = eighth % 2 == 1;
        let left = if backwards { turns as f64 - left } else { left };
        // π/4 · left / turns.
        let quarter = Self { high: [FRAC_PI_4], low: [FRAC_PI_4_LOW] };
        let angle = quarter.times(Self::new(left)).over(Self::new(turns as f64));
        let [cos, sin] = angle.small_cos_sin();
        let [cos, sin] = if matches!(eighth, 1 | 2 | 5 | 6) { [sin, cos] } else { [cos, sin] };
        // Signs by quarters of a turn.
        let cos = if (2..6).contains(&eighth) { cos.negative() } else { cos };
        [cos, if eighth >= 4 { sin.negative() } else { sin }]
    }

    /// Cosine and sine of an angle up to π/4, by their series.
    fn small_cos_sin(self) -> [Self; 2] {
        /// Terms of each: the first that is left out is below 10⁻³³.
        const TERMS: usize = 14;
        let square = self.times(self).negative();
        let [mut cos, mut sin] = [Self::ZERO; 2];
        let [mut of_cos, mut of_sin] = [Self::new(1.0), self];
        for term in 0..TERMS {
            (cos, sin) = (cos.plus(of_cos), sin.plus(of_sin));
            let next = 2.0 * term as f64;
            of_cos = of_cos.times(square).over(Self::new((next + 1.0) * (next + 2.0)));
            of_sin = of_sin.times(square).over(Self::new((next + 2.0) * (next + 3.0)));
        }
        [cos, sin]
    }
}

/// What f64 leaves out of π/4.
const FRAC_PI_4_LOW: f64 = 2.449_293_598_294_706_4e-16 / 8.0;

/// A sum, and what its rounding left out.
#[inline(always)]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// A sum, and what its rounding left out, where the first number is not the smaller one.
#[inline(always)]
fn quick_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    (sum, b - (sum - a))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    fn number(value: f64) -> Double<1> {
        Double::new(value)
    }

    fn size(value: Double<1>) -> f64 {
        value.value().abs()
    }

    #[test]
    fn digits_beyond_those_of_f64_are_kept() {
        let tenth = number(1.0).over(number(10.0));
        let one = (0..10).fold(Double::ZERO, |sum: Double<1>, _| sum.plus(tenth));
        assert!(size(one.plus(number(-1.0))) < 1e-31);
        let third = number(1.0).over(number(3.0));
        assert!(size(third.times(number(3.0)).plus(number(-1.0))) < 1e-31);
        assert_eq!(third.high[0], 1.0 / 3.0);
        // (1 + e)(1 − e) = 1 − e².
        let e = f64::powi(2.0, -40);
        let product = number(1.0 + e).times(number(1.0 - e)).plus(number(-1.0));
        assert_eq!(product.value(), -e * e);
    }

    #[test]
    fn roots_of_unity_are_right_to_all_digits() {
        for turns in [1, 2, 3, 7, 8, 12, 1000, 10_007, 65_536] {
            for turn in (0..turns).step_by(1 + turns / 50).chain([turns - 1]) {
                let [cos, sin] = Double::turned(turn, turns);
                let angle = TAU * turn as f64 / turns as f64;
                assert!((cos.value() - angle.cos()).abs() < 2e-15, "{turn}/{turns}");
                assert!((sin.value() - angle.sin()).abs() < 2e-15, "{turn}/{turns}");
                let one = cos.times(cos).plus(sin.times(sin)).plus(number(-1.0));
                assert!(size(one) < 1e-30, "{turn}/{turns}: {one:?}");
                // Twice the angle.
                let [twice, _] = Double::turned(2 * turn, turns);
                let found = cos.times(cos).plus(sin.times(sin).negative());
                assert!(size(found.plus(twice.negative())) < 1e-30, "{turn}/{turns}");
            }
        }
        // A third of a turn is half of −1, exactly as far as there are digits.
        let [cos, _] = Double::turned(1, 3);
        assert!(size(cos.plus(number(0.5))) < 1e-32);
    }

    #[test]
    fn what_has_faded_is_nothing() {
        let faded = number(1e-160).without_faded();
        assert_eq!(faded, Double::ZERO);
        assert_eq!(number(-1e-140).without_faded(), number(-1e-140));
        assert!(number(f64::NAN).without_faded().high[0].is_nan());
    }
}
