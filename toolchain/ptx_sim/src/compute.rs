// SPDX-License-Identifier: MIT OR Apache-2.0
//! What instructions on registers compute, as the PTX ISA says.

use crate::convert::{from_float, to_float};
use crate::types::{Kind, Ty, extended, truncated};

/// An operation on up to three values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The first operand.
    Move,
    Add,
    Sub,
    MulLow,
    MulHigh,
    MulWide,
    MadLow,
    MadHigh,
    MadWide,
    Fma,
    Div,
    Rem,
    Neg,
    Abs,
    Min,
    Max,
    And,
    Or,
    Xor,
    Not,
    ShiftLeft,
    ShiftRight,
    FunnelLeft {
        clamps: bool,
    },
    FunnelRight {
        clamps: bool,
    },
    Select,
    Population,
    LeadingZeros,
    Reverse,
    Permute,
    Sqrt,
    Reciprocal,
    ReciprocalSqrt,
    Exp2,
    Log2,
    Sin,
    Cos,
    Tanh,
    CopySign,
    ByteProducts,
    Logic(u8),
    ExtractField,
    FindLeading {
        shifts: bool,
    },
    SumOfDifferences,
    /// Whether it is no number, infinite, a number of full precision, …
    Test(Class),
}

/// What `testp` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

/// How an operation rounds or limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mode {
    /// Numbers below the normal range are 0.
    pub flushes: bool,
    /// The result is limited to 0 to 1, or to its type.
    pub saturates: bool,
    /// No number stays none in a minimum.
    pub propagates: bool,
}

/// The result of an operation on values of a type.
pub fn compute(what: What, ty: Ty, mode: Mode, operands: [u64; 3]) -> u64 {
    if ty.is_float() && !matches!(what, What::Move | What::Select | What::Test(_)) {
        return float(what, ty, mode, operands);
    }
    integer(what, ty, mode, operands)
}

fn integer(what: What, ty: Ty, mode: Mode, [a, b, c]: [u64; 3]) -> u64 {
    let bits = ty.bits;
    let number = |value: u64| ty.integer(value);
    // Twice the bits, as `wide` gives.
    let wide = |value: i128| truncated(value as u64, 2 * bits);
    let limited = |value: i128| match (mode.saturates, ty.kind) {
        (true, Kind::Signed) => {
            let most = (1i128 << (bits - 1)) - 1;
            value.clamp(-most - 1, most)
        }
        _ => value,
    };
    let high = |product: i128| product >> bits;
    let result = match what {
        What::Move => a,
        What::Add => limited(number(a) + number(b)) as u64,
        What::Sub => limited(number(a) - number(b)) as u64,
        What::MulLow => a.wrapping_mul(b),
        What::MulHigh => high_product(ty, a, b),
        What::MulWide => return wide(number(a) * number(b)),
        What::MadLow => a.wrapping_mul(b).wrapping_add(c),
        What::MadHigh => (high(number(a).wrapping_mul(number(b)))).wrapping_add(number(c)) as u64,
        What::MadWide => return wide((number(a) * number(b)).wrapping_add(i128::from(c))),
        // What PTX leaves open, all bits are.
        What::Div => number(a).checked_div(number(b)).map_or(u64::MAX, |it| it as u64),
        What::Rem => number(a).checked_rem(number(b)).map_or(u64::MAX, |it| it as u64),
        What::Neg => (-number(a)) as u64,
        What::Abs => number(a).unsigned_abs() as u64,
        What::Min => number(a).min(number(b)) as u64,
        What::Max => number(a).max(number(b)) as u64,
        What::And => a & b,
        What::Or => a | b,
        What::Xor => a ^ b,
        What::Not => !a,
        What::ShiftLeft => match truncated(b, 32) {
            by if by < u64::from(bits) => a << by,
            _ => 0,
        },
        What::ShiftRight => (number(a) >> truncated(b, 32).min(127)) as u64,
        What::FunnelLeft { clamps } => {
            let by = funnel(c, clamps);
            ((truncated(b, 32) << 32 | truncated(a, 32)) << by >> 32) & 0xffff_ffff
        }
        What::FunnelRight { clamps } => {
            let by = funnel(c, clamps);
            (truncated(b, 32) << 32 | truncated(a, 32)) >> by
        }
        What::Select => {
            if c & 1 != 0 {
                a
            } else {
                b
            }
        }
        What::Population => return u64::from(ty.truncated(a).count_ones()),
        What::LeadingZeros => return u64::from(ty.truncated(a).leading_zeros() + bits - 64),
        What::Reverse => a.reverse_bits() >> (64 - bits),
        What::Permute => permuted(truncated(a, 32) | b << 32, c),
        What::ByteProducts => byte_products(ty, [a, b, c]),
        What::Logic(table) => logic(table, [a, b, c]),
        What::ExtractField => extracted(ty, [a, b, c]),
        What::FindLeading { shifts } => return leading(ty, a, shifts),
        What::SumOfDifferences => (number(a).abs_diff(number(b)) as u64).wrapping_add(c),
        What::Test(class) => return u64::from(is(class, ty, a)),
        What::CopySign => a & (1 << (bits - 1)) | b & !(1 << (bits - 1)),
        _ => unreachable!("decoded for floating-point numbers only"),
    };
    ty.truncated(result)
}

