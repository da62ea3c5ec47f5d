// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers that know what they hold, and operands of instructions.

use std::fmt::{Display, Formatter, Result};
use std::marker::PhantomData;

/// How registers are declared: in this order, with names that begin so, of this type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Class {
    order: u8,
    pub(super) prefix: char,
    pub(super) declared: &'static str,
}

/// The kind of values that a register holds.
pub trait RegisterKind: Copy {
    /// Its declaration.
    const CLASS: Class;
}

/// The type of an instruction. The type of a whole number says whether it has a sign, which its
/// register does not know.
pub trait Type: Copy {
    /// What its operands are held in.
    type Held: RegisterKind;
    /// Its name in opcodes.
    const NAME: &'static str;
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident is $order:literal $prefix:literal $declared:literal, $name:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $kind;
        impl RegisterKind for $kind {
            const CLASS: Class = Class { order: $order, prefix: $prefix, declared: $declared };
        }
        impl Type for $kind {
            type Held = Self;
            const NAME: &'static str = $name;
        }
    )*};
}

kinds! {
    /// Whether something holds.
    Predicate is 0 'p' "pred", "pred";
    /// 16 bits.
    B16 is 1 'h' "b16", "b16";
    /// 32 bits.
    B32 is 2 'r' "b32", "b32";
    /// 64 bits.
    B64 is 3 'q' "b64", "b64";
    /// A number of 32 bits.
    F32 is 4 'f' "f32", "f32";
    /// A number of 64 bits.
    F64 is 5 'd' "f64", "f64";
    /// An address in global memory.
    Global is 3 'q' "b64", "u64";
    /// An address in shared memory.
    Shared is 2 'r' "b32", "u32";
    /// An address in the memory of constants.
    Constant is 3 'q' "b64", "u64";
}

macro_rules! types {
    ($($(#[$doc:meta])* $type:ident in $held:ident, $name:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $type;
        impl Type for $type {
            type Held = $held;
            const NAME: &'static str = $name;
        }
    )*};
}

types! {
    /// A number of 16 bits with 5 of exponent.
    F16 in B16, "f16";
    /// A number of 16 bits with 8 of exponent.
    Bf16 in B16, "bf16";
    /// A whole number of 16 bits.
    U16 in B16, "u16";
    /// A whole number of 32 bits.
    U32 in B32, "u32";
    /// A whole number of 32 bits with a sign.
    S32 in B32, "s32";
    /// A whole number of 64 bits.
    U64 in B64, "u64";
    /// A whole number of 64 bits with a sign.
    S64 in B64, "s64";
}

/// The types of whole numbers that are computed with.
pub trait Integer: Type {}
/// The types of bits.
pub trait Bits: Type<Held = Self> + RegisterKind {}
/// The types of numbers.
pub trait Float: Type<Held = Self> + RegisterKind {
    /// As many bits.
    type Bits: Bits;
}

impl Integer for U32 {}
impl Integer for S32 {}
impl Integer for U64 {}
impl Integer for S64 {}
impl Bits for B32 {}
impl Bits for B64 {}
impl Float for F32 {
    type Bits = B32;
}
impl Float for F64 {
    type Bits = B64;
}

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register<K> {
    pub(super) scope: &'static str,
    pub(super) number: usize,
    pub(super) kind: PhantomData<K>,
}

impl<K: RegisterKind> Display for Register<K> {
    fn fmt(&self, out: &mut Formatter) -> Result {
        write!(out, "%{}{}{}", self.scope, K::CLASS.prefix, self.number)
    }
}

/// An operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operand<K>(Form<K>);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Form<K> {
    Register(Register<K>),
    Whole(i64),
    Number(f64),
    Name(&'static str),
    Given(usize),
}

impl<K> Operand<K> {
    /// A special register, or the address of what is declared by this name.
    pub const fn named(name: &'static str) -> Self {
        Self(Form::Name(name))
    }

    /// A register of a kernel that instructions are put into, by its place among their operands.
    pub const fn given(place: usize) -> Self {
        Self(Form::Given(place))
    }

    /// Whether it is a register of these instructions.
    pub fn is_register(&self) -> bool {
        matches!(self.0, Form::Register(_))
    }
}

impl<K: RegisterKind> Display for Operand<K> {
    fn fmt(&self, out: &mut Formatter) -> Result {
        match &self.0 {
            Form::Register(register) => register.fmt(out),
            Form::Whole(number) => number.fmt(out),
            Form::Number(number) if K::CLASS == F64::CLASS => {
                write!(out, "0d{:016X}", number.to_bits())
            }
            Form::Number(number) => write!(out, "0f{:08X}", (*number as f32).to_bits()),
            Form::Name(name) => name.fmt(out),
            Form::Given(place) => write!(out, "${place}$"),
        }
    }
}

impl<K> From<Register<K>> for Operand<K> {
    fn from(register: Register<K>) -> Self {
        Self(Form::Register(register))
    }
}

impl<K: Float> From<f64> for Operand<K> {
    fn from(number: f64) -> Self {
        Self(Form::Number(number))
    }
}

macro_rules! whole_numbers {
    ($($kind:ident from $($number:ident)*;)*) => {$($(
        impl From<$number> for Operand<$kind> {
            fn from(number: $number) -> Self {
                Self(Form::Whole(number as i64))
            }
        }
    )*)*};
}

whole_numbers! {
    B32 from i32 u32 i64 isize usize;
    B64 from i32 u64 i64 usize;
}

/// The block of a thread.
pub const BLOCK: Operand<B32> = Operand::named("%ctaid.x");
/// The thread in its block.
pub const THREAD: Operand<B32> = Operand::named("%tid.x");
