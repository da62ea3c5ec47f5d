// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions, of their opcodes and operands.

use crate::comparison::comparison;
use crate::compute::{ArithmeticOp, Class, OperationMode};
use crate::convert::{Conversion, Rounding};
use crate::module::{Access, AsyncProduct, MemoryOrder, Op, OperandSource, Scope, Space, Update};
use crate::operands::{Operand, one, register, registers, sources};
use crate::types::{PtxType, TypeKind};

/// The instruction of an opcode and its operands, without those of control flow; nothing where it is not known.
pub fn decoded(opcode: &str, operands: &[Operand]) -> Option<Op> {
    let parts: Vec<&str> = opcode.split('.').collect();
    match parts[0] {
        "ld" | "ldu" => load(&parts, operands),
        "st" => store(&parts, operands),
        "atom" | "red" if parts[1] != "async" => atomic(&parts, operands),
        "fence" | "membar" => fence(&parts, opcode),
        "cvt" => conversion(&parts, operands).or_else(|| other(opcode, &parts, operands)),
        "cvta" => address_conversion(&parts, operands),
        "isspacep" => {
            let [Operand::One(OperandSource::Register(to)), Operand::One(from)] = operands else {
                return None;
            };
            Some(Op::IsSpace { space: space(&parts)?, to: *to, from: *from })
        }
        "setp" | "set" => comparison(&parts, operands),
        "mov" => moved(&parts, operands),
        "prefetch" | "prefetchu" | "discard" | "nanosleep" | "applypriority" => Some(Op::Nothing),
        "add" | "addc" | "sub" | "subc" | "mad" | "madc"
            if parts[0].ends_with('c') || parts.contains(&"cc") =>
        {
            carried(&parts, operands)
        }
        _ => computed(&parts, operands).or_else(|| other(opcode, &parts, operands)),
    }
}

fn space(parts: &[&str]) -> Option<Space> {
    let of = |part: &&str| match *part {
        "global" => Some(Space::Global),
        "shared" | "shared::cta" | "shared::cluster" => Some(Space::Shared),
        "local" => Some(Space::Local),
        "const" => Some(Space::Constant),
        _ => None,
    };
    Some(parts.iter().find_map(of).unwrap_or(Space::Generic))
}

/// The scope that an opcode names. Blocks that are in no cluster are one each.
fn scope(parts: &[&str]) -> Option<Scope> {
    parts.iter().find_map(|part| match *part {
        "cta" | "cluster" => Some(Scope::Block),
        "gpu" | "gl" => Some(Scope::Device),
        "sys" | "volatile" | "mmio" => Some(Scope::System),
        _ => None,
    })
}

fn access(parts: &[&str], otherwise: MemoryOrder) -> Option<Access> {
    let element = PtxType::of(parts.last()?)?.bytes();
    let order = |part: &&str| match *part {
        "relaxed" | "volatile" => Some(MemoryOrder::Relaxed),
        "acquire" => Some(MemoryOrder::Acquire),
        "release" => Some(MemoryOrder::Release),
        "acq_rel" => Some(MemoryOrder::AcquireRelease),
        "mmio" => Some(MemoryOrder::Relaxed),
        _ => None,
    };
    let order = parts.iter().find_map(order).unwrap_or(otherwise);
    let is_constant = parts.contains(&"nc");
    let (space, lets_others) = (space(parts)?, order != MemoryOrder::Weak);
    let scope = scope(parts).unwrap_or(Scope::Device);
    Some(Access { space, order, scope, is_constant, lets_others, element })
}

fn load(parts: &[&str], operands: &[Operand]) -> Option<Op> {
    let [to, from] = operands else { return None };
    let ty = PtxType::of(parts.last()?)?;
    let (bytes, signed, to) = (ty.bytes(), ty.kind == TypeKind::Signed, registers(to)?);
    match from {
        Operand::Parameter(at) => Some(Op::LoadParameter { bytes, signed, to, at: *at }),
        Operand::Memory(address) => {
            let access = access(parts, MemoryOrder::Weak)?;
            Some(Op::Load { access, bytes, signed, to, address: *address })
        }
        _ => None,
    }
}

fn store(parts: &[&str], operands: &[Operand]) -> Option<Op> {
    let [to, from] = operands else { return None };
    let (bytes, from) = (PtxType::of(parts.last()?)?.bytes(), sources(from)?);
    match to {
        Operand::Parameter(at) => Some(Op::StoreParameter { bytes, from, at: *at }),
        Operand::Memory(address) => {
            let access = access(parts, MemoryOrder::Weak)?;
            Some(Op::Store { access, bytes, from, address: *address })
        }
        _ => None,
    }
}

