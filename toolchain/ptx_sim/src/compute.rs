// SPDX-License-Identifier: MIT OR Apache-2.0
//! What instructions on registers compute, as the PTX ISA says.

use crate::convert::{from_float, to_float};
use crate::types::{PtxType, TypeKind, extended, truncated};

/// An operation on up to three values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithmeticOp {
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
pub struct OperationMode {
    /// Numbers below the normal range are 0.
    pub flushes: bool,
    /// The result is limited to 0 to 1, or to its type.
    pub saturates: bool,
    /// No number stays none in a minimum.
    pub propagates: bool,
}

/// The result of an operation on values of a type.
#[inline]
pub fn compute(what: ArithmeticOp, ty: PtxType, mode: OperationMode, operands: [u64; 3]) -> u64 {
    let quick = if mode == OperationMode::default() { quick(what, ty, operands) } else { None };
    quick.unwrap_or_else(|| any(what, ty, mode, operands))
}

/// Sums and products of numbers of a type; nothing of others.
macro_rules! of_floats {
    ($what:expr, $operands:expr) => {{
        let [a, b, c] = $operands;
        match $what {
            ArithmeticOp::Add => a + b,
            ArithmeticOp::Sub => a - b,
            ArithmeticOp::MulLow => a * b,
            ArithmeticOp::Fma => a.mul_add(b, c),
            _ => return None,
        }
    }};
}

/// What most instructions compute, in the type itself. A sum or product of f32 has the same bits as that of f64, rounded again.
#[inline]
fn quick(what: ArithmeticOp, ty: PtxType, [a, b, c]: [u64; 3]) -> Option<u64> {
    match (ty.kind, ty.bits) {
        (TypeKind::Float, 32) => {
            let value = of_floats!(what, [a, b, c].map(|bits| f32::from_bits(bits as u32)));
            Some(u64::from(value.to_bits()))
        }
        (TypeKind::Float, 64) => Some(of_floats!(what, [a, b, c].map(f64::from_bits)).to_bits()),
        (TypeKind::Float | TypeKind::Brain, _) => None,
        _ => {
            let value = match what {
                ArithmeticOp::Move => a,
                ArithmeticOp::Add => a.wrapping_add(b),
                ArithmeticOp::Sub => a.wrapping_sub(b),
                ArithmeticOp::MulLow => a.wrapping_mul(b),
                ArithmeticOp::MadLow => a.wrapping_mul(b).wrapping_add(c),
                ArithmeticOp::And => a & b,
                ArithmeticOp::Or => a | b,
                ArithmeticOp::Xor => a ^ b,
                _ => return None,
            };
            Some(ty.truncated(value))
        }
    }
}

/// The result of any operation.
fn any(what: ArithmeticOp, ty: PtxType, mode: OperationMode, operands: [u64; 3]) -> u64 {
    if ty.is_float()
        && !matches!(what, ArithmeticOp::Move | ArithmeticOp::Select | ArithmeticOp::Test(_))
    {
        return float(what, ty, mode, operands);
    }
    integer(what, ty, mode, operands)
}