fn high_product(ty: Ty, a: u64, b: u64) -> u64 {
    match (ty.kind, ty.bits) {
        // The product of two unsigned words has more than an `i128`.
        (Kind::Signed, bits) => ((ty.integer(a) * ty.integer(b)) >> bits) as u64,
        (_, bits) => ((u128::from(ty.truncated(a)) * u128::from(ty.truncated(b))) >> bits) as u64,
    }
}

fn funnel(by: u64, clamps: bool) -> u64 {
    let by = truncated(by, 32);
    if clamps { by.min(32) } else { by & 31 }
}

/// Four bytes of eight, or their signs.
fn permuted(bytes: u64, selector: u64) -> u64 {
    let byte = |digit: u64| {
        let byte = bytes >> (8 * (digit & 7)) & 255;
        if digit & 8 == 0 { byte } else { u64::from(byte >> 7 != 0) * 255 }
    };
    (0..4).map(|at| byte(selector >> (4 * at) & 15) << (8 * at)).sum()
}

/// `dp4a.u32.s32`, or other signs where `ty` says so: the first factors unsigned, the second ones signed.
fn byte_products(_: Ty, [a, b, c]: [u64; 3]) -> u64 {
    let product = |at: u32| (a >> (8 * at) & 255) as i64 * extended(b >> (8 * at), 8);
    let sum: i64 = (0..4).map(product).sum();
    (extended(c, 32) + sum) as u64
}

fn logic(table: u8, [a, b, c]: [u64; 3]) -> u64 {
    let term = |at: u8| {
        let of = |word: u64, bit: u8| if at >> bit & 1 != 0 { word } else { !word };
        of(a, 2) & of(b, 1) & of(c, 0)
    };
    (0..8).filter(|at| table >> at & 1 != 0).map(term).fold(0, |all, term| all | term)
}

fn extracted(ty: Ty, [a, start, len]: [u64; 3]) -> u64 {
    let (start, len) = ((start & 255) as u32, (len & 255) as u32);
    let signed = ty.kind == Kind::Signed;
    let value = ty.integer(a) >> start.min(127);
    match len {
        0 => 0,
        len if len >= 64 => value as u64,
        len if signed => extended(truncated(value as u64, len), len) as u64,
        len => truncated(value as u64, len),
    }
}

fn leading(ty: Ty, a: u64, shifts: bool) -> u64 {
    let value = match ty.kind {
        Kind::Signed if ty.integer(a) < 0 => ty.truncated(!a),
        _ => ty.truncated(a),
    };
    match value {
        0 => 0xffff_ffff,
        value => {
            let at = u64::from(63 - value.leading_zeros());
            if shifts { u64::from(ty.bits) - 1 - at } else { at }
        }
    }
}

