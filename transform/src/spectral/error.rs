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

/// The same of transforms in numbers of another unit roundoff, or with twiddles that are off by more than theirs; the
/// powers are found in f64.
#[must_use]
pub fn of_jump_in(unit: f64, lengths: [usize; 3], steps: usize, gain: f64, growth: f64) -> f64 {
    let transforms: f64 = lengths.into_iter().map(of_transform).sum();
    let steps = steps as f64;
    // There and back, the product, and the scale.
    let fixed = (2.0 * transforms + 8.0 * UNIT) * (unit / UNIT);
    let power = steps * of_symbol(gain) / growth.max(UNIT);
    (fixed + power) * growth.powf(steps)
}

/// The same of the sum of the T powers, over the norm of the source.
#[must_use]
pub fn of_sum(lengths: [usize; 3], steps: usize, gain: f64, growth: f64) -> f64 {
    let steps_of = steps as f64;
    2.0 * steps_of * of_jump(lengths, steps, gain, growth.max(1.0))
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
    fn errors_grow_with_the_logarithm_of_the_length_and_with_the_steps() {
        let of = |length, steps| of_jump([1, length, length], steps, 1.0, 1.0);
        assert!(of(1024, 1) < 5e-14, "{:e}", of(1024, 1));
        assert!(of(1 << 20, 1) / of(1024, 1) < 2.0);
        assert!(of(1024, 1_000_000) < 4e-9, "{:e}", of(1024, 1_000_000));
        // What fades takes its errors along.
        assert!(of_jump([1, 64, 64], 1000, 1.0, 0.5) < 1e-100);
    }
}
