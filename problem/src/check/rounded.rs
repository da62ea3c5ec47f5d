// SPDX-License-Identifier: MIT OR Apache-2.0
//! Coefficients that their type cannot hold: below its smallest numbers they become 0, or keep few of their digits.

use serde::Serialize;

use crate::{Dtype, Shape};

/// The part of a value from which on its type does not hold it.
const MOST: f64 = 0.01;

/// A value of a coefficient, and what became of it as it was stored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RoundedCoefficient {
    /// The coefficient.
    pub name: String,
    /// The point, and its axes.
    pub position: String,
    /// The value that was given there.
    pub given: f64,
    /// The value that is computed with.
    pub stored: f64,
    /// The type that made it so.
    pub dtype: String,
    /// By how much values of this coefficient are off at most, as a part of the largest one.
    pub part: f64,
}

/// What storing values made of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Losses {
    /// The largest absolute value.
    largest: f64,
    /// The largest difference.
    off: f64,
    /// Of those that are off by a hundredth of themselves the largest one: its place in C order, it, and what is stored.
    worst: Option<(usize, f64, f64)>,
}

impl Losses {
    /// The losses of one value.
    #[must_use]
    pub fn of(index: usize, given: f64, stored: f64) -> Self {
        let off = (given - stored).abs();
        let worst = (off > MOST * given.abs()).then_some((index, given, stored));
        Self { largest: given.abs(), off, worst }
    }

    /// The losses of two runs of values together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let size =
            |worst: Option<(usize, f64, f64)>| worst.map_or(-1.0, |(_, given, _)| given.abs());
        let worst = if size(other.worst) > size(self.worst) { other.worst } else { self.worst };
        Self { largest: self.largest.max(other.largest), off: self.off.max(other.off), worst }
    }

    /// What is to be told of a coefficient, if something is: values that are nothing beside its largest one may be lost.
    #[must_use]
    pub fn told(self, name: &str, shape: Shape, dtype: Dtype) -> Option<RoundedCoefficient> {
        /// The part of the largest value below which a value is nothing.
        const NOTHING: f64 = 1e-12;
        let (index, given, stored) = self.worst?;
        (given.abs() > NOTHING * self.largest).then(|| RoundedCoefficient {
            name: name.to_owned(),
            position: shape.position(index),
            given,
            stored,
            dtype: dtype.to_string(),
            part: self.off / self.largest,
        })
    }
}

impl RoundedCoefficient {
    /// Whether what is computed is another problem than the one that was given.
    #[must_use]
    pub fn is_another(&self) -> bool {
        self.part > MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(values: &[f64], dtype: Dtype) -> Option<RoundedCoefficient> {
        let losses = values.iter().enumerate();
        let losses = losses.map(|(index, value)| Losses::of(index, *value, dtype.round(*value)));
        let losses = losses.fold(Losses::default(), Losses::and);
        losses.told("k", Shape::new(&[values.len()]).unwrap(), dtype)
    }

    #[test]
    fn what_a_type_makes_nothing_of_is_told() {
        for (value, dtype, is_told) in [
            (2e-8, Dtype::F16, true),
            // Subnormal: 1.0e-7 becomes 1.2e-7.
            (1e-7, Dtype::F16, true),
            (1e-3, Dtype::F16, false),
            (0.1, Dtype::F16, false),
            (2e-8, Dtype::Bf16, false),
            (0.1, Dtype::Bf16, false),
            (1e-41, Dtype::Bf16, true),
            (2e-8, Dtype::F32, false),
            (1e-46, Dtype::F32, true),
            (1e-46, Dtype::F64, false),
            (0.0, Dtype::F16, false),
        ] {
            let found = told(&[value; 3], dtype);
            assert_eq!(found.is_some(), is_told, "{value} in {dtype}: {found:?}");
            let Some(found) = found else { continue };
            assert_eq!((found.given, found.position.as_str()), (value, "(x) = (0)"));
            assert!(found.is_another() && found.stored == dtype.round(value), "{found:?}");
        }
    }

    #[test]
    fn small_values_beside_large_ones_are_told_but_make_no_other_problem() {
        let found = told(&[1.0, 1e-20, 2e-8, 1e-8], Dtype::F16).unwrap();
        assert_eq!((found.given, found.position.as_str()), (2e-8, "(x) = (2)"));
        assert!(!found.is_another());
        // The tail of a bell in f32.
        assert_eq!(told(&[1.0, 1e-60], Dtype::F32), None);
    }
}
