// SPDX-License-Identifier: MIT OR Apache-2.0
//! The oracle of the CUDA-core and the 3D kernels: the plain stencil in f64, step by step, near any boundary; and
//! random boundaries.

use crate::number::Bound;
use rand::RngExt;
use stencil::problem::boundary::Side;
use stencil::{Boundary, Dtype, Shape};
use transform::{Stencil, Tap};

/// So many time steps of a grid in C order, with constants as the element type rounds them;
/// no rounding between steps.
#[must_use]
pub fn steps(
    stencil: &Stencil,
    boundary: &Boundary,
    shape: Shape,
    dtype: Dtype,
    values: &[f64],
    steps: usize,
) -> Vec<f64> {
    let boundary = boundary.map_constants(|value| dtype.round(value));
    let [nz, ny, nx] = shape.extents();
    let at = |values: &[f64], z: isize, y: isize, x: isize| match boundary
        .find([z, y, x], [nz, ny, nx])
    {
        Ok(([z, y, x], image)) => image.of(values[(z * ny + y) * nx + x]),
        Err(value) => value,
    };
    let mut values = values.to_vec();
    for _ in 0..steps {
        let point = |index: usize| {
            let (z, y, x) = (index / (ny * nx), index / nx % ny, index % nx);
            let term = |tap: &Tap| {
                let [dz, dy, dx] = tap.offset.map(|offset| offset as isize);
                tap.weight * at(&values, z as isize + dz, y as isize + dy, x as isize + dx)
            };
            stencil.taps().iter().map(term).sum()
        };
        values = (0..values.len()).map(point).collect();
    }
    values
}

/// One step with zeros around the grid. No sum is -0: tensor cores begin from +0.
#[must_use]
pub fn step(stencil: &Stencil, shape: Shape, values: &[f64]) -> Vec<f64> {
    // The type is that of constants around the grid.
    let sums = steps(stencil, &Boundary::default(), shape, Dtype::F64, values, 1);
    sums.into_iter().map(|sum| sum + 0.0).collect()
}

/// The largest part of the bound by which a result is off after so many steps of rounding nothing in
/// between, and its point (z, y, x), among those that `counts`.
#[must_use]
pub fn worst(
    (stencil, boundary, shape, dtype): (&Stencil, &Boundary, Shape, Dtype),
    values: &[f64],
    count: usize,
    got: &[f64],
    counts: impl Fn([usize; 3]) -> bool,
) -> (f64, [usize; 3]) {
    let [_, ny, nx] = shape.extents();
    let right = steps(stencil, boundary, shape, dtype, values, count);
    let (absolute, around) = (stencil.map_weights(f64::abs), boundary.map_constants(f64::abs));
    let values: Vec<f64> = values.iter().map(|value| value.abs()).collect();
    let sizes = steps(&absolute, &around, shape, dtype, &values, count);
    // Products of slopes and sums of these, of what is beyond sides.
    let beyond = 2 * boundary.sloped_axes();
    let bound = Bound::of_terms(dtype, count * (stencil.taps().len() + beyond));
    let mut worst = (0.0, [0; 3]);
    for (index, &got) in got.iter().enumerate() {
        let at = [index / (ny * nx), index / nx % ny, index % nx];
        let error = (got - right[index]).abs();
        if !counts(at) || error == 0.0 {
            continue;
        }
        let part = error / bound.at(right[index], sizes[index]);
        if part > worst.0 || part.is_nan() {
            worst = (if part.is_nan() { f64::INFINITY } else { part }, at);
        }
    }
    worst
}

/// Any kind on any side.
#[must_use]
pub fn random_boundary(random: &mut impl RngExt, dims: usize) -> Boundary {
    let mut boundary = Boundary::default();
    for axis in 3 - dims..3 {
        let mut side = || match random.random_range(0..6) {
            0 => Side::Zero,
            1 => Side::Constant(random.random_range(-1.0..1.0)),
            2 => Side::Edge,
            3 => Side::Flux(random.random_range(-0.2..0.2)),
            4 => Side::Symmetric,
            _ => Side::Reflect,
        };
        boundary.sides[axis] = [side(), side()];
        if random.random_ratio(1, 4) {
            boundary.sides[axis] = [Side::Periodic; 2];
        }
    }
    boundary
}
