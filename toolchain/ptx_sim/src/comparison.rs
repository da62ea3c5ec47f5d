// SPDX-License-Identifier: MIT OR Apache-2.0
//! Comparisons, of their opcodes and operands.

use crate::compute::ArithmeticOp;
use crate::module::{Op, OperandSource, Relation};
use crate::operands::{Operand, one, registers};
use crate::types::{PtxType, TypeKind};

/// `setp` and `set`.
pub fn comparison(parts: &[&str], operands: &[Operand]) -> Option<Op> {
    let ty = PtxType::of(parts.last()?)?;
    let relation = relation(parts[1], ty)?;
    let (to, opposite) = match operands.first()? {
        Operand::Pair(first, second) => {
            let register = |it: &Option<OperandSource>| match it {
                Some(OperandSource::Register(register)) => Some(*register),
                _ => None,
            };
            (register(first), register(second))
        }
        operand => (registers(operand)?[0], None),
    };
    let joined = match parts[2] {
        "and" => Some(ArithmeticOp::And),
        "or" => Some(ArithmeticOp::Or),
        "xor" => Some(ArithmeticOp::Xor),
        _ => None,
    };
    let count = if joined.is_some() { 4 } else { 3 };
    let is_known = |part: &&str| PtxType::of(part).is_some() || *part == "ftz";
    if operands.len() != count
        || !parts[if joined.is_some() { 3 } else { 2 }..].iter().all(is_known)
    {
        return None;
    }
    let from = [one(operands.get(1)?)?, one(operands.get(2)?)?];
    let joined = match joined {
        Some(what) => Some((what, one(operands.get(3)?)?)),
        None => None,
    };
    let is_true = match parts[0] {
        "setp" => 1,
        // `set.lt.u32.f32`: ones, or 1.0.
        _ => match PtxType::of(parts[parts.len() - 2])?.kind {
            TypeKind::Float => u64::from(1f32.to_bits()),
            _ => 0xffff_ffff,
        },
    };
    let flushes = parts.contains(&"ftz");
    Some(Op::Compare { relation, ty, flushes, joined, to, opposite, from, is_true })
}

fn relation(name: &str, ty: PtxType) -> Option<Relation> {
    let (name, unordered) = match name {
        "ltu" | "leu" | "gtu" | "geu" | "equ" | "neu" if ty.is_float() => (&name[..2], true),
        // Of whole numbers, as they are without signs.
        "lo" => ("lt", false),
        "ls" => ("le", false),
        "hi" => ("gt", false),
        "hs" => ("ge", false),
        "num" => {
            return Some(Relation { less: true, equal: true, greater: true, unordered: false });
        }
        "nan" => {
            return Some(Relation { less: false, equal: false, greater: false, unordered: true });
        }
        name => (name, false),
    };
    let of = |less, equal, greater| Some(Relation { less, equal, greater, unordered });
    match name {
        "lt" => of(true, false, false),
        "le" => of(true, true, false),
        "gt" => of(false, false, true),
        "ge" => of(false, true, true),
        "eq" => of(false, true, false),
        "ne" => of(true, false, true),
        _ => None,
    }
}