fn integer(what: ArithmeticOp, ty: PtxType, mode: OperationMode, [a, b, c]: [u64; 3]) -> u64 {
    let bits = ty.bits;
    let number = |value: u64| ty.integer(value);
    // Twice the bits, as `wide` gives.
    let wide = |value: i128| truncated(value as u64, 2 * bits);
    let limited = |value: i128| match (mode.saturates, ty.kind) {
        (true, TypeKind::Signed) => {
            let most = (1i128 << (bits - 1)) - 1;
            value.clamp(-most - 1, most)
        }
        _ => value,
    };
    let high = |product: i128| product >> bits;
    let result = match what {
        ArithmeticOp::Move => a,
        ArithmeticOp::Add => limited(number(a) + number(b)) as u64,
        ArithmeticOp::Sub => limited(number(a) - number(b)) as u64,
        ArithmeticOp::MulLow => a.wrapping_mul(b),
        ArithmeticOp::MulHigh => high_product(ty, a, b),
        ArithmeticOp::MulWide => return wide(number(a) * number(b)),
        ArithmeticOp::MadLow => a.wrapping_mul(b).wrapping_add(c),
        ArithmeticOp::MadHigh => {
            (high(number(a).wrapping_mul(number(b)))).wrapping_add(number(c)) as u64
        }
        ArithmeticOp::MadWide => return wide((number(a) * number(b)).wrapping_add(i128::from(c))),
        // What PTX leaves open, all bits are.
        ArithmeticOp::Div => number(a).checked_div(number(b)).map_or(u64::MAX, |it| it as u64),
        ArithmeticOp::Rem => number(a).checked_rem(number(b)).map_or(u64::MAX, |it| it as u64),
        ArithmeticOp::Neg => (-number(a)) as u64,
        ArithmeticOp::Abs => number(a).unsigned_abs() as u64,
        ArithmeticOp::Min => number(a).min(number(b)) as u64,
        ArithmeticOp::Max => number(a).max(number(b)) as u64,
        ArithmeticOp::And => a & b,
        ArithmeticOp::Or => a | b,
        ArithmeticOp::Xor => a ^ b,
        ArithmeticOp::Not => !a,
        ArithmeticOp::ShiftLeft => match truncated(b, 32) {
            by if by < u64::from(bits) => a << by,
            _ => 0,
        },
        ArithmeticOp::ShiftRight => (number(a) >> truncated(b, 32).min(127)) as u64,
        ArithmeticOp::FunnelLeft { clamps } => {
            let by = funnel(c, clamps);
            ((truncated(b, 32) << 32 | truncated(a, 32)) << by >> 32) & 0xffff_ffff
        }
        ArithmeticOp::FunnelRight { clamps } => {
            let by = funnel(c, clamps);
            (truncated(b, 32) << 32 | truncated(a, 32)) >> by
        }
        ArithmeticOp::Select => {
            if c & 1 != 0 {
                a
            } else {
                b
            }
        }
        ArithmeticOp::Population => return u64::from(ty.truncated(a).count_ones()),
        ArithmeticOp::LeadingZeros => {
            return u64::from(ty.truncated(a).leading_zeros() + bits - 64);
        }
        ArithmeticOp::Reverse => a.reverse_bits() >> (64 - bits),
        ArithmeticOp::Permute => permuted(truncated(a, 32) | b << 32, c),
        ArithmeticOp::ByteProducts => byte_products(ty, [a, b, c]),
        ArithmeticOp::Logic(table) => logic(table, [a, b, c]),
        ArithmeticOp::ExtractField => extracted(ty, [a, b, c]),
        ArithmeticOp::FindLeading { shifts } => return leading(ty, a, shifts),
        ArithmeticOp::SumOfDifferences => (number(a).abs_diff(number(b)) as u64).wrapping_add(c),
        ArithmeticOp::Test(class) => return u64::from(is(class, ty, a)),
        ArithmeticOp::CopySign => a & (1 << (bits - 1)) | b & !(1 << (bits - 1)),
        _ => unreachable!("decoded for floating-point numbers only"),
    };
    ty.truncated(result)
}

