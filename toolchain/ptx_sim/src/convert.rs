// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conversions between types of registers.

use crate::types::{PtxType, TypeKind};
use half::{bf16, f16};

/// The value of bits.
pub fn to_float(ty: PtxType, bits: u64) -> f64 {
    match (ty.kind, ty.bits) {
        (TypeKind::Brain, _) => bf16::from_bits(bits as u16).to_f64(),
        (_, 16) => f16::from_bits(bits as u16).to_f64(),
        (_, 32) => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from_bits(bits),
    }
}

/// The bits of a value, rounded to the nearest.
pub fn from_float(ty: PtxType, value: f64) -> u64 {
    match (ty.kind, ty.bits) {
        (TypeKind::Brain, _) => u64::from(bf16::from_f32(odd(value)).to_bits()),
        (_, 16) => u64::from(f16::from_f32(odd(value)).to_bits()),
        (_, 32) => u64::from((value as f32).to_bits()),
        _ => value.to_bits(),
    }
}

/// The nearest f32 of those whose last bit is 1, unless the number is an f32: rounded again to 16 bits, it is as if rounded
/// once.
fn odd(value: f64) -> f32 {
    let nearest = value as f32;
    let is_exact = f64::from(nearest) == value || !value.is_finite();
    if is_exact || nearest.to_bits() & 1 != 0 {
        return nearest;
    }
    // The number lies between this and its neighbour, of which one is odd.
    match f64::from(nearest) < value {
        true => nearest.next_up(),
        false => nearest.next_down(),
    }
}

/// How `cvt` rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// As the types have it.
    None,
    /// To the nearest number, and of two to the even one.
    Nearest,
    /// To the nearest whole number, and of two to the even one.
    WholeNearest,
    /// To a whole number towards 0.
    WholeToZero,
    /// To the whole number below.
    WholeDown,
    /// To the whole number above.
    WholeUp,
}

/// A conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// The result's type.
    pub to: PtxType,
    /// The operand's type.
    pub from: PtxType,
    /// How it rounds.
    pub rounding: Rounding,
    /// Whether the result is limited: to its type, or to 0 to 1.
    pub saturates: bool,
    /// Numbers below the normal range are 0.
    pub flushes: bool,
}

/// The value of a conversion.
pub fn convert(how: Conversion, bits: u64) -> u64 {
    let Conversion { to, from, .. } = how;
    match (from.is_float(), to.is_float()) {
        (false, false) => {
            let value = from.integer(bits);
            let [least, most] = limits(to);
            let value = if how.saturates { value.clamp(least, most) } else { value };
            to.filled(value as u64)
        }
        (false, true) => {
            let value = from.integer(bits);
            match to.bits {
                64 => (value as f64).to_bits(),
                32 => u64::from((value as f32).to_bits()),
                _ => from_float(to, value as f64),
            }
        }
        (true, false) => {
            let value = whole(how.rounding, to_float(from, bits));
            let [least, most] = limits(to);
            let value = if value.is_nan() { 0 } else { (value as i128).clamp(least, most) };
            to.filled(value as u64)
        }
        (true, true) => {
            let value = whole(how.rounding, to_float(from, bits));
            let tiny = how.flushes && value.abs() < f64::from(f32::MIN_POSITIVE);
            let value = if tiny { 0f64.copysign(value) } else { value };
            let value = match how.saturates {
                true if value.is_nan() => 0.0,
                true => value.clamp(0.0, 1.0),
                false => value,
            };
            from_float(to, value)
        }
    }
}

fn limits(ty: PtxType) -> [i128; 2] {
    match ty.kind {
        TypeKind::Signed => [-(1 << (ty.bits - 1)), (1 << (ty.bits - 1)) - 1],
        _ => [0, (1 << ty.bits) - 1],
    }
}

fn whole(rounding: Rounding, value: f64) -> f64 {
    match rounding {
        Rounding::None | Rounding::Nearest => value,
        Rounding::WholeNearest => value.round_ties_even(),
        Rounding::WholeToZero => value.trunc(),
        Rounding::WholeDown => value.floor(),
        Rounding::WholeUp => value.ceil(),
    }
}
