// SPDX-License-Identifier: MIT OR Apache-2.0
//! Constants at sides of a solution: what they add to it.
//!
//! The sides of w are c, which differs from side to side, and transforms solve between zeros. S is linear, so w is the solution for
//! f between zeros, and besides the solution for 0 between the constants, which does not depend on f. Of that a number is taken off
//! first, midway between the constants: then values around it are left, and nothing where all constants are that number and the
//! weights of S add up to 0. What the constants that are left make of S at points beside sides is taken to the right, and solved
//! for between zeros: no point outside is read there but those whose value is known.

use rayon::prelude::*;
use transform::spectral::End;
use transform::spectral::power::exact_sum;

use super::Solve;
use problem::boundary::{NeighbourPlace, Side};

/// The constants at the sides of a solve.
pub struct Constants {
    /// Of each side where the solution's images are negative ones.
    values: Vec<f64>,
    /// Midway between the smallest one and the largest one.
    middle: f64,
}

impl Constants {
    /// Constants of a solve, whose torus has this beyond its ends.
    pub fn of(solve: &Solve, ends: &[[End; 2]; 3]) -> Self {
        let sides = solve.boundary.sides.iter().flatten().zip(ends.iter().flatten());
        let values = sides.filter(|(_, end)| **end == End::Odd).map(|(side, _)| match side {
            Side::Constant(value) => *value,
            _ => 0.0,
        });
        let values: Vec<f64> = values.collect();
        let all = || values.iter().copied();
        let ends = all().reduce(f64::min).zip(all().reduce(f64::max));
        Self { middle: ends.map_or(0.0, |(low, high)| low.midpoint(high)), values }
    }

    /// Whether one is not 0.
    pub fn are_some(&self) -> bool {
        self.values.iter().any(|value| *value != 0.0)
    }

    /// The solution for f = 0 at all points, in C order, by what solves between zeros; none where it is 0.
    pub fn solution(
        &self,
        solve: &Solve,
        between_zeros: impl FnOnce(&[f64]) -> Vec<f64>,
    ) -> Option<Vec<f64>> {
        if !self.are_some() {
            return None;
        }
        let [_, ny, nx] = solve.shape.extents();
        let weights = exact_sum(solve.stencil.taps().iter().map(|tap| tap.weight).collect());
        let of_point = |index: usize| {
            let point = [index / (ny * nx), index / nx % ny, index % nx].map(|at| at as isize);
            let taps = solve.stencil.taps().iter();
            let beyond = taps.map(|tap| tap.weight * self.beyond(solve, point, tap.offset));
            -beyond.sum::<f64>() - weights * self.middle
        };
        let right: Vec<f64> = (0..solve.shape.points()).into_par_iter().map(of_point).collect();
        if right.iter().all(|value| *value == 0.0) {
            return Some(vec![self.middle; right.len()]);
        }
        let mut solution = between_zeros(&right);
        solution.par_iter_mut().for_each(|value| *value += self.middle);
        Some(solution)
    }

    /// By how much what lies at a neighbour of a point is above the number in the middle, if it is a constant: the one along x
    /// before those along y and z. 0 inside, and where images of the grid lie.
    fn beyond(&self, solve: &Solve, point: [isize; 3], offset: [i32; 3]) -> f64 {
        let extents = solve.shape.extents();
        let along = |axis: usize| {
            let at = point[axis] + offset[axis] as isize;
            match solve.boundary.resolve(axis, at, extents[axis]) {
                NeighbourPlace::Value(value) => Some(value - self.middle),
                NeighbourPlace::Inside(..) => None,
            }
        };
        [2, 1, 0].into_iter().find_map(along).unwrap_or(0.0)
    }
}
