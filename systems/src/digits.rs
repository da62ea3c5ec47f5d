// SPDX-License-Identifier: MIT OR Apache-2.0
//! What rounding leaves of a field in a step.

use problem::Dtype;

/// Sums over the values of a field that are compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Digits {
    /// The largest absolute value, before the step or after it.
    largest: f64,
    /// The largest error.
    error: f64,
    /// Of squares of exact values.
    exact2: f64,
    /// Of squares of exact changes.
    change2: f64,
    /// Of products of errors and changes.
    against: f64,
}

impl Digits {
    /// Takes a value before the step, the exact one after it, and the one that was computed.
    pub fn add(&mut self, before: f64, exact: f64, found: f64) {
        let (error, change) = (found - exact, exact - before);
        self.largest = self.largest.max(exact.abs()).max(before.abs());
        self.error = self.error.max(error.abs());
        self.exact2 += exact * exact;
        self.change2 += change * change;
        self.against += error * change;
    }

    /// The largest absolute value.
    #[must_use]
    pub fn largest(&self) -> f64 {
        self.largest
    }

    /// The part of the largest value by which one is off; 0 where the type cannot tell that from 0, beside its own smallest
    /// numbers or beside the largest value of all fields: a velocity that is 0 but for rounding has no digits to lose.
    #[must_use]
    pub fn lost(&self, dtype: Dtype, of_all: f64) -> f64 {
        /// Roundings of the largest value that make nothing of a value.
        const NOTHING: f64 = 16.0;
        // Twice the smallest number or so, and half the distance from 1 to the next number.
        let (floor, unit): (f64, f64) = match dtype {
            Dtype::F16 => (2f64.powi(-23), 2f64.powi(-11)),
            Dtype::Bf16 => (2f64.powi(-132), 2f64.powi(-8)),
            Dtype::Tf32 | Dtype::F32 => (2f64.powi(-148), 2f64.powi(-24)),
            Dtype::F64 => (f64::MIN_POSITIVE, 2f64.powi(-53)),
        };
        let rounding = NOTHING * unit * of_all;
        if self.error <= floor.max(rounding) { 0.0 } else { self.error / self.largest }
    }

    /// The part of the values by which rounding kept the field from changing, in the 2-norm, where that is more than half
    /// of the change: errors that go against the change do not cancel each other from step to step, as random ones do.
    #[must_use]
    pub fn stalled(&self) -> f64 {
        let part = -self.against / self.change2;
        if part > 0.5 && self.exact2 > 0.0 {
            part * (self.change2 / self.exact2).sqrt()
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digits(values: &[(f64, f64, f64)]) -> Digits {
        let mut digits = Digits::default();
        values.iter().for_each(|&(before, exact, found)| digits.add(before, exact, found));
        digits
    }

    #[test]
    fn a_field_that_stands_still_is_stalled_by_its_change() {
        let still = digits(&[(1.0, 1.001, 1.0), (-1.0, -0.999, -1.0)]);
        assert!((still.stalled() - 1e-3).abs() < 1e-5, "{still:?}");
        // Errors that have nothing to do with the change, as large as it.
        let random = digits(&[(1.0, 1.001, 1.002), (-1.0, -0.999, -1.0)]);
        assert_eq!(random.stalled(), 0.0);
        assert_eq!(digits(&[(1.0, 1.1, 1.1001), (1.0, 0.9, 0.9)]).stalled(), 0.0);
        // Nothing that should change.
        assert_eq!(digits(&[(1.0, 1.0, 1.0)]).stalled(), 0.0);
        assert_eq!(digits(&[(0.0, 0.0, 0.0)]).stalled(), 0.0);
    }

    #[test]
    fn an_error_counts_beside_the_largest_value() {
        let of = |error: f64| digits(&[(0.0, 2.0, 2.0), (1.0, 1e-3, 1e-3 + error)]);
        assert!((of(0.1).lost(Dtype::F16, 2.0) - 0.05).abs() < 1e-12);
        assert_eq!(of(0.0).lost(Dtype::F64, 2.0), 0.0);
        let tiny = digits(&[(0.0, 1e-8, 0.0)]);
        // Beside a field of 1 an error of 1e-8 is one of its roundings in f32, but not in f64.
        assert_eq!((tiny.lost(Dtype::F32, 1.0), tiny.lost(Dtype::F64, 1.0)), (0.0, 1.0));
        assert_eq!((tiny.lost(Dtype::F16, 1e-8), tiny.lost(Dtype::F32, 1e-8)), (0.0, 1.0));
    }
}
