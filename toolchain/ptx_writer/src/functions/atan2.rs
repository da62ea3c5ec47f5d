// SPDX-License-Identifier: MIT OR Apache-2.0
//! atan2(y, x), the angle of a point: atan of the smaller of both magnitudes over the larger one, which lies between 0 and
//! π/4, mirrored at the diagonal, at the axis of y, and at that of x.
//!
//! Beyond tan(π/8) the quotient is turned by π/4, (a - b) / (a + b), so that the series of atan is short:
//! t + t³ (-1/3 + t²/5 - …).

use super::arithmetic::Arithmetic;
use crate::Number;
use crate::Relation::{Equal, Greater, Less};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

/// tan(π/8)
const TURNED: f64 = std::f64::consts::SQRT_2 - 1.0;
/// Terms after the first in f32 and f64: the remainder is below 0.1 of a rounding.
const TERMS: (usize, usize) = (9, 21);
/// What π, π/2 and π/4 in f64 lack.
const PI_REST: f64 = 1.224_646_799_147_353_2e-16;

/// atan2(y, x): the sign is that of y, also where y is 0.
pub fn atan2(on: &mut Arithmetic, y: Number, x: Number) -> Number {
    let [zero, one, half] = [0.0, 1.0, 0.5].map(|number| on.number(number));
    let infinite = on.number(f64::INFINITY);
    let [a, b] = [y, x].map(|value| on.abs(value));
    let (small, large) = (on.min(a, b), on.max(a, b));
    // Of infinite ones only whether both are counts; of large ones the sum would be infinite.
    let is_infinite = on.holds(Equal, large, infinite);
    let both = on.holds(Equal, small, infinite);
    let share = on.choose(both, one, zero);
    let small = on.choose(is_infinite, share, small);
    let large = on.choose(is_infinite, one, large);
    let is_large = on.holds(Greater, large, one);
    let scale = on.choose(is_large, half, one);
    let (small, large) = (on.mul(small, scale), on.mul(large, scale));

    let quotient = on.div(small, large);
    // 0 over 0
    let is_zero = on.holds(Equal, large, zero);
    let quotient = on.choose(is_zero, zero, quotient);
    let turned = on.number(TURNED);
    let is_turned = on.holds(Greater, quotient, turned);
    let (less, more) = (on.sub(small, large), on.add(small, large));
    let other = on.div(less, more);
    let t = on.choose(is_turned, other, quotient);

    let square = on.mul(t, t);
    let sum = on.polynomial(&series(on.either(TERMS.0, TERMS.1)), square);
    let cube = on.mul(square, t);
    let angle = on.fma(sum, cube, t);
    let from_diagonal = plus(on, parts(on, FRAC_PI_4), angle);
    let angle = on.choose(is_turned, from_diagonal, angle);
    // From the axis of y, forwards or backwards; else from that of x, ahead or behind. Also of a 0 that is negative.
    let is_steep = on.holds(Greater, a, b);
    let sign = on.with_sign(one, x);
    let is_behind = on.holds(Less, sign, zero);
    let opposite = on.neg(sign);
    let turn = on.choose(is_steep, opposite, sign);
    let angle = on.mul(angle, turn);
    let (upright, backwards) = (parts(on, FRAC_PI_2), parts(on, PI));
    let base = [0, 1].map(|part: usize| {
        let flat = on.choose(is_behind, backwards[part], zero);
        on.choose(is_steep, upright[part], flat)
    });
    let angle = plus(on, base, angle);
    let angle = on.with_sign(angle, y);
    let angle = on.unless_nan(x, angle);
    on.unless_nan(y, angle)
}

/// The coefficients of Σ (-1)^n z^(n - 1) / (2n + 1) from n = 1 on, the highest first.
fn series(terms: usize) -> Vec<f64> {
    let of = |n: usize| (if n.is_multiple_of(2) { 1.0 } else { -1.0 }) / (2 * n + 1) as f64;
    (1..=terms).rev().map(of).collect()
}

/// A part of π in two numbers of the type.
fn parts(on: &Arithmetic, angle: f64) -> [Number; 2] {
    let rest = PI_REST * (angle / PI);
    let high = on.either(f64::from(angle as f32), angle);
    let low = on.either(angle - high, rest);
    [high, low].map(|part| on.number(part))
}

/// A number in two parts and another one.
fn plus(on: &mut Arithmetic, [high, low]: [Number; 2], of: Number) -> Number {
    let of = on.add(of, low);
    on.add(high, of)
}
