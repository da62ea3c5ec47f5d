// SPDX-License-Identifier: MIT OR Apache-2.0
//! What rounding can cause in a jump, in the 2-norm: a transform spreads the rounding errors of each value over all
//! points.
//!
//! A transform of length n in f64 is off by at most `8 u log2 n` of the 2-norm of what it transforms, `u = 2⁻⁵³`
//! (Higham, *Accuracy and Stability of Numerical Algorithms*, §24.1, with twiddles that are off by u); a length with
//! large prime factors is made of three transforms up to four times as long. `λ` is off by at most
//! `8 u Σ|w| (1 + dims)`, so `λ^T` by T times that, relative to the largest `|λ|^(T−1)`. For symmetric stencils that
//! is far from what happens (about u in all), because `1 − λ` is found with all its digits.

use crate::spectral::smooth::is_smooth;

/// The unit roundoff of f64.
const UNIT: f64 = f64::EPSILON / 2.0;

/// Bound of the error's 2-norm over that of what is transformed, for a torus of these lengths, so many steps, a
/// stencil of this `Σ|weight|`, and the largest factor by which a step grows a wave, or more.
#[must_use]
pub fn of_jump(lengths: [usize; 3], steps: usize, gain: f64, growth: f64) -> f64 {
    of_jump_in(UNIT, lengths, steps, gain, growth)
}

/// Bound of a jump's error, as [`of_jump`], for transforms in numbers of the unit roundoff `unit`, which is to be larger
/// where twiddles are off by more than a rounding. The powers are found in f64.
#[must_use]
pub fn of_jump_in(unit: f64, lengths: [usize; 3], steps: usize, gain: f64, growth: f64) -> f64 {
    let transforms: f64 = lengths.into_iter().map(of_transform).sum();
    let steps = steps as f64;
    // There and back, the product, and the scale.
    let fixed = (2.0 * transforms + 8.0 * UNIT) * (unit / UNIT);
    let power = steps * of_symbol(gain) / growth.max(UNIT);
    (fixed + power) * growth.powf(steps)
}

/// Bound of the error's 2-norm of the sum of the T powers, over the norm of the source.
#[must_use]
pub fn of_sum(lengths: [usize; 3], steps: usize, gain: f64, growth: f64) -> f64 {
    let steps_of = steps as f64;
    2.0 * steps_of * of_jump(lengths, steps, gain, growth.max(1.0))
}

/// Bound of a point's error over the largest value, for FlashFFTStencil: tiles of so many points are transformed
/// along some axes by matrices of up to 16 points. Two tiles are one complex one, and a complex product is three real
/// ones. `gains` are Σ|weight| of the stencil, of the sum of one step less, and of that of all steps.
///
/// A transform of m points sums 2m products, of `cos` with `x + y` and of `sin ± cos` with x or y; the rows of each of
/// these matrices have norms of at most √m, and its elements and `x + y` are off by less than 5u together. So each of the
/// two parts of a result is off by `(2m + 5) u √5 √m ‖z‖`, and all of them by `√10 √m (2m + 5) u` of the norm of what
/// is exact: 470u for m = 16. A point is off by no more than the norm of all errors of its pair of tiles, whose
/// norm is at most `√(2·points)` times the largest value.
#[must_use]
pub fn of_tiles(points: usize, axes: usize, steps: usize, gains: [f64; 3]) -> f64 {
    const OF_MATRIX: f64 = 480.0 * UNIT;
    let [gain, all_but_one, all] = gains;
    // There and back, the product with the symbol, and the scale.
    let transforms = (2.0 * axes as f64 * OF_MATRIX + 8.0 * UNIT) * all;
    let power = steps as f64 * of_symbol(gain) * all_but_one;
    (2.0 * points as f64).sqrt() * (transforms + power)
}

fn of_symbol(gain: f64) -> f64 {
    32.0 * UNIT * gain.max(1.0)
}

fn of_transform(length: usize) -> f64 {
    match length {
        0 | 1 => 0.0,
        length if is_smooth(length) => 8.0 * UNIT * (length as f64).log2(),
        length => 24.0 * UNIT * (4.0 * length as f64).log2(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_of_a_tile_is_off_by_little_more_than_its_norm() {
        let of = |points, axes, steps| of_tiles(points, axes, steps, [1.0; 3]);
        assert!(of(240, 2, 60) < 1e-11, "{:e}", of(240, 2, 60));
        assert!(of(256, 2, 1) < of(4096, 3, 1) && of(240, 2, 1) < of(240, 2, 2));
        // Sums that fade take their errors along.
        assert!(of_tiles(240, 2, 9, [0.5, 0.5f64.powi(8), 0.5f64.powi(9)]) < 0.01 * of(240, 2, 9));
    }

    #[test]
    fn errors_grow_with_the_logarithm_of_the_length_and_with_the_steps() {
        let of = |length, steps| of_jump([1, length, length], steps, 1.0, 1.0);
        assert!(of(1024, 1) < 5e-14, "{:e}", of(1024, 1));
        assert!(of(1 << 20, 1) / of(1024, 1) < 2.0);
        assert!(of(1024, 1_000_000) < 4e-9, "{:e}", of(1024, 1_000_000));
        // What fades takes its errors along.
        assert!(of_jump([1, 64, 64], 1000, 1.0, 0.5) < 1e-100);
    }
}
