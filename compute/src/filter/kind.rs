// SPDX-License-Identifier: MIT OR Apache-2.0
//! The types of values that filters of a device read and write.

use kernels_gpu::filter::numbers;

/// A type of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ValueType(u32);

/// Their names, as numpy has them, in the order of their numbers.
const NAMES: [&str; 12] = [
    "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16",
    "bfloat16", "float32", "float64",
];

impl ValueType {
    /// IEEE half precision.
    pub const F16: Self = Self(numbers::F16);
    /// bfloat16.
    pub const BF16: Self = Self(numbers::BF16);
    /// IEEE single precision.
    pub const F32: Self = Self(numbers::F32);
    /// IEEE double precision.
    pub const F64: Self = Self(numbers::F64);

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..NAMES.len() as u32).map(Self)
    }

    /// By its name, as numpy has it; bools are as uint8.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let name = if name == "bool" { "uint8" } else { name };
        Self::all().find(|kind| kind.name() == name)
    }

    /// Its name, as numpy has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES[self.0 as usize]
    }

    /// Bytes of a value.
    #[must_use]
    pub fn bytes(self) -> usize {
        numbers::bytes(self.0) as usize
    }

    /// The code and the bits that DLPack has for it.
    #[must_use]
    pub fn of_dlpack(self) -> (u8, u8) {
        let code = match self.0 {
            numbers::BF16 => 4,
            kind if !numbers::is_whole(kind) => 2,
            kind => 1 - (kind % 2) as u8,
        };
        (code, 8 * self.bytes() as u8)
    }

    /// Of such a code and bits; bools are as uint8.
    #[must_use]
    pub fn from_dlpack(dtype: (u8, u8)) -> Option<Self> {
        let dtype = if dtype == (6, 8) { (1, 8) } else { dtype };
        Self::all().find(|kind| kind.of_dlpack() == dtype)
    }

    /// The code that numpy has for it, little-endian; it has none for bfloat16.
    #[must_use]
    pub fn of_numpy(self) -> Option<&'static str> {
        let codes =
            ["|u1", "|i1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8", "<f2", "", "<f4", "<f8"];
        Some(codes[self.0 as usize]).filter(|code| !code.is_empty())
    }

    /// As kernels have it.
    pub(super) fn number(self) -> u32 {
        self.0
    }
}

/// Does something with the type of Rust that holds the values of a kind; of those of two bytes that are no whole numbers, f32.
macro_rules! with_kind {
    ($kind:expr, $type:ident => $body:expr) => {
        match $kind.number() {
            ::kernels_gpu::filter::numbers::U8 => {
                type $type = u8;
                $body
            }
            ::kernels_gpu::filter::numbers::I8 => {
                type $type = i8;
                $body
            }
            ::kernels_gpu::filter::numbers::U16 => {
                type $type = u16;
                $body
            }
            ::kernels_gpu::filter::numbers::I16 => {
                type $type = i16;
                $body
            }
            ::kernels_gpu::filter::numbers::U32 => {
                type $type = u32;
                $body
            }
            ::kernels_gpu::filter::numbers::I32 => {
                type $type = i32;
                $body
            }
            ::kernels_gpu::filter::numbers::U64 => {
                type $type = u64;
                $body
            }
            ::kernels_gpu::filter::numbers::I64 => {
                type $type = i64;
                $body
            }
            ::kernels_gpu::filter::numbers::F64 => {
                type $type = f64;
                $body
            }
            _ => {
                type $type = f32;
                $body
            }
        }
    };
}
pub(super) use with_kind;
