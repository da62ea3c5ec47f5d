// SPDX-License-Identifier: MIT OR Apache-2.0
//! Temporal fusion: one stencil that does `t` time steps at once.
//!
//! Away from the boundary, `t` steps of a stencil are one step of its `t`-fold self-convolution
//! ("Do we need tensor cores for stencil computations?", its fused kernel). Its radius is `t` times
//! as large.

use crate::stencil::{MAX_RADIUS, Stencil, StencilError, Tap};
use thiserror::Error;

/// The largest radius of the sum of several steps in 1D, where it has few weights.
pub const MAX_RADIUS_1D: usize = 64;

/// The largest radius of the sum of several steps.
#[must_use]
pub const fn max_radius(dims: usize) -> usize {
    if dims == 1 { MAX_RADIUS_1D } else { MAX_RADIUS }
}

/// Why steps cannot be fused.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum FuseError {
    /// No step at all.
    #[error("cannot fuse 0 steps; fuse at least 1")]
    NoSteps,
    /// The fused stencil would be too large.
    #[error(
        "fusing {steps} steps of radius {radius} gives radius {}, the largest is {most}; \
         fuse at most {} steps",
        radius.saturating_mul(*steps), most / radius
    )]
    TooFar {
        /// The largest radius of a sum.
        most: usize,
        /// Radius of one step.
        radius: usize,
        /// Number of steps.
        steps: usize,
    },
    /// Products of the weights overflow, or all of them underflow.
    #[error(
        "fusing {steps} steps: {source}; scale them so that products neither overflow nor vanish"
    )]
    Weights {
        /// Number of steps.
        steps: usize,
        /// What is wrong with the fused weights.
        source: StencilError,
    },
}

/// The stencil that equals `steps` steps of `stencil` on an unbounded grid.
///
/// Each weight is a sum of products in f64: exact as long as these need no more than 53 bits, as
/// with the dyadic default weights. Weights that cancel to 0 are left out.
///
/// # Errors
/// No step, a radius above [`max_radius`], or weights that overflow.
pub fn fuse(stencil: &Stencil, steps: usize) -> Result<Stencil, FuseError> {
    let (radius, most) = (stencil.radius(), max_radius(stencil.dims()));
    match steps {
        0 => return Err(FuseError::NoSteps),
        1 => return Ok(stencil.clone()),
        _ if radius.saturating_mul(steps) > most => {
            return Err(FuseError::TooFar { most, radius, steps });
        }
        _ => {}
    }
    let one = Block::of(stencil);
    // A stencil of one point may be stepped without end, so its powers are not multiplied out.
    let fused = if radius == 0 {
        Block { weights: vec![power(one.weights[0], steps)], ..one }
    } else {
        (1..steps).fold(one, |fused, _| fused.then(stencil))
    };
    let name = format!("{}^{steps}", stencil.name());
    Stencil::within(most, &name, stencil.dims(), fused.taps())
        .map_err(|source| FuseError::Weights { steps, source })
}

/// A power by repeated squaring: exact as long as the result is, unlike `powf`.
fn power(mut base: f64, mut exponent: usize) -> f64 {
    let mut power = 1.0;
    while exponent > 0 {
        if exponent % 2 == 1 {
            power *= base;
        }
        base *= base;
        exponent /= 2;
    }
    power
}

/// The weights inside a box of offsets, densely, in C order.
struct Block {
    low: [i32; 3],
    extents: [usize; 3],
    weights: Vec<f64>,
}

impl Block {
    fn zeros(low: [i32; 3], high: [i32; 3]) -> Self {
        let extents = std::array::from_fn(|axis| (high[axis] - low[axis] + 1) as usize);
        Self { low, extents, weights: vec![0.0; extents.iter().product()] }
    }

    fn of(stencil: &Stencil) -> Self {
        let (low, high) = bounds(stencil);
        let mut block = Self::zeros(low, high);
        for tap in stencil.taps() {
            let at = block.index(tap.offset);
            block.weights[at] = tap.weight;
        }
        block
    }

    /// The convolution with one more step.
    fn then(&self, step: &Stencil) -> Self {
        let (low, high) = bounds(step);
        let sum = |a: [i32; 3], b: [i32; 3]| std::array::from_fn(|axis| a[axis] + b[axis]);
        let top = std::array::from_fn(|axis| self.low[axis] + self.extents[axis] as i32 - 1);
        let mut out = Self::zeros(sum(self.low, low), sum(top, high));
        let width = self.extents[2];
        for (row, weights) in self.weights.chunks_exact(width).enumerate() {
            let [z, y] = [row / self.extents[1], row % self.extents[1]].map(|i| i as i32);
            let start = sum(self.low, [z, y, 0]);
            for tap in step.taps() {
                let at = out.index(sum(start, tap.offset));
                for (out, weight) in out.weights[at..at + width].iter_mut().zip(weights) {
                    *out += weight * tap.weight;
                }
            }
        }
        out
    }

    fn index(&self, offset: [i32; 3]) -> usize {
        let at: [usize; 3] = std::array::from_fn(|axis| (offset[axis] - self.low[axis]) as usize);
        (at[0] * self.extents[1] + at[1]) * self.extents[2] + at[2]
    }

    fn taps(&self) -> Vec<Tap> {
        let [_, ny, nx] = self.extents;
        let offset = |index: usize| {
            let at = [index / (ny * nx), index / nx % ny, index % nx];
            std::array::from_fn(|axis| self.low[axis] + at[axis] as i32)
        };
        let taps = self.weights.iter().enumerate();
        taps.map(|(index, &weight)| Tap { offset: offset(index), weight }).collect()
    }
}

/// The lowest and the highest offset on each axis.
fn bounds(stencil: &Stencil) -> ([i32; 3], [i32; 3]) {
    let offsets = || stencil.taps().iter().map(|tap| tap.offset);
    let low = offsets().reduce(|a, b| std::array::from_fn(|axis| a[axis].min(b[axis])));
    let high = offsets().reduce(|a, b| std::array::from_fn(|axis| a[axis].max(b[axis])));
    (low.unwrap_or_default(), high.unwrap_or_default())
}