fn high_product(ty: PtxType, a: u64, b: u64) -> u64 {
    match (ty.kind, ty.bits) {
        // The product of two unsigned words has more than an `i128`.
        (TypeKind::Signed, bits) => ((ty.integer(a) * ty.integer(b)) >> bits) as u64,
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
fn byte_products(_: PtxType, [a, b, c]: [u64; 3]) -> u64 {
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

fn extracted(ty: PtxType, [a, start, len]: [u64; 3]) -> u64 {
    let (start, len) = ((start & 255) as u32, (len & 255) as u32);
    let signed = ty.kind == TypeKind::Signed;
    let value = ty.integer(a) >> start.min(127);
    match len {
        0 => 0,
        len if len >= 64 => value as u64,
        len if signed => extended(truncated(value as u64, len), len) as u64,
        len => truncated(value as u64, len),
    }
}

fn leading(ty: PtxType, a: u64, shifts: bool) -> u64 {
    let value = match ty.kind {
        TypeKind::Signed if ty.integer(a) < 0 => ty.truncated(!a),
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

fn is(class: Class, ty: PtxType, a: u64) -> bool {
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

fn float(what: ArithmeticOp, ty: PtxType, mode: OperationMode, operands: [u64; 3]) -> u64 {
    let sign = 1u64 << (ty.bits - 1);
    match what {
        ArithmeticOp::CopySign => {
            return operands[0] & sign | ty.truncated(operands[1]) & !sign;
        }
        ArithmeticOp::Neg => return flushed_bits(ty, mode, ty.truncated(operands[0] ^ sign)),
        ArithmeticOp::Abs => return flushed_bits(ty, mode, ty.truncated(operands[0]) & !sign),
        _ => {}
    }
    let flushed = |value: f64| match mode.flushes && value.abs() < smallest(ty) {
        true => 0f64.copysign(value),
        false => value,
    };
    let [a, b, c] = operands.map(|bits| flushed(to_float(ty, bits)));
    let result = match what {
        ArithmeticOp::Add => a + b,
        ArithmeticOp::Sub => a - b,
        ArithmeticOp::MulLow => a * b,
        ArithmeticOp::Fma => {
            return limited(ty, mode, flushed_bits(ty, mode, fused(ty, [a, b, c])));
        }
        ArithmeticOp::Div => a / b,
        ArithmeticOp::Min => smaller(mode, a, b),
        ArithmeticOp::Max => -smaller(mode, -a, -b),
        ArithmeticOp::Sqrt => a.sqrt(),
        ArithmeticOp::Reciprocal => 1.0 / a,
        ArithmeticOp::ReciprocalSqrt => 1.0 / a.sqrt(),
        ArithmeticOp::Exp2 => a.exp2(),
        ArithmeticOp::Log2 => a.log2(),
        ArithmeticOp::Sin => a.sin(),
        ArithmeticOp::Cos => a.cos(),
        ArithmeticOp::Tanh => a.tanh(),
        _ => unreachable!("decoded for whole numbers only"),
    };
    limited(ty, mode, from_float(ty, flushed(result)))
}

/// The smallest number of full precision.
fn smallest(ty: PtxType) -> f64 {
    match (ty.kind, ty.bits) {
        (TypeKind::Float, 16) => half::f16::MIN_POSITIVE.to_f64(),
        _ => f64::from(f32::MIN_POSITIVE),
    }
}

fn flushed_bits(ty: PtxType, mode: OperationMode, bits: u64) -> u64 {
    match mode.flushes && to_float(ty, bits).abs() < smallest(ty) {
        true => bits & 1 << (ty.bits - 1),
        false => bits,
    }
}

/// Of f64, one operation rounded again to a shorter type is the operation in that type, but not for three operands.
fn fused(ty: PtxType, [a, b, c]: [f64; 3]) -> u64 {
    match ty.bits {
        64 => a.mul_add(b, c).to_bits(),
        32 => u64::from((a as f32).mul_add(b as f32, c as f32).to_bits()),
        // Products of 16-bit numbers are exact in f64, and so is nearly every sum.
        _ => from_float(ty, a.mul_add(b, c)),
    }
}

fn limited(ty: PtxType, mode: OperationMode, bits: u64) -> u64 {
    if !mode.saturates {
        return bits;
    }
    let value = to_float(ty, bits);
    from_float(ty, if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) })
}

fn smaller(mode: OperationMode, a: f64, b: f64) -> f64 {
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
