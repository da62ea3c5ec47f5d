// SPDX-License-Identifier: MIT OR Apache-2.0
//! a^b = e^(b ln |a|), and its sign.
//!
//! An error of ln a is multiplied by up to 745 in the exponent. So for f32 both are computed in f64; for f64 ln a
//! is the sum of two numbers with an error of some 2^-63 of it, and so is its product with b.

use super::arithmetic::Arithmetic;
use super::exp::{exp, exp_of_sum};
use super::ln::{LN_2_DOUBLE, ln, series, split};
use crate::Relation::{Equal, Less};
use crate::{F32, F64, Number};

/// What 1/3 in f64 lacks.
const THIRD_REST: f64 = 1.850_371_707_708_594e-17;
/// Terms after the first of T, as in `ln`.
const TERMS: usize = 11;

/// a^b, as `f64::powf`.
pub fn power(on: &mut Arithmetic, a: Number, b: Number) -> Number {
    let magnitude = on.abs(a);
    let value = match (magnitude, b) {
        (Number::F32(magnitude), Number::F32(exponent)) => {
            let [wide, exponent] =
                [magnitude, exponent].map(|value| on.emitter.convert(F64, F32, value).into());
            let mut wide_on = on.wide();
            let logarithm = ln(&mut wide_on, wide);
            let product = wide_on.mul(exponent, logarithm);
            let value = exp(&mut wide_on, product);
            on.narrow(value)
        }
        _ => double(on, magnitude, b),
    };
    let value = signed(on, a, b, value);
    exceptions(on, a, b, value)
}

/// The value of a magnitude, for a base with a minus: with a sign by whether the exponent is odd, and of a number
/// none if it is no whole number.
fn signed(on: &mut Arithmetic, a: Number, b: Number, value: Number) -> Number {
    let [zero, half, one] = [0.0, 0.5, 1.0].map(|number| on.number(number));
    let [nan, lowest] = [f64::NAN, f64::NEG_INFINITY].map(|number| on.number(number));
    let whole = on.floor(b);
    let is_whole = on.holds(Equal, whole, b);
    let halved = on.mul(b, half);
    let half_whole = on.floor(halved);
    let is_even = on.holds(Equal, half_whole, halved);
    let minus = on.neg(value);
    let of_whole = on.choose(is_even, value, minus);
    // Of minus 0 and what is infinite there is a value.
    let is_below = on.holds(Less, a, zero);
    let of_number = on.choose(is_below, nan, value);
    let is_lowest = on.holds(Equal, a, lowest);
    let of_broken = on.choose(is_lowest, value, of_number);
    let of_minus = on.choose(is_whole, of_whole, of_broken);
    let sign = on.with_sign(one, a);
    let has_minus = on.holds(Less, sign, zero);
    on.choose(has_minus, of_minus, value)
}

/// 1 to any power is 1, so is any number to the power 0, and -1 to a power that is infinite.
fn exceptions(on: &mut Arithmetic, a: Number, b: Number, value: Number) -> Number {
    let [zero, one, minus_one, infinite] =
        [0.0, 1.0, -1.0, f64::INFINITY].map(|number| on.number(number));
    let magnitude = on.abs(b);
    let is_infinite = on.holds(Equal, magnitude, infinite);
    let of_infinite = on.choose(is_infinite, one, value);
    let is_minus_one = on.holds(Equal, a, minus_one);
    let mut value = on.choose(is_minus_one, of_infinite, value);
    for (number, exception) in [(a, one), (b, zero)] {
        let is = on.holds(Equal, number, exception);
        value = on.choose(is, one, value);
    }
    value
}

/// A number and what it lacks.
type Pair = (Number, Number);

/// a b as a pair.
fn product(on: &mut Arithmetic, a: Number, b: Number) -> Pair {
    let high = on.mul(a, b);
    let minus = on.neg(high);
    let low = on.fma(a, b, minus);
    (high, low)
}

