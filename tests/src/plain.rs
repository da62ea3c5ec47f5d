// SPDX-License-Identifier: MIT OR Apache-2.0
//! The oracle: plain stencils in f64, and random cases.

use crate::number::factor;
use half::f16;
use rand::RngExt;
use stencil::Dtype;
use transform::{Stencil, Tap};

/// One step in f16 with zeros around the grid: for each point the sum, and the sum of absolute terms.
#[must_use]
pub fn step(stencil: &Stencil, ny: usize, nx: usize, values: &[f16]) -> Vec<(f64, f64)> {
    let values: Vec<f64> = values.iter().map(|value| value.to_f64()).collect();
    step_in(Dtype::F16, stencil, ny, nx, &values)
}

/// As [`step`], with values and weights rounded as products of any type take them.
#[must_use]
pub fn step_in(
    dtype: Dtype,
    stencil: &Stencil,
    ny: usize,
    nx: usize,
    values: &[f64],
) -> Vec<(f64, f64)> {
    let values: Vec<f64> = values.iter().map(|&value| factor(dtype, value)).collect();
    let at = |y: i64, x: i64| {
        let inside = (0..ny as i64).contains(&y) && (0..nx as i64).contains(&x);
        if inside { values[y as usize * nx + x as usize] } else { 0.0 }
    };
    let stencil = stencil.map_weights(|weight| factor(dtype, weight));
    let point = |index: usize| {
        let (y, x) = ((index / nx) as i64, (index % nx) as i64);
        let term = |tap: &Tap| {
            let [_, dy, dx] = tap.offset.map(i64::from);
            tap.weight * at(y + dy, x + dx)
        };
        let terms = stencil.taps().iter().map(term);
        terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()))
    };
    (0..ny * nx).map(point).collect()
}

/// Checks f16 results of an f32 sum against [`step`]: one rounding to f16, and 17 to f32 for each of
/// up to four products.
///
/// # Panics
/// Where a point is farther off.
pub fn assert_rounded(got: &[f16], want: &[(f64, f64)], nx: usize) {
    assert_eq!(got.len(), want.len(), "as many points");
    for (index, (got, (sum, size))) in got.iter().zip(want).enumerate() {
        let bound = sum.abs() * 2f64.powi(-11) + 2f64.powi(-25) + 68.0 * 2f64.powi(-24) * size;
        let (y, x, error) = (index / nx, index % nx, (got.to_f64() - sum).abs());
        assert!(error <= bound, "point ({y}, {x}) is {got}, but the stencil gives {sum}");
    }
}

/// A full box with random weights: what a mistake does to any neighbour shows.
///
/// # Panics
/// Never: weights are finite.
#[must_use]
pub fn full_box(random: &mut impl RngExt, radius: usize) -> Stencil {
    let width = 2 * radius + 1;
    let weights: Vec<f64> = (0..width * width).map(|_| random.random_range(-1.0..1.0)).collect();
    Stencil::dense("full box", &[width, width], &weights).expect("finite weights")
}

/// Random values of a grid.
#[must_use]
pub fn random_values(random: &mut impl RngExt, points: usize) -> Vec<f16> {
    (0..points).map(|_| f16::from_f64(random.random_range(-1.0..1.0))).collect()
}