fn is(class: Class, ty: Ty, a: u64) -> bool {
    let value = to_float(ty, a);
    let normal = match ty.bits {
        32 => (value as f32).is_normal(),
        _ => value.is_normal(),
    };
    match class {
        Class::Finite => value.is_finite(),
        Class::Infinite => value.is_infinite(),
        Class::Number => !value.is_nan(),
        Class::NotANumber => value.is_nan(),
        Class::Normal => normal,
        Class::Subnormal => value != 0.0 && value.is_finite() && !normal,
    }
}

fn float(what: What, ty: Ty, mode: Mode, operands: [u64; 3]) -> u64 {
    let sign = 1u64 << (ty.bits - 1);
    match what {
        What::CopySign => {
            return operands[0] & sign | ty.truncated(operands[1]) & !sign;
        }
        What::Neg => return flushed_bits(ty, mode, ty.truncated(operands[0] ^ sign)),
        What::Abs => return flushed_bits(ty, mode, ty.truncated(operands[0]) & !sign),
        _ => {}
    }
    let flushed = |value: f64| match mode.flushes && value.abs() < smallest(ty) {
        true => 0f64.copysign(value),
        false => value,
    };
    let [a, b, c] = operands.map(|bits| flushed(to_float(ty, bits)));
    let result = match what {
        What::Add => a + b,
        What::Sub => a - b,
        What::MulLow => a * b,
        What::Fma => return limited(ty, mode, flushed_bits(ty, mode, fused(ty, [a, b, c]))),
        What::Div => a / b,
        What::Min => smaller(mode, a, b),
        What::Max => -smaller(mode, -a, -b),
        What::Sqrt => a.sqrt(),
        What::Reciprocal => 1.0 / a,
        What::ReciprocalSqrt => 1.0 / a.sqrt(),
        What::Exp2 => a.exp2(),
        What::Log2 => a.log2(),
        What::Sin => a.sin(),
        What::Cos => a.cos(),
        What::Tanh => a.tanh(),
        _ => unreachable!("decoded for whole numbers only"),
    };
    limited(ty, mode, from_float(ty, flushed(result)))
}

/// The smallest number of full precision.
fn smallest(ty: Ty) -> f64 {
    match (ty.kind, ty.bits) {
        (Kind::Float, 16) => half::f16::MIN_POSITIVE.to_f64(),
        _ => f64::from(f32::MIN_POSITIVE),
    }
}

fn flushed_bits(ty: Ty, mode: Mode, bits: u64) -> u64 {
    match mode.flushes && to_float(ty, bits).abs() < smallest(ty) {
        true => bits & 1 << (ty.bits - 1),
        false => bits,
    }
}

/// Of f64, one operation rounded again to a shorter type is the operation in that type, but not for three operands.
fn fused(ty: Ty, [a, b, c]: [f64; 3]) -> u64 {
    match ty.bits {
        64 => a.mul_add(b, c).to_bits(),
        32 => u64::from((a as f32).mul_add(b as f32, c as f32).to_bits()),
        // Products of 16-bit numbers are exact in f64, and so is nearly every sum.
        _ => from_float(ty, a.mul_add(b, c)),
    }
}

fn limited(ty: Ty, mode: Mode, bits: u64) -> u64 {
    if !mode.saturates {
        return bits;
    }
    let value = to_float(ty, bits);
    from_float(ty, if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) })
}

fn smaller(mode: Mode, a: f64, b: f64) -> f64 {
    match (a.is_nan(), b.is_nan()) {
        (true, _) | (_, true) if mode.propagates => f64::NAN,
        (true, _) => b,
        (_, true) => a,
        // -0 is below 0.
        _ if a == b => {
            if a.is_sign_negative() {
                a
            } else {
                b
            }
        }
        _ => a.min(b),
    }
}
