// SPDX-License-Identifier: MIT OR Apache-2.0
//! PTX that a program writes, instruction by instruction, with as many registers as there are values.
//!
//! A [`Register`] has the kind of what it holds as its type, and an instruction takes and gives registers of its own
//! kinds: bits of another length, an address in another memory or a number where bits are meant do not compile. Whether
//! numbers are f32 or f64 is known when a kernel is written, so a [`Number`] is either, and an instruction of both is
//! refused then.

use std::collections::BTreeMap;
use std::fmt::{Arguments, Write};
use std::marker::PhantomData;

mod flow;
pub mod functions;
mod integer;
mod memory;
mod number;
mod register;
mod stored;

#[cfg(test)]
mod tests;

use flow::Condition;
pub use flow::Label;
pub use integer::Relation;
pub use memory::{Address, OffsetAddress};
pub use number::Number;
pub use register::{
    B32, B64, BLOCK, Constant, F32, F64, Global, Operand, Predicate, Register, S32, S64, Shared,
    THREAD, U32, U64,
};
use register::{Class, RegisterKind, Type};
pub use stored::{NumberFormats, StorageFormat, StoredValue};

/// The instructions so far.
#[derive(Debug, Default)]
pub struct Emitter {
    body: String,
    counts: BTreeMap<Class, usize>,
    labels: usize,
    /// The condition of the next instruction.
    guard: Option<Condition>,
    /// How names of registers begin, where others have registers, too.
    scope: &'static str,
    /// Whether it reads the digits of 2/π.
    pub has_digits: bool,
}

impl Emitter {
    /// Of instructions among others', with registers whose names begin so.
    pub fn within(scope: &'static str) -> Self {
        Self { scope, ..Self::default() }
    }

    /// A register that nothing has written yet.
    pub fn register<K: RegisterKind>(&mut self) -> Register<K> {
        let count = self.counts.entry(K::CLASS).or_default();
        *count += 1;
        Register { scope: self.scope, number: *count - 1, kind: PhantomData }
    }

    /// What is written next is executed only on a condition, if it is one instruction.
    pub fn guarded(&mut self, condition: impl Into<Condition>) -> &mut Self {
        self.guard = Some(condition.into());
        self
    }

    /// An instruction, without its semicolon.
    fn line(&mut self, instruction: Arguments) {
        match self.guard.take() {
            Some(guard) => writeln!(self.body, "    {guard} {instruction};"),
            None => writeln!(self.body, "    {instruction};"),
        }
        .expect("a string takes any text");
    }

    /// An instruction of a type, whose result goes to a new register.
    fn result<T: Type>(&mut self, _: T, opcode: &str, operands: Arguments) -> Register<T::Held> {
        let to = self.register();
        self.line(format_args!("{opcode}.{} {to}, {operands}", T::NAME));
        to
    }

    /// The instructions, after the declarations of their registers.
    pub fn finish(self) -> String {
        let mut text = String::new();
        for (Class { prefix, declared, .. }, count) in &self.counts {
            writeln!(text, "    .reg .{declared} %{}{prefix}<{count}>;", self.scope)
                .expect("a string takes any text");
        }
        text + &self.body
    }
}

/// The example of the page, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Page;
