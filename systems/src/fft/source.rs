// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a step adds whatever the fields are: constants in the equations and around the grid, and steady sources.
//!
//! A step is `A u + s`. With a constant v taken off each field, T steps are `v + A^T (u − v) + (1 + A + … + A^(T−1)) f`,
//! where f is what a step makes of v, less v. Where v is the constant around a field, f is mostly nothing.

use rayon::prelude::*;
use transform::spectral::double::Double;

use super::linear::LinearSum;
use super::torus::{Group, lift};
use crate::checked::System;
use crate::evaluate::{Evaluator, PlainF64, Values};
use crate::expression::{Array, Node};

/// The constant v of each field of a group, and of those where it is not nothing f, with their places in the group.
pub fn of_group(
    system: &System,
    sums: &[LinearSum],
    group: &Group,
    points: &[(usize, [usize; 3], f64)],
) -> (Vec<f64>, Vec<(usize, Vec<f64>)>) {
    let of_field = |field: &usize| lift(&system.fields[*field].boundary, &group.axes);
    let lifts: Vec<f64> = group.fields.iter().map(of_field).collect();
    let mut all = vec![0.0; sums.len()];
    group.fields.iter().zip(&lifts).for_each(|(field, lift)| all[*field] = *lift);
    let of_field =
        |(own, &of): (usize, &usize)| Some((own, field(system, &sums[of], of, &all, points)?));
    let sources = group.fields.iter().enumerate().filter_map(of_field).collect();
    (lifts, sources)
}

/// f of a field, in C order; none where it is 0 everywhere. `lifts` are the constants v of all fields.
pub fn field(
    system: &System,
    sum: &LinearSum,
    field: usize,
    lifts: &[f64],
    points: &[(usize, [usize; 3], f64)],
) -> Option<Vec<f64>> {
    let shape = system.shape;
    let [nz, ny, nx] = shape.extents();
    let values = |of: &dyn Fn(usize, [i32; 3]) -> f64| {
        let start = sum.constant.plus(Double::new(-lifts[field]));
        let taps = sum.taps.iter();
        let all = taps.fold(start, |all, ((from, _, offset), weight)| {
            all.plus(weight.times(Double::new(of(*from, *offset))))
        });
        all.value()
    };
    // Where nothing beyond a side is read.
    let inside = values(&|from, _| lifts[from]);
    let reach = sum.taps.keys().fold([0; 3], |reach: [usize; 3], (.., offset)| {
        std::array::from_fn(|axis| reach[axis].max(offset[axis].unsigned_abs() as usize))
    });
    let constants = Constants(lifts);
    let evaluator = Evaluator::new(system, PlainF64, &constants, 0.0);
    let at = |point: [usize; 3]| {
        values(&|field, offset| {
            let place = std::array::from_fn(|axis| point[axis] as isize + offset[axis] as isize);
            evaluator.at(&Node::Read(Array::Field { field, level: 0 }), place)
        })
    };
    let is_inside =
        |axis: usize, at: usize, extent: usize| at >= reach[axis] && at + reach[axis] < extent;
    let mut all = vec![inside; shape.points()];
    all.par_chunks_mut(nx).enumerate().for_each(|(row, values)| {
        let (z, y) = (row / ny, row % ny);
        let whole = is_inside(0, z, nz) && is_inside(1, y, ny);
        for (x, value) in values.iter_mut().enumerate() {
            if !(whole && is_inside(2, x, nx)) {
                *value = at([z, y, x]);
            }
        }
    });
    for (_, [z, y, x], value) in points.iter().filter(|(of, ..)| *of == field) {
        all[(z * ny + y) * nx + x] += value;
    }
    all.par_iter().any(|value| *value != 0.0).then_some(all)
}

/// Fields that are the same everywhere.
struct Constants<'a>(&'a [f64]);

impl Values for Constants<'_> {
    fn value(&self, array: Array, _: usize) -> f64 {
        match array {
            Array::Field { field, .. } => self.0[field],
            _ => unreachable!("fields alone are read"),
        }
    }

    fn random(&self, _: u64, _: usize) -> f64 {
        unreachable!("equations hold no random numbers")
    }
}
