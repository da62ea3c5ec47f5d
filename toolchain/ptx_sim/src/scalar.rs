// SPDX-License-Identifier: MIT OR Apache-2.0
//! Comparisons, sums with carries, and what atomic instructions make of a value.

use crate::compute::{ArithmeticOp, compute};
use crate::convert::{Conversion, convert, to_float};
use crate::module::{Relation, Update};
use crate::types::{PtxType, TypeKind, extended};
use std::cmp::Ordering;

/// Whether a product of indices has more bits than its result.
pub fn overflows(what: ArithmeticOp, ty: PtxType, [a, b, _]: [u64; 3]) -> bool {
    let is_of_indices = ty == (PtxType { kind: TypeKind::Unsigned, bits: 32 });
    what == ArithmeticOp::MulLow
        && is_of_indices
        && ty.truncated(a) * ty.truncated(b) > u64::from(u32::MAX)
}

/// The value of bytes, as a register has it.
pub fn word(bytes: &[u8], signed: bool) -> u64 {
    let mut all = [0; 8];
    all[..bytes.len()].copy_from_slice(bytes);
    let word = u64::from_le_bytes(all);
    let bits = 8 * bytes.len() as u32;
    match signed {
        // As wide as any register is.
        true => extended(word, bits) as u64,
        false => word,
    }
}

pub fn holds(relation: Relation, ty: PtxType, flushes: bool, a: u64, b: u64) -> bool {
    let order = if ty.is_float() {
        let value = |bits| {
            let value = to_float(ty, bits);
            let tiny = flushes && value.abs() < f64::from(f32::MIN_POSITIVE);
            if tiny { 0.0 } else { value }
        };
        match value(a).partial_cmp(&value(b)) {
            Some(order) => order,
            None => return relation.unordered,
        }
    } else {
        ty.integer(a).cmp(&ty.integer(b))
    };
    match order {
        Ordering::Less => relation.less,
        Ordering::Equal => relation.equal,
        Ordering::Greater => relation.greater,
    }
}

pub fn updated(update: Update, ty: PtxType, before: u64, [a, b]: [u64; 2]) -> Option<u64> {
    let (a, b) = (ty.truncated(a), ty.truncated(b));
    Some(match update {
        Update::Compute(what) => compute(what, ty, Default::default(), [before, a, 0]),
        Update::Exchange => a,
        Update::CompareExchange if before == a => b,
        Update::CompareExchange => return None,
        Update::Increment if before >= a => 0,
        Update::Increment => before + 1,
        Update::Decrement if before == 0 || before > a => a,
        Update::Decrement => before - 1,
    })
}

pub fn carried(what: ArithmeticOp, ty: PtxType, [a, b, c]: [u64; 3], carry: bool) -> (u64, bool) {
    let value = |bits: u64| u128::from(ty.truncated(bits));
    let carry = u128::from(carry);
    let (low, high) = match what {
        ArithmeticOp::Sub => {
            let all = value(a).wrapping_sub(value(b)).wrapping_sub(carry);
            (all as u64, all >> ty.bits & 1)
        }
        ArithmeticOp::Add => {
            let all = value(a) + value(b) + carry;
            (all as u64, all >> ty.bits)
        }
        what => {
            let product = value(a) * value(b);
            let part = match what {
                ArithmeticOp::MadLow => value(product as u64),
                _ => product >> ty.bits,
            };
            let all = part + value(c) + carry;
            (all as u64, all >> ty.bits)
        }
    };
    (ty.truncated(low), high != 0)
}

pub fn pair_half(how: &Conversion, value: u64) -> u64 {
    let bits = convert(Conversion { saturates: false, ..*how }, value);
    // Instead of infinite, as large as it can be.
    let is_infinite = to_float(how.to, bits).is_infinite();
    if how.saturates && is_infinite { bits - 1 } else { bits }
}
