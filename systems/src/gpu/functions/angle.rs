// SPDX-License-Identifier: MIT OR Apache-2.0
//! sin x and cos x: x = q π/2 + r with |r| ≤ π/4 or little more, and the Taylor polynomials of r. Small x lose a
//! multiple of π/2 in three parts (Cody and Waite); large ones are multiplied by as many digits of 2/π as
//! it takes, in whole numbers of 64 bits (Payne and Hanek), also those of f32.
//!
//! # Sources
//! Payne, Hanek: Radian reduction for trigonometric functions. ACM SIGNUM Newsletter 18 (1983).

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

use super::arithmetic::Arithmetic;
use crate::gpu::emitter::Class;

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
pub fn sin(on: &mut Arithmetic, x: &str) -> String {
    wave(on, x, 0)
}

/// cos x = sin(x + π/2).
pub fn cos(on: &mut Arithmetic, x: &str) -> String {
    wave(on, x, 1)
}

/// sin(x + quarters π/2).
fn wave(on: &mut Arithmetic, x: &str, quarters: u32) -> String {
    let (rest, quarter) = reduce(on, x);
    let terms = on.either(TERMS.0, TERMS.1);
    let square = on.mul(&rest, &rest);
    // sin r = r + r r² (-1/3! + …), cos r = 1 + r² (-1/2! + …)
    let sine = on.polynomial(&taylor(terms, 3), &square);
    let cube = on.mul(&square, &rest);
    let sine = on.fma(&sine, &cube, &rest);
    let cosine = on.polynomial(&taylor(terms, 2), &square);
    let one = on.number(1.0);
    let cosine = on.fma(&cosine, &square, &one);
    let quarter = on.set(Class::B32, "add.u32", format_args!("{quarter}, {quarters}"));
    let [odd, lower] = [1, 2].map(|bit| {
        let bit = on.set(Class::B32, "and.b32", format_args!("{quarter}, {bit}"));
        on.set(Class::Predicate, "setp.ne.u32", format_args!("{bit}, 0"))
    });
    let value = on.choose(&odd, &cosine, &sine);
    let minus = on.neg(&value);
    on.choose(&lower, &minus, &value)
}

/// The coefficients of Σ (-1)^(n + 1) z^n / (2n + first)!, the highest first.
fn taylor(terms: usize, first: usize) -> Vec<f64> {
    let factorial = |n: usize| (1..=n).map(|factor| factor as f64).product::<f64>();
    let sign = |n: usize| if n.is_multiple_of(2) { -1.0 } else { 1.0 };
    (0..terms).rev().map(|n| sign(n) / factorial(2 * n + first)).collect()
}

/// r, and q as 32 bits, of which only the lowest two count.
fn reduce(on: &mut Arithmetic, x: &str) -> (String, String) {
    let (number, quarter) = on.nearest(x, FRAC_2_PI);
    let mut rest = x.to_owned();
    for part in on.either(HALF_PI_SINGLE, HALF_PI_DOUBLE) {
        let part = on.number(-part);
        rest = on.fma(&number, &part, &rest);
    }
    let magnitude = on.abs(x);
    let [small, infinite] =
        [on.either(SMALL.0, SMALL.1), f64::INFINITY].map(|number| on.number(number));
    let is_large = on.holds("gt", &magnitude, &small);
    // What is infinite has no angle: the parts above leave what is not a number.
    let below = format!("setp.lt.and.{}", on.either("f32", "f64"));
    let is_large =
        on.set(Class::Predicate, &below, format_args!("{magnitude}, {infinite}, {is_large}"));
    let end = on.only_where(&is_large);
    if on.is_wide() {
        let (exact, exact_quarter) = reduce_large(on, x);
        on.assign(&rest, &exact);
        on.assign_whole(&quarter, &exact_quarter);
    } else {
        let wide = on.set(Class::F64, "cvt.f64.f32", format_args!("{x}"));
        let (exact, exact_quarter) = reduce_large(&mut on.wide(), &wide);
        let exact = on.set(Class::F32, "cvt.rn.f32.f64", format_args!("{exact}"));
        on.assign(&rest, &exact);
        on.assign_whole(&quarter, &exact_quarter);
    }
    on.end(&end);
    (rest, quarter)
}