/// a + b as a pair, of |a| ≥ |b|.
fn sum(on: &mut Arithmetic, a: Number, b: Number) -> Pair {
    let high = on.add(a, b);
    let of_b = on.sub(high, a);
    let low = on.sub(b, of_b);
    (high, low)
}

/// a^b of f64, a not below 0.
fn double(on: &mut Arithmetic, a: Number, b: Number) -> Number {
    let (high, low) = logarithm(on, a);
    let (exponent, rest) = product(on, b, high);
    let rest = on.fma(b, low, rest);
    // Where the result is 0 or infinite the rest may be anything.
    let magnitude = on.abs(exponent);
    let [most, zero, infinite] = [1000.0, 0.0, f64::INFINITY].map(|number| on.number(number));
    let is_near = on.holds(Less, magnitude, most);
    let rest = on.choose(is_near, rest, zero);
    let value = exp_of_sum(on, exponent, Some(rest));
    let value = on.unless_nan(exponent, value);
    // Of 0 and what is infinite the logarithm above is not.
    let is_infinite = on.holds(Equal, a, infinite);
    let is_zero = on.holds(Equal, a, zero);
    let falls = on.holds(Less, b, zero);
    let of_zero = on.choose(falls, infinite, zero);
    let of_infinite = on.choose(falls, zero, infinite);
    let value = on.choose(is_zero, of_zero, value);
    let value = on.choose(is_infinite, of_infinite, value);
    let value = on.unless_nan(a, value);
    on.unless_nan(b, value)
}

/// ln a = k ln 2 + 2s (1 + T), T = s² (1/3 + s²/5 + …), as a pair.
fn logarithm(on: &mut Arithmetic, a: Number) -> Pair {
    let (m, k) = split(on, a);
    let [one, half, two] = [1.0, 0.5, 2.0].map(|number| on.number(number));
    let f = on.sub(m, one);
    // s = f / (m + 1), and what it lacks: what its product with m + 1 lacks of f, times 1 / (m + 1) = (1 - s) / 2.
    let (d, d_rest) = sum(on, one, m);
    let s = on.div(f, d);
    let minus_s = on.neg(s);
    let lacks = on.fma(minus_s, d, f);
    let lacks = on.fma(minus_s, d_rest, lacks);
    let inverse = on.sub(one, s);
    let inverse = on.mul(inverse, half);
    let s_rest = on.mul(lacks, inverse);
    // z = s²
    let (z, z_rest) = product(on, s, s);
    let double = on.add(s, s);
    let z_rest = on.fma(double, s_rest, z_rest);
    // Q = 1/3 + z/5 + …
    let third = on.number(1.0 / 3.0);
    let third_rest = on.number(THIRD_REST);
    let tail = on.polynomial(&series(TERMS, 2), z);
    let tail = on.mul(tail, z);
    let (q, q_rest) = sum(on, third, tail);
    let q_rest = on.add(q_rest, third_rest);
    // T = z Q
    let (t, t_rest) = product(on, z, q);
    let cross = on.mul(z_rest, q);
    let cross = on.fma(z, q_rest, cross);
    let t_rest = on.add(t_rest, cross);
    // s T, then s + s T, twice
    let (g, g_rest) = product(on, s, t);
    let cross = on.mul(s_rest, t);
    let cross = on.fma(s, t_rest, cross);
    let g_rest = on.add(g_rest, cross);
    let (h, h_rest) = sum(on, s, g);
    let rest = on.add(s_rest, g_rest);
    let h_rest = on.add(h_rest, rest);
    let [h, h_rest] = [h, h_rest].map(|part| on.mul(part, two));
    let [high, low] = LN_2_DOUBLE.map(|part| on.number(part));
    let octaves = on.mul(k, high);
    let (high, rest) = sum(on, octaves, h);
    let h_rest = on.fma(k, low, h_rest);
    let rest = on.add(rest, h_rest);
    (high, rest)
}