fn atomic(parts: &[&str], operands: &[Operand]) -> Option<Op> {
    let ty = PtxType::of(parts.last()?)?;
    let update = |part: &&str| {
        Some(match *part {
            "add" => Update::Compute(ArithmeticOp::Add),
            "min" => Update::Compute(ArithmeticOp::Min),
            "max" => Update::Compute(ArithmeticOp::Max),
            "and" => Update::Compute(ArithmeticOp::And),
            "or" => Update::Compute(ArithmeticOp::Or),
            "xor" => Update::Compute(ArithmeticOp::Xor),
            "exch" => Update::Exchange,
            "cas" => Update::CompareExchange,
            "inc" => Update::Increment,
            "dec" => Update::Decrement,
            _ => return None,
        })
    };
    let update = parts.iter().find_map(update)?;
    let count = if update == Update::CompareExchange { 2 } else { 1 };
    let (to, rest) = match parts[0] {
        "red" => (None, operands),
        _ => (registers(operands.first()?)?[0], &operands[1..]),
    };
    let [Operand::Memory(address), values @ ..] = rest else { return None };
    if values.len() != count {
        return None;
    }
    let value = |at: usize| values.get(at).map_or(Some(OperandSource::Bits(0)), one);
    // The ISA's order where none is named.
    let access = access(parts, MemoryOrder::Relaxed)?;
    Some(Op::Atomic { access, update, ty, to, address: *address, from: [value(0)?, value(1)?] })
}

fn fence(parts: &[&str], opcode: &str) -> Option<Op> {
    if parts.iter().any(|part| ["proxy", "mbarrier_init"].contains(part)) {
        return Some(Op::Other { opcode: opcode.to_owned(), to: Vec::new(), from: Vec::new() });
    }
    if !are_known(
        parts,
        &["sc", "acq_rel", "acquire", "release", "cta", "cluster", "gpu", "gl", "sys"],
    ) {
        return None;
    }
    let order = match parts.get(1) {
        Some(&"acquire") => MemoryOrder::Acquire,
        Some(&"release") => MemoryOrder::Release,
        _ => MemoryOrder::AcquireRelease,
    };
    Some(Op::Fence(order, scope(parts)?))
}

fn conversion(parts: &[&str], operands: &[Operand]) -> Option<Op> {
    let to = register(operands.first()?)?;
    let names = &parts[parts.len().checked_sub(2)?..];
    if let ("f16x2" | "bf16x2", "f32") = (names[0], names[1]) {
        let ty = PtxType::of(names[0].trim_end_matches("x2"))?;
        let [_, high, low] = operands else { return None };
        if !are_known(parts, &["rn", "satfinite", names[0]]) {
            return None;
        }
        let saturates = parts.contains(&"satfinite");
        let from = PtxType { kind: TypeKind::Float, bits: 32 };
        let how =
            Conversion { to: ty, from, rounding: Rounding::Nearest, saturates, flushes: false };
        return Some(Op::ConvertPair { how, to, from: [one(high)?, one(low)?] });
    }
    let [_, from] = operands else { return None };
    let how = Conversion {
        to: PtxType::of(names[0])?,
        from: PtxType::of(names[1])?,
        rounding: parts.iter().find_map(rounding).unwrap_or(Rounding::None),
        saturates: parts.contains(&"sat"),
        flushes: parts.contains(&"ftz"),
    };
    if !are_known(parts, &["rn", "rni", "rzi", "rmi", "rpi", "sat", "ftz"]) {
        return None;
    }
    Some(Op::Convert { how, to, from: one(from)? })
}

fn rounding(part: &&str) -> Option<Rounding> {
    Some(match *part {
        "rn" => Rounding::Nearest,
        "rni" => Rounding::WholeNearest,
        "rzi" => Rounding::WholeToZero,
        "rmi" => Rounding::WholeDown,
        "rpi" => Rounding::WholeUp,
        _ => return None,
    })
}

fn address_conversion(parts: &[&str], operands: &[Operand]) -> Option<Op> {
    let [to, from] = operands else { return None };
    let (space, to, from) = (space(parts)?, register(to)?, one(from)?);
    Some(match parts[1] {
        "to" => Op::FromGeneric { space, to, from },
        _ => Op::ToGeneric { space, to, from },
    })
}

fn moved(parts: &[&str], operands: &[Operand]) -> Option<Op> {
    let [to, from] = operands else { return None };
    if parts.len() != 2 {
        return None;
    }
    let ty = PtxType::of(parts.last()?)?;
    match (to, from) {
        (Operand::Several(_), from) => {
            let to = registers(to)?;
            let bits = ty.bits / to.len() as u32;
            Some(Op::Unpack { to, from: one(from)?, bits })
        }
        (to, Operand::Several(_)) => {
            let from = sources(from)?;
            let bits = ty.bits / from.len() as u32;
            Some(Op::Pack { to: register(to)?, from, bits })
        }
        (to, from) => {
            let from = [one(from)?, OperandSource::Bits(0), OperandSource::Bits(0)];
            let (what, mode) = (ArithmeticOp::Move, OperationMode::default());
            Some(Op::Compute { what, ty, mode, to: register(to)?, from })
        }
    }
}

