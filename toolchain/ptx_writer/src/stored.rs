// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values as arrays hold them, and as they are computed with.

use std::fmt::{Display, Formatter, Result};

use super::register::{B16, B32, Bf16, F16, F32, F64, Register, U16, U32};
use super::{Address, Emitter, Global, Number, OffsetAddress};

/// A value as arrays hold it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StoredValue {
    /// In 16 bits.
    Half(Register<B16>),
    /// As it is computed with.
    Whole(Number),
}

impl Display for StoredValue {
    fn fmt(&self, out: &mut Formatter) -> Result {
        match self {
            Self::Half(register) => register.fmt(out),
            Self::Whole(number) => number.fmt(out),
        }
    }
}

/// How arrays hold numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageFormat {
    /// In 64 bits.
    F64,
    /// In 32 bits.
    F32,
    /// In 16 bits, 5 of them for the exponent; computed with in 32 bits.
    F16,
    /// In 16 bits, 8 of them for the exponent; computed with in 32 bits.
    Bf16,
}

/// How a kernel computes and stores.
#[derive(Clone, Copy, Debug)]
pub struct NumberFormats {
    /// As arrays hold them.
    pub format: StorageFormat,
    /// Whether it computes in f64 whatever arrays hold, and rounds each operation by itself: no product is joined to a sum.
    pub exact: bool,
}

impl NumberFormats {
    /// Whether values are computed in f64.
    pub fn is_wide(self) -> bool {
        self.exact || self.format == StorageFormat::F64
    }

    fn is_half(self) -> bool {
        matches!(self.format, StorageFormat::F16 | StorageFormat::Bf16)
    }

    /// Bytes of a value that is computed.
    pub fn bytes(self) -> usize {
        if self.is_wide() { 8 } else { 4 }
    }

    /// A number as an operand.
    pub fn immediate(self, value: f64) -> Number {
        if self.is_wide() { Number::F64(value.into()) } else { Number::F32(value.into()) }
    }

    /// A register that nothing has written yet.
    pub fn register(self, emitter: &mut Emitter) -> Number {
        match self.is_wide() {
            true => emitter.register::<F64>().into(),
            false => emitter.register::<F32>().into(),
        }
    }

    /// A number that lies in memory as it is computed with.
    pub fn load_number<A: Address>(
        self,
        emitter: &mut Emitter,
        place: impl Into<OffsetAddress<A>>,
    ) -> Number {
        match self.is_wide() {
            true => emitter.load(F64, place).into(),
            false => emitter.load(F32, place).into(),
        }
    }

    /// A stored value.
    pub fn load<A: Address>(
        self,
        emitter: &mut Emitter,
        place: impl Into<OffsetAddress<A>>,
    ) -> StoredValue {
        match self.format {
            StorageFormat::F16 | StorageFormat::Bf16 => StoredValue::Half(emitter.load(B16, place)),
            StorageFormat::F32 => StoredValue::Whole(emitter.load(F32, place).into()),
            StorageFormat::F64 => StoredValue::Whole(emitter.load(F64, place).into()),
        }
    }

    /// Stored values that lie side by side, so many as are loaded at once: at most four.
    pub fn load_several<A: Address>(
        self,
        emitter: &mut Emitter,
        place: OffsetAddress<A>,
        count: usize,
    ) -> Vec<StoredValue> {
        if count == 1 {
            return vec![self.load(emitter, place)];
        }
        let values = (0..count).map(|_| match self.format {
            StorageFormat::F16 | StorageFormat::Bf16 => StoredValue::Half(emitter.register()),
            StorageFormat::F32 => StoredValue::Whole(emitter.register::<F32>().into()),
            StorageFormat::F64 => StoredValue::Whole(emitter.register::<F64>().into()),
        });
        let values: Vec<StoredValue> = values.collect();
        self.load_into(emitter, place, &values);
        values
    }

    /// Loads several stored values that lie side by side into registers.
    pub fn load_into<A: Address>(
        self,
        emitter: &mut Emitter,
        place: OffsetAddress<A>,
        to: &[StoredValue],
    ) {
        let (load, count, name, list) = (A::LOAD, to.len(), self.name(), list(to));
        emitter.line(format_args!("{load}.v{count}.{name} {{{list}}}, {place}"));
    }

    /// Stores up to four values side by side at once.
    pub fn store(
        self,
        emitter: &mut Emitter,
        place: impl Into<OffsetAddress<Global>>,
        values: &[StoredValue],
    ) {
        let (list, name, place) = (list(values), self.name(), place.into());
        match values.len() {
            1 => emitter.line(format_args!("st.global.{name} {place}, {list}")),
            count => emitter.line(format_args!("st.global.v{count}.{name} {place}, {{{list}}}")),
        }
    }

    /// The type of stored values in loads and stores.
    fn name(self) -> &'static str {
        match self.format {
            StorageFormat::F64 => "f64",
            _ if self.is_half() => "b16",
            _ => "f32",
        }
    }

    /// A stored value as it is computed with.
    pub fn widen(self, emitter: &mut Emitter, stored: StoredValue) -> Number {
        match self.as_f32(emitter, stored) {
            Number::F32(value) if self.exact => emitter.convert(F64, F32, value).into(),
            number => number,
        }
    }

    /// A stored value of at most 32 bits as f32.
    fn as_f32(self, emitter: &mut Emitter, stored: StoredValue) -> Number {
        match (stored, self.format) {
            (StoredValue::Whole(number), _) => number,
            (StoredValue::Half(half), StorageFormat::F16) => emitter.convert(F32, F16, half).into(),
            (StoredValue::Half(half), _) => {
                // The upper half of an f32.
                let bits = emitter.convert(U32, U16, half);
                let bits = emitter.shift_left(B32, bits, 16);
                emitter.number(F32, bits).into()
            }
        }
    }

    /// A value as it is stored, to the nearest.
    pub fn round(self, emitter: &mut Emitter, value: Number) -> StoredValue {
        match (value, self.format) {
            (Number::F32(value), StorageFormat::F16) => {
                StoredValue::Half(emitter.round(F16, F32, value))
            }
            (Number::F32(value), StorageFormat::Bf16) => {
                StoredValue::Half(emitter.round(Bf16, F32, value))
            }
            (value, _) => StoredValue::Whole(value),
        }
    }

    /// A number of f64 as it is computed with, to the nearest.
    pub fn narrow(self, emitter: &mut Emitter, wide: impl Into<Number>) -> Number {
        match wide.into() {
            Number::F64(wide) if !self.is_wide() => emitter.round(F32, F64, wide).into(),
            number => number,
        }
    }
}

fn list(values: &[StoredValue]) -> String {
    values.iter().map(StoredValue::to_string).collect::<Vec<_>>().join(", ")
}
