// SPDX-License-Identifier: MIT OR Apache-2.0
//! f32 numbers as sums of three bf16 numbers, and their products as sums of six.
//!
//! Let `x` be of `2^e ≤ |x| < 2^(e+1)`, with 24 digits. A bf16 number has 8, and the exponents of an f32.
//!
//! | piece | is | at most |
//! | --- | --- | --- |
//! | `x₁` | `x`, rounded to the nearest | |
//! | `x₂` | the rest `x − x₁`, rounded to the nearest | `2^(e−8)` |
//! | `x₃` | the rest `x − x₁ − x₂` | `2^(e−17)` |
//!
//! The last rest is a multiple of `2^(e−23)`, at most `2^6` of them, and so has 7 digits: `x₃` is exact and
//! `x = x₁ + x₂ + x₃`. With a weight `w` of `2^f ≤ |w| < 2^(f+1)`, the three of the nine products that are
//! left out are
//! ```text
//! |w₂x₃ + w₃x₂ + w₃x₃| ≤ (2^−8·2^−17 + 2^−17·2^−8 + 2^−17·2^−17) 2^(e+f) ≤ 1.01 · 2^−24 |w| |x|.
//! ```
//!
//! **Huge numbers.** From 2¹²⁸ (1 − 2⁻⁹) on, `x₁` would be infinite. It is the largest bf16 number
//! instead, and `x₂` and `x₃` are up to twice as large as in the table; but `|x|` is so near to `2^(e+1)` that
//! the bound holds as well.
//!
//! **Tiny numbers.** bf16 has no numbers below 2⁻¹³³. Where `e < −110`, the pieces are off by at most that.
//!
//! See `docs/decisions/0011-split.md` for what sums add to that error.

use half::bf16;

/// Pieces of a number.
pub const PIECES: usize = 3;

/// What the products that are left out amount to, at most: this times Σ|w||x|.
pub const LEFT_OUT: f64 = 1.01 / (1u64 << 24) as f64;

/// Whether the product of two numbers' pieces is computed; they count from 0.
#[must_use]
pub const fn is_computed(of_one: usize, of_other: usize) -> bool {
    of_one + of_other < PIECES
}

/// The pieces of a number. Their sum is the number unless it is tiny; of an infinite one it is none.
#[must_use]
pub fn pieces(number: f32) -> [bf16; PIECES] {
    let first = bf16::from_f32(number).clamp(bf16::MIN, bf16::MAX);
    let rest = number - first.to_f32();
    let second = bf16::from_f32(rest);
    let rest = rest - second.to_f32();
    [first, second, bf16::from_bits((rest.to_bits() >> 16) as u16)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// Numbers whose digits are random, all ones, or ones in a random place, of any exponent in a range.
    fn number(random: &mut ChaCha8Rng, exponents: std::ops::Range<i32>) -> f32 {
        let digits = match random.random_range(0..4) {
            0 => 0x7f_ffff << random.random_range(0..24),
            1 => 0x7f_ffff >> random.random_range(0..24),
            2 => random.next_u32() & 0x00_8080 | 0x7f_7f7f,
            _ => random.next_u32(),
        };
        let exponent = (random.random_range(exponents) + 127) as u32;
        f32::from_bits(random.next_u32() & 0x8000_0000 | exponent << 23 | digits & 0x7f_ffff)
    }

    fn sum(pieces: [bf16; PIECES]) -> f64 {
        pieces.map(bf16::to_f64).iter().sum()
    }

    /// Sum of the products that are computed; exact in f64.
    fn product(weight: f32, value: f32) -> f64 {
        let (weight, value) = (pieces(weight), pieces(value));
        let all = (0..PIECES).flat_map(|i| (0..PIECES).map(move |j| (i, j)));
        let computed = all.filter(|&(i, j)| is_computed(i, j));
        computed.map(|(i, j)| weight[i].to_f64() * value[j].to_f64()).sum()
    }

    #[test]
    fn pieces_are_as_large_as_stated_and_sum_to_the_number() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        for _ in 0..1_000_000 {
            let number = number(&mut random, -110..127);
            let scale = 2f64.powi(-((number.to_bits() >> 23 & 0xff) as i32 - 127));
            let relative = |piece: bf16| piece.to_f64().abs() * scale;
            let pieces = pieces(number);
            assert_eq!(sum(pieces), f64::from(number), "{number:e}");
            assert!(relative(pieces[1]) <= 2f64.powi(-8) && relative(pieces[2]) <= 2f64.powi(-17));
        }
        for huge in [f32::MAX, -f32::MAX, f32::from_bits(0x7f7f_8000)] {
            assert_eq!(sum(pieces(huge)), f64::from(huge));
        }
        assert_eq!(sum(pieces(-0.0)), 0.0);
    }

    #[test]
    fn what_is_left_out_is_within_the_bound_and_comes_near_it() {
        let mut random = ChaCha8Rng::seed_from_u64(2);
        let mut largest = 0.0f64;
        for _ in 0..2_000_000 {
            let weight = number(&mut random, -50..1);
            let value = match random.random_range(0..4) {
                0 => f32::from_bits(0x7f7f_ffff - (random.next_u32() & 0xffff)),
                _ => number(&mut random, -50..50),
            };
            let exact = f64::from(weight) * f64::from(value);
            let error = (product(weight, value) - exact).abs();
            largest = largest.max(error / exact.abs());
        }
        assert!(largest <= LEFT_OUT, "{:.3} · 2^-24", largest * 2f64.powi(24));
        assert!(largest > 0.4 * LEFT_OUT, "{:.3} · 2^-24", largest * 2f64.powi(24));
    }

    #[test]
    fn tiny_numbers_are_off_by_at_most_the_smallest_bf16() {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        for _ in 0..1_000_000 {
            let number = number(&mut random, -127..-100);
            let off = (sum(pieces(number)) - f64::from(number)).abs();
            assert!(off <= 2f64.powi(-133), "{number:e}: {off:e}");
        }
    }

    #[test]
    fn what_is_not_finite_stays_so() {
        for value in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::from_bits(0x7f80_0001)] {
            assert!(sum(pieces(value)).is_nan(), "{value}");
        }
    }
}