fn carried(parts: &[&str], operands: &[Operand]) -> Option<Op> {
    let ty = PtxType::of(parts.last()?)?;
    let [to, from @ ..] = operands else { return None };
    let value = |at: usize| from.get(at).map_or(Some(OperandSource::Bits(0)), one);
    let (takes, gives) = (parts[0].ends_with('c'), parts.contains(&"cc"));
    let what = match parts[0].trim_end_matches('c') {
        "add" => ArithmeticOp::Add,
        "sub" => ArithmeticOp::Sub,
        _ if parts[1] == "lo" => ArithmeticOp::MadLow,
        _ => ArithmeticOp::MadHigh,
    };
    let count = if matches!(what, ArithmeticOp::Add | ArithmeticOp::Sub) { 2 } else { 3 };
    if from.len() != count || !are_known(parts, &["cc", "lo", "hi"]) {
        return None;
    }
    let from = [value(0)?, value(1)?, value(2)?];
    Some(Op::Carry { what, ty, takes, gives, to: register(to)?, from })
}

fn computed(parts: &[&str], operands: &[Operand]) -> Option<Op> {
    let named = PtxType::of(parts.last()?)
        .or_else(|| PtxType::of(parts[1..].iter().find(|it| PtxType::of(it).is_some())?))?;
    if !are_known(parts, modifiers(parts[0])) || parts.ends_with(&["hi", "sat", "s32"]) {
        return None;
    }
    let (what, count) = what(parts, named)?;
    let [to, from @ ..] = operands else { return None };
    if from.len() != count {
        return None;
    }
    let value = |at: usize| from.get(at).map_or(Some(OperandSource::Bits(0)), one);
    let mode = OperationMode {
        flushes: parts.contains(&"ftz"),
        saturates: parts.contains(&"sat"),
        propagates: parts.contains(&"NaN"),
    };
    // Numbers of leading zeros and of ones have 32 bits, whatever they are of.
    Some(Op::Compute {
        what,
        ty: named,
        mode,
        to: register(to)?,
        from: [value(0)?, value(1)?, value(2)?],
    })
}

/// Whether all that stands in an opcode are types or these.
fn are_known(parts: &[&str], modifiers: &[&str]) -> bool {
    parts[1..].iter().all(|part| modifiers.contains(part) || PtxType::of(part).is_some())
}

/// What an opcode of [`what`] may have besides types.
fn modifiers(name: &str) -> &'static [&'static str] {
    match name {
        "add" | "sub" | "fma" => &["rn", "ftz", "sat"],
        "mul" => &["rn", "ftz", "sat", "lo", "hi", "wide"],
        "mad" => &["rn", "ftz", "sat", "lo", "hi", "wide"],
        "div" => &["rn", "full", "approx", "ftz"],
        "neg" | "abs" => &["ftz"],
        "min" | "max" => &["ftz", "NaN"],
        "shf" => &["l", "r", "clamp", "wrap"],
        "sqrt" | "rcp" | "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh" => {
            &["rn", "approx", "ftz"]
        }
        "bfind" => &["shiftamt"],
        "testp" => &["finite", "infinite", "number", "notanumber", "normal", "subnormal"],
        _ => &[],
    }
}

