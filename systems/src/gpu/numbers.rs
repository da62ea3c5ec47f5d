// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of a kernel: how they are stored and written.

use super::emitter::{Class, Emitter};
use problem::Dtype;

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

    /// Stored values that lie side by side, so many as are loaded at once: at most four.
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
        let list = values.join(", ");
        emitter.line(format_args!("ld.global.nc.v{count}.{stored} {{{list}}}, [{place}]"));
        values
    }

    /// Stores values side by side, likewise.
    pub fn store(self, emitter: &mut Emitter, place: &str, values: &[String]) {
        let (_, stored) = self.stored();
        let (list, count) = (values.join(", "), values.len());
        match count {
            1 => emitter.line(format_args!("st.global.{stored} [{place}], {list}")),
            _ => emitter.line(format_args!("st.global.v{count}.{stored} [{place}], {{{list}}}")),
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
}
