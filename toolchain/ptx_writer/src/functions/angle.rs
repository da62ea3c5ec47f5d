// SPDX-License-Identifier: MIT OR Apache-2.0
//! sin x and cos x: x = q π/2 + r with |r| ≤ π/4 or little more, and the Taylor polynomials of r. Small x lose a
//! multiple of π/2 in three parts (Cody and Waite); large ones are multiplied by as many digits of 2/π as
//! it takes, in whole numbers of 64 bits (Payne and Hanek), also those of f32.
//!
//! # Sources
//! Payne, Hanek: Radian reduction for trigonometric functions. ACM SIGNUM Newsletter 18 (1983).

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

use super::arithmetic::Arithmetic;
use crate::Relation::{Greater, Less, NotEqual};
use crate::{B32, B64, F32, F64, Number, Operand, Register, S64, U32, U64};

/// π/2 as three numbers of f32.
const HALF_PI_SINGLE: [f64; 3] =
    [1.570_796_370_506_286_6, -4.371_138_828_673_793e-8, -1.715_124_510_005_881_9e-15];
/// And of f64.
const HALF_PI_DOUBLE: [f64; 3] =
    [FRAC_PI_2, 6.123_233_995_736_766e-17, -1.497_384_904_859_169_8e-33];
/// Up to here three parts do, in f32 and f64.
const SMALL: (f64, f64) = (1e5, 1e9);
/// Terms of the polynomials in f32 and f64: the remainder is below half a rounding of 1.
const TERMS: (usize, usize) = (5, 9);

/// sin x.
pub fn sin(on: &mut Arithmetic, x: Number) -> Number {
    wave(on, x, 0)
}

/// cos x = sin(x + π/2).
pub fn cos(on: &mut Arithmetic, x: Number) -> Number {
    wave(on, x, 1)
}

/// sin(x + quarters π/2).
fn wave(on: &mut Arithmetic, x: Number, quarters: u32) -> Number {
    let (rest, quarter) = reduce(on, x);
    let terms = on.either(TERMS.0, TERMS.1);
    let square = on.mul(rest, rest);
    // sin r = r + r r² (-1/3! + …), cos r = 1 + r² (-1/2! + …)
    let sine = on.polynomial(&taylor(terms, 3), square);
    let cube = on.mul(square, rest);
    let sine = on.fma(sine, cube, rest);
    let cosine = on.polynomial(&taylor(terms, 2), square);
    let one = on.number(1.0);
    let cosine = on.fma(cosine, square, one);
    let quarter = on.emitter.add(U32, quarter, quarters);
    let [odd, lower] = [1, 2].map(|bit| {
        let bit = on.emitter.and(B32, quarter, bit);
        on.emitter.setp(NotEqual, U32, bit, 0)
    });
    let value = on.choose(odd, cosine, sine);
    let minus = on.neg(value);
    on.choose(lower, minus, value)
}

/// The coefficients of Σ (-1)^(n + 1) z^n / (2n + first)!, the highest first.
fn taylor(terms: usize, first: usize) -> Vec<f64> {
    let factorial = |n: usize| (1..=n).map(|factor| factor as f64).product::<f64>();
    let sign = |n: usize| if n.is_multiple_of(2) { -1.0 } else { 1.0 };
    (0..terms).rev().map(|n| sign(n) / factorial(2 * n + first)).collect()
}

/// r, and q as 32 bits, of which only the lowest two count.
fn reduce(on: &mut Arithmetic, x: Number) -> (Number, Register<B32>) {
    let (number, quarter) = on.nearest(x, FRAC_2_PI);
    let mut rest = x;
    for part in on.either(HALF_PI_SINGLE, HALF_PI_DOUBLE) {
        let part = on.number(-part);
        rest = on.fma(number, part, rest);
    }
    let magnitude = on.abs(x);
    let [small, infinite] =
        [on.either(SMALL.0, SMALL.1), f64::INFINITY].map(|number| on.number(number));
    let is_large = on.holds(Greater, magnitude, small);
    // What is infinite has no angle: the parts above leave what is not a number.
    let is_large = on.holds_and(Less, magnitude, infinite, is_large);
    let end = on.only_where(is_large);
    let (exact, exact_quarter) = match x {
        Number::F64(x) => reduce_large(on, x),
        Number::F32(x) => {
            let wide = on.emitter.convert(F64, F32, x);
            let (exact, quarter) = reduce_large(&mut on.wide(), wide.into());
            (on.narrow(exact), quarter)
        }
    };
    on.assign(rest, exact);
    on.emitter.assign(U32, quarter, exact_quarter);
    on.end(end);
    (rest, quarter)
}