/// What an opcode computes, and of how many operands.
fn what(parts: &[&str], ty: PtxType) -> Option<(ArithmeticOp, usize)> {
    let has = |name: &str| parts.contains(&name);
    let clamps = has("clamp");
    Some(match parts[0] {
        "add" => (ArithmeticOp::Add, 2),
        "sub" => (ArithmeticOp::Sub, 2),
        "mul" if has("wide") => (ArithmeticOp::MulWide, 2),
        "mul" if has("hi") => (ArithmeticOp::MulHigh, 2),
        "mul" => (ArithmeticOp::MulLow, 2),
        "mad" if has("wide") => (ArithmeticOp::MadWide, 3),
        "mad" if has("hi") => (ArithmeticOp::MadHigh, 3),
        "mad" if ty.is_float() => (ArithmeticOp::Fma, 3),
        "mad" => (ArithmeticOp::MadLow, 3),
        "fma" => (ArithmeticOp::Fma, 3),
        "div" => (ArithmeticOp::Div, 2),
        "rem" => (ArithmeticOp::Rem, 2),
        "neg" => (ArithmeticOp::Neg, 1),
        "abs" => (ArithmeticOp::Abs, 1),
        "min" => (ArithmeticOp::Min, 2),
        "max" => (ArithmeticOp::Max, 2),
        "and" => (ArithmeticOp::And, 2),
        "or" => (ArithmeticOp::Or, 2),
        "xor" => (ArithmeticOp::Xor, 2),
        "not" => (ArithmeticOp::Not, 1),
        "shl" => (ArithmeticOp::ShiftLeft, 2),
        "shr" => (ArithmeticOp::ShiftRight, 2),
        "shf" if has("l") => (ArithmeticOp::FunnelLeft { clamps }, 3),
        "shf" => (ArithmeticOp::FunnelRight { clamps }, 3),
        "selp" => (ArithmeticOp::Select, 3),
        "popc" => (ArithmeticOp::Population, 1),
        "clz" => (ArithmeticOp::LeadingZeros, 1),
        "brev" => (ArithmeticOp::Reverse, 1),
        "prmt" if parts.len() == 2 => (ArithmeticOp::Permute, 3),
        "sqrt" => (ArithmeticOp::Sqrt, 1),
        "rcp" => (ArithmeticOp::Reciprocal, 1),
        "rsqrt" => (ArithmeticOp::ReciprocalSqrt, 1),
        "ex2" => (ArithmeticOp::Exp2, 1),
        "lg2" => (ArithmeticOp::Log2, 1),
        "sin" => (ArithmeticOp::Sin, 1),
        "cos" => (ArithmeticOp::Cos, 1),
        "tanh" => (ArithmeticOp::Tanh, 1),
        "copysign" => (ArithmeticOp::CopySign, 2),
        "dp4a" if has("u32") && has("s32") && parts[1] == "u32" => (ArithmeticOp::ByteProducts, 3),
        "bfe" => (ArithmeticOp::ExtractField, 3),
        "bfind" => (ArithmeticOp::FindLeading { shifts: has("shiftamt") }, 1),
        "sad" => (ArithmeticOp::SumOfDifferences, 3),
        "testp" => {
            let class = match parts[1] {
                "finite" => Class::Finite,
                "infinite" => Class::Infinite,
                "number" => Class::Number,
                "notanumber" => Class::NotANumber,
                "normal" => Class::Normal,
                "subnormal" => Class::Subnormal,
                _ => return None,
            };
            (ArithmeticOp::Test(class), 1)
        }
        _ => return None,
    })
}

/// What the machine knows. Most instructions set what stands first.
fn other(opcode: &str, parts: &[&str], operands: &[Operand]) -> Option<Op> {
    if parts[0] == "lop3" {
        let [to, a, b, c, Operand::One(OperandSource::Bits(table))] = operands else { return None };
        let (what, ty) =
            (ArithmeticOp::Logic(*table as u8), PtxType { kind: TypeKind::Bits, bits: 32 });
        let from = [one(a)?, one(b)?, one(c)?];
        return Some(Op::Compute {
            what,
            ty,
            mode: OperationMode::default(),
            to: register(to)?,
            from,
        });
    }
    let sets = match parts[0] {
        "shfl" | "vote" | "match" | "activemask" | "redux" | "ldmatrix" | "movmatrix" | "mma" => {
            true
        }
        "cvt" | "elect" => true,
        "bar" | "barrier" => parts.contains(&"red"),
        "mbarrier" => parts[1] != "init" && parts[1] != "inval",
        "stmatrix" | "cp" | "griddepcontrol" | "wgmma" | "setmaxnreg" => false,
        _ => return None,
    };
    let is_product = opcode.starts_with("wgmma.mma_async");
    let sets = sets || is_product;
    let to = if sets { registers(operands.first()?)? } else { Vec::new() };
    let rest = if sets { &operands[1..] } else { operands };
    let each = |operand: &Operand| match operand {
        Operand::One(_) | Operand::Several(_) => sources(operand),
        Operand::Memory(at) => Some(vec![at.base, OperandSource::Bits(at.distance as u64)]),
        Operand::Box(at, coordinates) => {
            let address = [at.base, OperandSource::Bits(at.distance as u64)];
            Some(address.into_iter().chain(coordinates.iter().copied()).collect())
        }
        _ => None,
    };
    let from = rest.iter().map(each).collect::<Option<Vec<_>>>()?;
    let opcode = opcode.to_owned();
    if !is_product {
        return Some(Op::Other { opcode, to, from });
    }
    let sums = to.into_iter().collect::<Option<_>>()?;
    let register = |source: &OperandSource| match source {
        OperandSource::Register(register) => Some(*register),
        _ => None,
    };
    // A descriptor is a register alone.
    let a = from.first().filter(|a| a.len() > 1).into_iter().flatten();
    let a = a.filter_map(register).collect();
    let metadata = from.get(2).filter(|_| parts.contains(&"sp"));
    let metadata = metadata.and_then(|it| register(it.first()?));
    Some(Op::Product(Box::new(AsyncProduct { opcode, sums, from, a, metadata })))
}
