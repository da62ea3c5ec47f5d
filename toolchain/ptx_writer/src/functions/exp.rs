// SPDX-License-Identifier: MIT OR Apache-2.0
//! e^x: x = k ln 2 + r with |r| ≤ ½ ln 2, e^x = 2^k e^r, and e^r by its Taylor polynomial, whose remainder is below
//! 0.1 of a rounding.

use super::arithmetic::Arithmetic;
use crate::{B32, Number, Register, S32, U32};
use std::f64::consts::LOG2_E;

/// ln 2 as two numbers of f32; the product of the first with a whole number that fits the exponent, subtracted
/// from what is near to it, leaves a number of f32.
const LN_2_SINGLE: [f64; 2] = [0.693_147_182_464_599_6, -1.904_654_212_125_933_6e-9];
/// ln 2 as two numbers of f64, of which the product of the first leaves a number of f64.
const LN_2_DOUBLE: [f64; 2] = [std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17];
/// Degree of the polynomial in f32 and f64.
const DEGREES: (usize, usize) = (7, 13);

/// e^x.
pub fn exp(on: &mut Arithmetic, x: Number) -> Number {
    let power = exp_of_sum(on, x, None);
    on.unless_nan(x, power)
}

/// e^(x + more) of a small part more, if there is one; any number where x is not.
pub fn exp_of_sum(on: &mut Arithmetic, x: Number, more: Option<Number>) -> Number {
    // Beyond, the result is 0 or infinite anyway, after the powers of two below.
    let most = on.either(150.0, 1000.0);
    let (low, high) = (on.number(-most), on.number(most));
    let x = on.max(x, low);
    let x = on.min(x, high);
    let (rest, k) = reduce(on, x);
    let rest = match more {
        Some(more) => on.add(rest, more),
        None => rest,
    };
    let power = on.polynomial(&taylor(on, 0), rest);
    // In two halves: 2^k itself may be no normal number where the result is one.
    let half = on.emitter.shift_right(S32, k, 1);
    let other = on.emitter.sub(U32, k, half);
    let [half, other] = [half, other].map(|k| on.power_of_two(k));
    let power = on.mul(power, half);
    on.mul(power, other)
}

/// e^x - 1 of 0 ≤ x ≤ 50, exact to some roundings also near 0.
pub fn exp_less_one(on: &mut Arithmetic, x: Number) -> Number {
    let (rest, k) = reduce(on, x);
    let tail = on.polynomial(&taylor(on, 2), rest);
    let square = on.mul(rest, rest);
    let part = on.fma(square, tail, rest);
    let power = on.power_of_two(k);
    let one = on.number(1.0);
    let less = on.sub(power, one);
    on.fma(part, power, less)
}

/// What is left of x after the multiple of ln 2 that is next to it, and which that is.
fn reduce(on: &mut Arithmetic, x: Number) -> (Number, Register<B32>) {
    let (number, k) = on.nearest(x, LOG2_E);
    let parts = on.either(LN_2_SINGLE, LN_2_DOUBLE);
    let mut rest = x;
    for part in parts {
        let part = on.number(-part);
        rest = on.fma(number, part, rest);
    }
    (rest, k)
}

/// The coefficients of Σ r^n / (n + first)!, the highest first.
fn taylor(on: &Arithmetic, first: usize) -> Vec<f64> {
    let degree = on.either(DEGREES.0, DEGREES.1);
    let factorial = |n: usize| (1..=n).map(|factor| factor as f64).product::<f64>();
    (first..=degree).rev().map(|n| 1.0 / factorial(n)).collect()
}
