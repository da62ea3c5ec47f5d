// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers that are computed with, of the type which the kernel is for.

use std::fmt::{Arguments, Display, Formatter, Result};

use super::register::{B32, F32, F64, Operand, Predicate, Register};
use super::{Address, Emitter, OffsetAddress, Relation};

/// A number of either type, as a register or as an operand that is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Of 32 bits.
    F32(Operand<F32>),
    /// Of 64 bits.
    F64(Operand<F64>),
}

impl Number {
    /// Whether it is a register.
    pub fn is_register(&self) -> bool {
        match self {
            Self::F32(operand) => operand.is_register(),
            Self::F64(operand) => operand.is_register(),
        }
    }

    /// The type in instructions.
    fn name(self) -> &'static str {
        match self {
            Self::F32(_) => "f32",
            Self::F64(_) => "f64",
        }
    }
}

impl Display for Number {
    fn fmt(&self, out: &mut Formatter) -> Result {
        match self {
            Self::F32(operand) => operand.fmt(out),
            Self::F64(operand) => operand.fmt(out),
        }
    }
}

impl From<Register<F32>> for Number {
    fn from(register: Register<F32>) -> Self {
        Self::F32(register.into())
    }
}

impl From<Register<F64>> for Number {
    fn from(register: Register<F64>) -> Self {
        Self::F64(register.into())
    }
}

/// The type of numbers in an instruction.
fn type_of(of: &[Number]) -> &'static str {
    let name = of[0].name();
    assert!(of.iter().all(|number| number.name() == name), "f32 and f64 in an instruction: {of:?}");
    name
}

impl Emitter {
    /// An instruction that makes a number of such numbers.
    pub fn compute(&mut self, opcode: &str, of: &[Number]) -> Number {
        let operands: Vec<String> = of.iter().map(Number::to_string).collect();
        self.computed(opcode, of, format_args!("{}", operands.join(", ")))
    }

    fn computed(&mut self, opcode: &str, of: &[Number], operands: Arguments) -> Number {
        let (to, name) = (self.like(of[0]), type_of(of));
        self.line(format_args!("{opcode}.{name} {to}, {operands}"));
        to
    }

    /// A register of the type of a number.
    fn like(&mut self, number: Number) -> Number {
        match number {
            Number::F32(_) => self.register::<F32>().into(),
            Number::F64(_) => self.register::<F64>().into(),
        }
    }

    /// The next whole number below.
    pub fn floor(&mut self, a: Number) -> Number {
        self.compute(&format!("cvt.rmi.{}", a.name()), &[a])
    }

    /// The whole number below a number from 0 to 2³² - 1.
    pub fn truncate(&mut self, a: Number) -> Register<B32> {
        let to = self.register();
        self.line(format_args!("cvt.rzi.u32.{} {to}, {a}", a.name()));
        to
    }

    /// The first if something holds, or else the second.
    pub fn choose(&mut self, yes: Number, no: Number, holds: Register<Predicate>) -> Number {
        self.computed("selp", &[yes, no], format_args!("{yes}, {no}, {holds}"))
    }

    /// Whether a relation holds; of what is not a number none does, but that it is not equal.
    pub fn compare(&mut self, relation: Relation, a: Number, b: Number) -> Register<Predicate> {
        match (a, b) {
            (Number::F32(a), Number::F32(b)) => self.setp(relation, F32, a, b),
            (Number::F64(a), Number::F64(b)) => self.setp(relation, F64, a, b),
            both => unreachable!("f32 and f64 in an instruction: {both:?}"),
        }
    }

    /// Whether a relation and something else hold.
    pub fn compare_and(
        &mut self,
        relation: Relation,
        a: Number,
        b: Number,
        and: Register<Predicate>,
    ) -> Register<Predicate> {
        match (a, b) {
            (Number::F32(a), Number::F32(b)) => self.setp_and(relation, F32, a, b, and),
            (Number::F64(a), Number::F64(b)) => self.setp_and(relation, F64, a, b, and),
            both => unreachable!("f32 and f64 in an instruction: {both:?}"),
        }
    }

    /// Overwrites a register.
    pub fn set(&mut self, to: Number, from: Number) {
        self.line(format_args!("mov.{} {to}, {from}", type_of(&[to, from])));
    }

    /// Adds to a register.
    pub fn add_to(&mut self, to: Number, of: Number) {
        self.line(format_args!("add.{} {to}, {to}, {of}", type_of(&[to, of])));
    }

    /// Stores a number as it is computed with.
    pub fn store<A: Address>(&mut self, place: impl Into<OffsetAddress<A>>, value: Number) {
        self.line(format_args!("{}.{} {}, {value}", A::STORE, value.name(), place.into()));
    }

    /// Leaves a number as a result for a kernel that these instructions are put into, by its place among their operands.
    pub fn give(&mut self, place: usize, value: Number) {
        self.line(format_args!("mov.b32 {}, {value}", Operand::<B32>::given(place)));
    }
}