/// r and q of an f64 from 2^20 on: |x| = M 2^e with a whole M of 53 bits. Of the digits of 2^e 2/π those count that are
/// worth 2 to 2^-190: what is above makes multiples of 4 of M, what is below makes less than 2^-137.
fn reduce_large(on: &mut Arithmetic, x: Operand<F64>) -> (Number, Register<B32>) {
    let emitter = &mut *on.emitter;
    let magnitude = emitter.abs(F64, x);
    let bits = emitter.bits(magnitude);
    let mantissa = emitter.and(B64, bits, (1u64 << 52) - 1);
    let mantissa = emitter.or(B64, mantissa, 1u64 << 52);
    let exponent = emitter.shift_right(U64, bits, 52);
    // e is the exponent's bits less 1075; the digit that is worth 2 is the (e + 64 - 1)th, of which 64 are zeros
    // and two are counted from 0.
    let place = emitter.sub(S64, exponent, 1075 - 64 + 2);
    let word = emitter.shift_right(U64, place, 6);
    let word = emitter.shift_left(B64, word, 3);
    let shift = emitter.and(B64, place, 63);
    let shift = emitter.low(shift);
    let back = emitter.sub(U32, 64, shift);
    let start = on.digits();
    let emitter = &mut *on.emitter;
    let start = emitter.offset(start, word);
    let words = [0, 1, 2, 3].map(|index| emitter.load(U64, start.at(8 * index)));
    // A shift by 64 leaves 0.
    let [w0, w1, w2] = [0, 1, 2].map(|index: usize| {
        let high = emitter.shift_left(B64, words[index], shift);
        let low = emitter.shift_right(U64, words[index + 1], back);
        emitter.or(B64, high, low)
    });
    // The upper two words of M (w0 w1 w2) without what is beyond the first.
    let carried = emitter.mul_high(U64, w2, mantissa);
    let low = emitter.mul(U64, w1, mantissa);
    let low = emitter.add(U64, low, carried);
    let high = emitter.mul_high(U64, w1, mantissa);
    let above = emitter.mul(U64, w0, mantissa);
    let high = emitter.add(U64, high, above);
    let one_more = emitter.add(U64, high, 1);
    let overflows = emitter.setp(Less, U64, low, carried);
    let high = emitter.select(U64, one_more, high, overflows);
    // Two digits before the point: the quarter, to the nearest; what is behind is then from -½ to ½.
    let nearest = emitter.add(U64, high, 1u64 << 61);
    let quarter = emitter.shift_right(U64, nearest, 62);
    let behind = emitter.shift_left(B64, high, 2);
    let next = emitter.shift_right(U64, low, 62);
    let behind = emitter.or(B64, behind, next);
    let beyond = emitter.shift_left(B64, low, 2);
    let quarter = emitter.low(quarter);
    let behind = emitter.round(F64, S64, behind).into();
    let beyond = emitter.round(F64, U64, beyond).into();
    let [unit, half_pi, zero] = [2f64.powi(-64), FRAC_PI_2, 0.0].map(|number| on.number(number));
    let rest = on.fma(beyond, unit, behind);
    let rest = on.mul(rest, unit);
    let rest = on.mul(rest, half_pi);
    // sin is odd, and so is the number of quarters.
    let is_below = on.holds(Less, Number::F64(x), zero);
    let minus = on.neg(rest);
    let rest = on.choose(is_below, minus, rest);
    let minus = on.emitter.sub(U32, 0, quarter);
    let quarter = on.emitter.select(U32, minus, quarter, is_below);
    (rest, quarter)
}
