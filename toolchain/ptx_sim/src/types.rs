// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types of values in registers, whose lowest bits hold them.

/// The meaning of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeKind {
    /// Whole numbers from 0.
    Unsigned,
    /// Whole numbers in two's complement.
    Signed,
    /// Nothing.
    Bits,
    /// IEEE's numbers.
    Float,
    /// `bf16`.
    Brain,
    /// True or false.
    Predicate,
}

/// A type of PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PtxType {
    /// What the bits mean.
    pub kind: TypeKind,
    /// How many there are.
    pub bits: u32,
}

impl PtxType {
    /// The type of a name, such as `u32`.
    pub fn of(name: &str) -> Option<Self> {
        let of = |kind, bits| Some(Self { kind, bits });
        match name {
            "pred" => return of(TypeKind::Predicate, 1),
            "bf16" => return of(TypeKind::Brain, 16),
            "f16" | "f32" | "f64" => return of(TypeKind::Float, name[1..].parse().ok()?),
            _ => {}
        }
        let bits = name.get(1..)?.parse().ok()?;
        if ![8, 16, 32, 64].contains(&bits) {
            return None;
        }
        match &name[..1] {
            "u" => of(TypeKind::Unsigned, bits),
            "s" => of(TypeKind::Signed, bits),
            "b" => of(TypeKind::Bits, bits),
            _ => None,
        }
    }

    /// How many bytes it takes in memory.
    pub fn bytes(self) -> usize {
        (self.bits / 8).max(1) as usize
    }

    /// Whether it is a floating-point number.
    pub fn is_float(self) -> bool {
        matches!(self.kind, TypeKind::Float | TypeKind::Brain)
    }

    /// The bits that count.
    pub fn truncated(self, bits: u64) -> u64 {
        truncated(bits, self.bits)
    }

    /// A register with these bits: a signed number fills a wider one with its sign.
    pub fn filled(self, bits: u64) -> u64 {
        match self.kind {
            TypeKind::Signed => extended(bits, self.bits) as u64,
            _ => self.truncated(bits),
        }
    }

    /// The whole number that bits are.
    pub fn integer(self, bits: u64) -> i128 {
        let bits = self.truncated(bits);
        match self.kind {
            TypeKind::Signed => i128::from(extended(bits, self.bits)),
            _ => i128::from(bits),
        }
    }
}

/// The lowest bits of a word.
pub fn truncated(word: u64, bits: u32) -> u64 {
    if bits >= 64 { word } else { word & ((1 << bits) - 1) }
}

/// A number in two's complement of so many bits.
pub fn extended(word: u64, bits: u32) -> i64 {
    let shift = 64 - bits.clamp(1, 64);
    ((word << shift) as i64) >> shift
}
