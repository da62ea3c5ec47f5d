// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sums of many f64 in two numbers, so that the order in which they are added does not show.
//!
//! A sum is kept as a high and a low part, after Dekker, "A floating-point technique for extending the available precision"
//! (1971), and Knuth's exact sum of two numbers. What is lost is about n·2⁻¹⁰⁵ of the sum of all magnitudes: far below the
//! last digit of an f64, unless they cancel that far.

use crate::expression::Fold;

/// A sum in two parts, of which the second is what rounding the first has lost; or the smallest or largest value, and 0.
pub type Partial = [f64; 2];

/// A reduction of no points.
#[must_use]
pub fn nothing(fold: Fold) -> Partial {
    [fold.nothing(), 0.0]
}

/// a + b in two parts.
#[inline(always)]
fn two(a: f64, b: f64) -> Partial {
    let sum = a + b;
    let of_b = sum - a;
    [sum, (a - (sum - of_b)) + (b - of_b)]
}

/// A reduction of the points of two parts.
#[must_use]
#[inline(always)]
pub fn both(fold: Fold, a: Partial, b: Partial) -> Partial {
    match fold {
        Fold::Sum => {
            let [high, lost] = two(a[0], b[0]);
            [high, a[1] + b[1] + lost]
        }
        Fold::Min => [a[0].min(b[0]), 0.0],
        Fold::Max => [a[0].max(b[0]), 0.0],
    }
}

/// What it is as one number; none of no points, of which nothing is the smallest or the largest.
#[must_use]
pub fn value(fold: Fold, [high, low]: Partial) -> f64 {
    match fold {
        // Of an infinite sum what is lost is no number.
        Fold::Sum if high.is_finite() => high + low,
        Fold::Sum => high,
        Fold::Min | Fold::Max if high == fold.nothing() => f64::NAN,
        Fold::Min | Fold::Max => high,
    }
}

/// Partial results of values that are added side by side, as many as processors compute at once.
const LANES: usize = 8;

/// A reduction of values that come in blocks.
#[derive(Clone, Copy, Debug)]
pub struct Accumulator {
    fold: Fold,
    high: [f64; LANES],
    low: [f64; LANES],
}

impl Accumulator {
    /// One without values.
    #[must_use]
    pub fn new(fold: Fold) -> Self {
        Self { fold, high: [fold.nothing(); LANES], low: [0.0; LANES] }
    }

    /// Takes more values.
    pub fn take(&mut self, values: &[f64]) {
        let (blocks, rest) = values.as_chunks::<LANES>();
        match self.fold {
            Fold::Sum => {
                for block in blocks {
                    let lanes = self.high.iter_mut().zip(&mut self.low).zip(block);
                    for ((high, low), value) in lanes {
                        let [sum, lost] = two(*high, *value);
                        *high = sum;
                        *low += lost;
                    }
                }
            }
            Fold::Min => blocks.iter().for_each(|block| {
                (0..LANES).for_each(|lane| self.high[lane] = self.high[lane].min(block[lane]));
            }),
            Fold::Max => blocks.iter().for_each(|block| {
                (0..LANES).for_each(|lane| self.high[lane] = self.high[lane].max(block[lane]));
            }),
        }
        for (lane, value) in rest.iter().enumerate() {
            let one = both(self.fold, [self.high[lane], self.low[lane]], [*value, 0.0]);
            [self.high[lane], self.low[lane]] = one;
        }
    }

    /// What they make.
    #[must_use]
    pub fn partial(&self) -> Partial {
        let lanes = self.high.into_iter().zip(self.low).map(|(high, low)| [high, low]);
        lanes.fold(nothing(self.fold), |a, b| both(self.fold, a, b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(values: &[f64]) -> f64 {
        let mut all = Accumulator::new(Fold::Sum);
        all.take(values);
        value(Fold::Sum, all.partial())
    }

    #[test]
    fn the_order_of_a_sum_does_not_show() {
        let mut values: Vec<f64> =
            (0..10_001).map(|i| (f64::from(i) * 0.7).sin() * 10f64.powi(i % 17 - 8)).collect();
        let forwards = sum(&values);
        values.reverse();
        let backwards = sum(&values);
        let parts: Vec<Partial> = values
            .chunks(777)
            .map(|part| {
                let mut all = Accumulator::new(Fold::Sum);
                all.take(part);
                all.partial()
            })
            .collect();
        let in_parts = parts.into_iter().fold([0.0; 2], |a, b| both(Fold::Sum, a, b));
        assert_eq!(forwards, backwards);
        assert_eq!(forwards, value(Fold::Sum, in_parts));
        // In plain f64 it would.
        assert_ne!(values.iter().sum::<f64>(), values.iter().rev().sum::<f64>());
    }

    #[test]
    fn what_cancels_is_kept() {
        assert_eq!(sum(&[1e16, 1.0, -1e16]), 1.0);
        assert_eq!(sum(&[f64::INFINITY, 1.0]), f64::INFINITY);
        assert!(sum(&[f64::NAN, 1.0]).is_nan());
        assert_eq!(sum(&[]), 0.0);
    }

    #[test]
    fn the_smallest_and_the_largest() {
        let values: Vec<f64> = (0..100).map(|i| f64::from((i * 37) % 100)).collect();
        for (fold, wanted) in [(Fold::Min, 0.0), (Fold::Max, 99.0)] {
            let mut all = Accumulator::new(fold);
            all.take(&values);
            assert_eq!(all.partial(), [wanted, 0.0]);
        }
    }
}
