// SPDX-License-Identifier: MIT OR Apache-2.0
//! Grids to start from that need no file.

use std::str::FromStr;

use rayon::prelude::*;

use crate::values::Element;
use crate::{Dtype, Error, Grid, Shape, with_dtype};

/// What a grid begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Start {
    /// Random values in [0, 1).
    #[default]
    Random,
    /// This everywhere.
    Constant(f64),
    /// A bell in the middle: 1 there, and e^(-1/2) at a 16th of the grid's extent along each axis.
    Gauss,
}

impl FromStr for Start {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let constant = text.strip_prefix("constant=").and_then(|value| value.parse::<f64>().ok());
        match (text, constant) {
            ("random", _) => Ok(Self::Random),
            ("zero", _) => Ok(Self::Constant(0.0)),
            ("gauss", _) => Ok(Self::Gauss),
            (_, Some(value)) if value.is_finite() => Ok(Self::Constant(value)),
            _ => Err("give zero, constant=V such as constant=1.5, random, or gauss".into()),
        }
    }
}

impl Start {
    /// The grid.
    ///
    /// # Errors
    /// [`Error::Memory`]: it does not fit. [`Error::NotFinite`]: the type cannot hold the constant.
    pub fn grid(self, shape: Shape, dtype: Dtype, seed: u64) -> Result<Grid, Error> {
        Grid::check_memory(shape, dtype)?;
        match self {
            Self::Random => Grid::random(shape, dtype, seed),
            Self::Constant(value) => filled(shape, dtype, |_| value),
            Self::Gauss => filled(shape, dtype, |at| {
                let part = |axis: usize| {
                    let extent = shape.extents()[axis] as f64;
                    let away = at[axis] as f64 - (extent - 1.0) / 2.0;
                    let axes = 3 - axis <= shape.dims();
                    if axes { (away / (extent / 16.0)).powi(2) } else { 0.0 }
                };
                (-0.5 * (part(0) + part(1) + part(2))).exp()
            }),
        }
    }
}

/// A grid of the values of a function of (z, y, x).
fn filled(
    shape: Shape,
    dtype: Dtype,
    value: impl Fn([usize; 3]) -> f64 + Sync,
) -> Result<Grid, Error> {
    let [_, ny, nx] = shape.extents();
    let values = with_dtype!(dtype, T => {
        let mut values = vec![<T as Default>::default(); shape.points()];
        values.par_iter_mut().enumerate().for_each(|(i, to)| {
            *to = T::from_f64(value([i / (ny * nx), i / nx % ny, i % nx]));
        });
        T::wrap(values)
    });
    Grid { shape, values }.stored_as(dtype)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_read_and_made() {
        let grid = |text: &str, size: &str| {
            let start: Start = text.parse().unwrap();
            start.grid(size.parse().unwrap(), Dtype::F64, 1).unwrap()
        };
        assert_eq!(grid("zero", "3x3").get(4), 0.0);
        assert_eq!(grid("constant=-1.5", "3").get(2), -1.5);
        let bell = grid("gauss", "33x65");
        assert_eq!(bell.get(16 * 65 + 32), 1.0);
        let aside = (-0.5f64 * (4.0 * 16.0 / 65.0f64).powi(2)).exp();
        assert!((bell.get(16 * 65 + 36) - aside).abs() < 1e-12);
        assert_eq!(bell.get(16 * 65 + 28), bell.get(16 * 65 + 36));
        for wrong in ["", "one", "constant=", "constant=inf", "constant=nan"] {
            assert!(wrong.parse::<Start>().is_err(), "{wrong}");
        }
    }
}
