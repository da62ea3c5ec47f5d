// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random numbers of the points of a row.

use compute::at_level;
use problem::noise::{Noise, STEP_PART};

use super::real::Real;
use crate::checked::System;

/// The random numbers of points of a row, from one on.
pub struct NoiseRow {
    /// Which.
    pub noise: Noise,
    /// Steps that are done.
    pub step: u64,
    /// The first point (z, y, x).
    pub point: [usize; 3],
}

/// The steps that are done, of their lower and higher part.
pub fn step<R: Real>([low, high]: [R; 2]) -> u64 {
    low.to_f64() as u64 + high.to_f64() as u64 * u64::from(STEP_PART)
}

impl NoiseRow {
    /// Computes as many as there is room for.
    pub fn fill<R: Real>(&self, system: &System, to: &mut [R]) {
        let [z, y, x] = [0, 1, 2].map(|axis| self.point[axis] as isize + system.origin[axis]);
        let Self { noise, step, .. } = *self;
        // A loop that the compiler makes vectors of.
        at_level!(fearless_simd::Level::new(), _simd => {
            for (place, to) in to.iter_mut().enumerate() {
                *to = R::random(noise, step, [z, y, x + place as isize]);
            }
        });
    }
}
