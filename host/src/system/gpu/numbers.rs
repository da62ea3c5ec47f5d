// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of a kernel: how they are stored, computed with and written.

use super::emitter::{Class, Emitter};
use super::functions;
use crate::Dtype;
use crate::system::expression::Function;

/// How a kernel computes and stores.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    /// As arrays hold them.
    pub dtype: Dtype,
}

impl Numbers {
    /// The registers of values.
    pub fn class(self) -> Class {
        if self.dtype == Dtype::F64 { Class::F64 } else { Class::F32 }
    }

    /// The type in instructions.
    pub fn suffix(self) -> &'static str {
        if self.dtype == Dtype::F64 { "f64" } else { "f32" }
    }

    /// Bytes of a value that is computed.
    pub fn bytes(self) -> usize {
        if self.dtype == Dtype::F64 { 8 } else { 4 }
    }

    /// A number as an operand.
    pub fn immediate(self, value: f64) -> String {
        match self.dtype {
            Dtype::F64 => format!("0d{:016X}", value.to_bits()),
            _ => format!("0f{:08X}", (value as f32).to_bits()),
        }
    }

    /// The registers of stored values, and their type in loads and stores.
    pub fn stored(self) -> (Class, &'static str) {
        match self.dtype {
            Dtype::F64 => (Class::F64, "f64"),
            Dtype::F16 | Dtype::Bf16 => (Class::B16, "b16"),
            _ => (Class::F32, "f32"),
        }
    }

    /// Stored values that lie side by side, so many as are loaded at once: at most 16 bytes.
    pub fn load(self, emitter: &mut Emitter, place: &str, count: usize) -> Vec<String> {
        let (class, stored) = self.stored();
        if count == 1 {
            return vec![emitter.set(
                class,
                &format!("ld.global.nc.{stored}"),
                format_args!("[{place}]"),
            )];
        }
        let values: Vec<String> = (0..count).map(|_| emitter.register(class)).collect();
        if count <= 4 {
            let list = values.join(", ");
            emitter.line(format_args!("ld.global.nc.v{count}.{stored} {{{list}}}, [{place}]"));
            return values;
        }
        // Instructions load four at most: pairs of 16 bits.
        let pairs: Vec<String> = (0..count / 2).map(|_| emitter.register(Class::B32)).collect();
        let (list, count) = (pairs.join(", "), pairs.len());
        emitter.line(format_args!("ld.global.nc.v{count}.b32 {{{list}}}, [{place}]"));
        for (pair, values) in pairs.iter().zip(values.chunks(2)) {
            emitter.line(format_args!("mov.b32 {{{}}}, {pair}", values.join(", ")));
        }
        values
    }

    /// Stores values side by side, likewise.
    pub fn store(self, emitter: &mut Emitter, place: &str, values: &[String]) {
        let (_, stored) = self.stored();
        let (list, count) = (values.join(", "), values.len());
        match count {
            1 => emitter.line(format_args!("st.global.{stored} [{place}], {list}")),
            2..=4 => {
                emitter.line(format_args!("st.global.v{count}.{stored} [{place}], {{{list}}}"))
            }
            _ => {
                let pairs: Vec<String> = values
                    .chunks(2)
                    .map(|pair| {
                        let pair = pair.join(", ");
                        emitter.set(Class::B32, "mov.b32", format_args!("{{{pair}}}"))
                    })
                    .collect();
                let (list, count) = (pairs.join(", "), pairs.len());
                emitter.line(format_args!("st.global.v{count}.b32 [{place}], {{{list}}}"));
            }
        }
    }

    /// A stored value as it is computed with.
    pub fn widen(self, emitter: &mut Emitter, stored: &str) -> String {
        match self.dtype {
            Dtype::F16 => emitter.set(Class::F32, "cvt.f32.f16", format_args!("{stored}")),
            Dtype::Bf16 => {
                // The upper half of an f32.
                let bits = emitter.set(Class::B32, "cvt.u32.u16", format_args!("{stored}"));
                let bits = emitter.set(Class::B32, "shl.b32", format_args!("{bits}, 16"));
                emitter.set(Class::F32, "mov.b32", format_args!("{bits}"))
            }
            _ => stored.to_owned(),
        }
    }

    /// A value as it is stored, to the nearest.
    pub fn round(self, emitter: &mut Emitter, value: &str) -> String {
        match self.dtype {
            Dtype::F16 => emitter.set(Class::B16, "cvt.rn.f16.f32", format_args!("{value}")),
            Dtype::Bf16 => emitter.set(Class::B16, "cvt.rn.bf16.f32", format_args!("{value}")),
            _ => value.to_owned(),
        }
    }

    /// A function of values.
    pub fn call(self, emitter: &mut Emitter, function: Function, of: &[String]) -> String {
        let (class, suffix) = (self.class(), self.suffix());
        let one = self.immediate(1.0);
        let zero = self.immediate(0.0);
        let all = of.join(", ");
        let a = &of[0];
        let opcode = match function {
            Function::Negate => "neg",
            Function::Abs => "abs",
            Function::Sqrt => "sqrt.rn",
            Function::Add => "add",
            Function::Subtract => "sub",
            Function::Multiply => "mul",
            Function::Divide => "div.rn",
            Function::Min | Function::And => "min",
            Function::Max | Function::Or => "max",
            Function::Not => {
                let opcode = format!("sub.{suffix}");
                return emitter.set(class, &opcode, format_args!("{one}, {a}"));
            }
            Function::Floor => {
                let opcode = format!("cvt.rmi.{suffix}.{suffix}");
                return emitter.set(class, &opcode, format_args!("{a}"));
            }
            Function::PowerOf(n) => return self.power(emitter, a, n),
            Function::Less | Function::LessEqual | Function::Equal => {
                let relation = match function {
                    Function::Less => "lt",
                    Function::LessEqual => "le",
                    _ => "eq",
                };
                let opcode = format!("setp.{relation}.{suffix}");
                let holds = emitter.set(Class::Predicate, &opcode, format_args!("{all}"));
                let selected = format_args!("{one}, {zero}, {holds}");
                return emitter.set(class, &format!("selp.{suffix}"), selected);
            }
            Function::If => {
                let opcode = format!("setp.neu.{suffix}");
                let holds = emitter.set(Class::Predicate, &opcode, format_args!("{a}, {zero}"));
                let [yes, no] = [&of[1], &of[2]];
                let selected = format_args!("{yes}, {no}, {holds}");
                return emitter.set(class, &format!("selp.{suffix}"), selected);
            }
            Function::Power
            | Function::Exp
            | Function::Ln
            | Function::Sin
            | Function::Cos
            | Function::Tanh => return functions::call(emitter, self.dtype, function, of),
        };
        emitter.set(class, &format!("{opcode}.{suffix}"), format_args!("{all}"))
    }

    /// By squaring; a negative one by a division at the end.
    fn power(self, emitter: &mut Emitter, base: &str, n: i32) -> String {
        let (class, suffix) = (self.class(), self.suffix());
        let (mut rest, mut square, mut power) = (n.unsigned_abs(), base.to_owned(), None);
        let multiply = format!("mul.{suffix}");
        loop {
            if rest % 2 == 1 {
                power = Some(match power {
                    None => square.clone(),
                    Some(power) => emitter.set(class, &multiply, format_args!("{power}, {square}")),
                });
            }
            rest /= 2;
            if rest == 0 {
                break;
            }
            square = emitter.set(class, &multiply, format_args!("{square}, {square}"));
        }
        let power = power.unwrap_or_else(|| self.immediate(1.0));
        if n > 0 {
            return power;
        }
        let one = self.immediate(1.0);
        emitter.set(class, &format!("div.rn.{suffix}"), format_args!("{one}, {power}"))
    }
}