/// The same of f64 from 2^20 on: |x| = M 2^e with a whole M of 53 bits. Of the digits of 2^e 2/π those count that are
/// worth 2 to 2^-190: what is above makes multiples of 4 of M, what is below makes less than 2^-137.
fn reduce_large(on: &mut Arithmetic, x: &str) -> (String, String) {
    let magnitude = on.abs(x);
    let bits = on.bits(&magnitude);
    let mut whole =
        |opcode: &str, operands: std::fmt::Arguments| on.set(Class::B64, opcode, operands);
    let mantissa = whole("and.b64", format_args!("{bits}, {}", (1u64 << 52) - 1));
    let mantissa = whole("or.b64", format_args!("{mantissa}, {}", 1u64 << 52));
    let exponent = whole("shr.u64", format_args!("{bits}, 52"));
    // e is the exponent's bits less 1075; the digit that is worth 2 is the (e + 64 - 1)th, of which 64 are zeros
    // and two are counted from 0.
    let place = whole("sub.s64", format_args!("{exponent}, {}", 1075 - 64 + 2));
    let word = whole("shr.u64", format_args!("{place}, 6"));
    let word = whole("shl.b64", format_args!("{word}, 3"));
    let shift = whole("and.b64", format_args!("{place}, 63"));
    let shift = on.set(Class::B32, "cvt.u32.u64", format_args!("{shift}"));
    let back = on.set(Class::B32, "sub.u32", format_args!("64, {shift}"));
    let start = on.digits();
    let mut whole =
        |opcode: &str, operands: std::fmt::Arguments| on.set(Class::B64, opcode, operands);
    let start = whole("add.u64", format_args!("{start}, {word}"));
    let words: Vec<String> = (0..4)
        .map(|index| whole("ld.const.u64", format_args!("[{start}+{}]", 8 * index)))
        .collect();
    // A shift by 64 leaves 0.
    let [w0, w1, w2] = [0, 1, 2].map(|index: usize| {
        let high = whole("shl.b64", format_args!("{}, {shift}", words[index]));
        let low = whole("shr.u64", format_args!("{}, {back}", words[index + 1]));
        whole("or.b64", format_args!("{high}, {low}"))
    });
    // The upper two words of M (w0 w1 w2) without what is beyond the first.
    let carried = whole("mul.hi.u64", format_args!("{w2}, {mantissa}"));
    let low = whole("mul.lo.u64", format_args!("{w1}, {mantissa}"));
    let low = whole("add.u64", format_args!("{low}, {carried}"));
    let high = whole("mul.hi.u64", format_args!("{w1}, {mantissa}"));
    let above = whole("mul.lo.u64", format_args!("{w0}, {mantissa}"));
    let high = whole("add.u64", format_args!("{high}, {above}"));
    let one_more = whole("add.u64", format_args!("{high}, 1"));
    let overflows = on.set(Class::Predicate, "setp.lt.u64", format_args!("{low}, {carried}"));
    let mut whole =
        |opcode: &str, operands: std::fmt::Arguments| on.set(Class::B64, opcode, operands);
    let high = whole("selp.u64", format_args!("{one_more}, {high}, {overflows}"));
    // Two digits before the point: the quarter, to the nearest; what is behind is then from -½ to ½.
    let nearest = whole("add.u64", format_args!("{high}, {}", 1u64 << 61));
    let quarter = whole("shr.u64", format_args!("{nearest}, 62"));
    let behind = whole("shl.b64", format_args!("{high}, 2"));
    let next = whole("shr.u64", format_args!("{low}, 62"));
    let behind = whole("or.b64", format_args!("{behind}, {next}"));
    let beyond = whole("shl.b64", format_args!("{low}, 2"));
    let quarter = on.set(Class::B32, "cvt.u32.u64", format_args!("{quarter}"));
    let behind = on.set(Class::F64, "cvt.rn.f64.s64", format_args!("{behind}"));
    let beyond = on.set(Class::F64, "cvt.rn.f64.u64", format_args!("{beyond}"));
    let [unit, half_pi, zero] = [2f64.powi(-64), FRAC_PI_2, 0.0].map(|number| on.number(number));
    let rest = on.fma(&beyond, &unit, &behind);
    let rest = on.mul(&rest, &unit);
    let rest = on.mul(&rest, &half_pi);
    // sin is odd, and so is the number of quarters.
    let is_below = on.holds("lt", x, &zero);
    let minus = on.neg(&rest);
    let rest = on.choose(&is_below, &minus, &rest);
    let minus = on.set(Class::B32, "sub.u32", format_args!("0, {quarter}"));
    let quarter = on.set(Class::B32, "selp.u32", format_args!("{minus}, {quarter}, {is_below}"));
    (rest, quarter)
}
