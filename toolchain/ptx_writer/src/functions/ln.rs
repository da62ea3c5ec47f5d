// SPDX-License-Identifier: MIT OR Apache-2.0
//! ln x: x = 2^k m with √½ ≤ m < √2, s = f / (2 + f) of f = m - 1, and ln m = 2 artanh s = f - s (f - 2T) with
//! T = s²/3 + s⁴/5 + …: f is exact, and all roundings but the last are of a small part.

use super::arithmetic::Arithmetic;
use crate::Relation::{Equal, Less};
use crate::{B32, B64, F32, F64, Number, S32, S64, U32};
use std::f64::consts::FRAC_1_SQRT_2;

/// ln 2 as two numbers of f32, the first with so few bits that its products with exponents are exact.
const LN_2_SINGLE: [f64; 2] = [0.693_115_234_375, 3.194_618_329_871_446e-5];
/// ln 2 as two numbers of f64, the first with so few bits that its products with exponents are exact.
pub const LN_2_DOUBLE: [f64; 2] = [0.693_147_180_558_298_7, 1.646_594_958_289_708_2e-12];
/// Terms of T in f32 and f64: the remainder is below 0.1 of a rounding.
const TERMS: (usize, usize) = (5, 11);

/// ln x: -∞ of 0, not a number below.
pub fn ln(on: &mut Arithmetic, x: Number) -> Number {
    let (m, k) = split(on, x);
    let [one, two] = [1.0, 2.0].map(|number| on.number(number));
    let f = on.sub(m, one);
    let sum = on.add(f, two);
    let s = on.div(f, sum);
    let square = on.mul(s, s);
    let sum = on.polynomial(&series(on.either(TERMS.0, TERMS.1), 1), square);
    let sum = on.mul(sum, square);
    // -2T
    let minus_two = on.number(-2.0);
    let rest = on.fma(sum, minus_two, f);
    let [high, low] = on.either(LN_2_SINGLE, LN_2_DOUBLE).map(|part| on.number(part));
    // ln x = k high + (f - (s rest - k low))
    let of_k = on.mul(k, low);
    let of_k = on.neg(of_k);
    let rest = on.fma(s, rest, of_k);
    let rest = on.sub(f, rest);
    let value = on.fma(k, high, rest);
    outside(on, x, value)
}

/// The coefficients of Σ z^n / (2n + 1) from n = first on, the highest first.
pub fn series(terms: usize, first: usize) -> Vec<f64> {
    (first..first + terms).rev().map(|n| 1.0 / (2 * n + 1) as f64).collect()
}

/// m and k, both as numbers; of a normal or subnormal number above 0.
pub fn split(on: &mut Arithmetic, x: Number) -> (Number, Number) {
    // Subnormal numbers are made normal.
    let (least, scale) = on.either((f64::from(f32::MIN_POSITIVE), 24), (f64::MIN_POSITIVE, 54));
    let [least, up] = [least, 2f64.powi(scale)].map(|number| on.number(number));
    let is_small = on.holds(Less, x, least);
    let scaled = on.mul(x, up);
    let x = on.choose(is_small, scaled, x);
    // Bits from those of √½ on count octaves above it.
    match x {
        Number::F64(x) => {
            let bits = on.emitter.bits(x);
            let from = on.emitter.sub(S64, bits, FRAC_1_SQRT_2.to_bits());
            let octave = on.emitter.shift_right(S64, from, 52);
            let shifted = on.emitter.shift_left(B64, octave, 52);
            let k = on.emitter.low(octave);
            let m = on.emitter.sub(S64, bits, shifted);
            let lower = on.emitter.sub(U32, k, scale);
            let k = on.emitter.select(U32, lower, k, is_small);
            let k = on.emitter.round(F64, S32, k);
            (on.emitter.number(F64, m).into(), k.into())
        }
        Number::F32(x) => {
            let bits = on.emitter.bits(x);
            let from = on.emitter.sub(U32, bits, (FRAC_1_SQRT_2 as f32).to_bits());
            let k = on.emitter.shift_right(S32, from, 23);
            let shifted = on.emitter.shift_left(B32, k, 23);
            let m = on.emitter.sub(U32, bits, shifted);
            let lower = on.emitter.sub(U32, k, scale);
            let k = on.emitter.select(U32, lower, k, is_small);
            let k = on.emitter.round(F32, S32, k);
            (on.emitter.number(F32, m).into(), k.into())
        }
    }
}

/// The value, but where x is no number above 0, or infinite.
fn outside(on: &mut Arithmetic, x: Number, value: Number) -> Number {
    let [zero, infinite, nan] = [0.0, f64::INFINITY, f64::NAN].map(|number| on.number(number));
    let minus_infinite = on.number(f64::NEG_INFINITY);
    let is_infinite = on.holds(Equal, x, infinite);
    let value = on.choose(is_infinite, infinite, value);
    let is_zero = on.holds(Equal, x, zero);
    let value = on.choose(is_zero, minus_infinite, value);
    let is_below = on.holds(Less, x, zero);
    let value = on.choose(is_below, nan, value);
    on.unless_nan(x, value)
}
