// SPDX-License-Identifier: MIT OR Apache-2.0
//! PTX, line by line, with as many registers as there are values.

use std::collections::BTreeMap;
use std::fmt::{Arguments, Write};

/// What a register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A predicate.
    Predicate,
    /// 16 bits.
    B16,
    /// 32 bits.
    B32,
    /// 64 bits.
    B64,
    /// A number in f32.
    F32,
    /// A number in f64.
    F64,
}

impl Class {
    fn prefix(self) -> &'static str {
        match self {
            Self::Predicate => "p",
            Self::B16 => "h",
            Self::B32 => "r",
            Self::B64 => "q",
            Self::F32 => "f",
            Self::F64 => "d",
        }
    }

    fn declared(self) -> &'static str {
        match self {
            Self::Predicate => ".pred",
            Self::B16 => ".b16",
            Self::B32 => ".b32",
            Self::B64 => ".b64",
            Self::F32 => ".f32",
            Self::F64 => ".f64",
        }
    }
}

/// The instructions so far.
#[derive(Debug, Default)]
pub struct Emitter {
    body: String,
    counts: BTreeMap<Class, usize>,
    labels: usize,
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
    pub fn register(&mut self, class: Class) -> String {
        let count = self.counts.entry(class).or_default();
        *count += 1;
        format!("%{}{}{}", self.scope, class.prefix(), *count - 1)
    }

    /// An instruction, without its semicolon.
    pub fn line(&mut self, instruction: Arguments) {
        writeln!(self.body, "    {instruction};").expect("a string takes any text");
    }

    /// An instruction whose result goes to a new register, written `=` in it.
    pub fn set(&mut self, class: Class, opcode: &str, operands: Arguments) -> String {
        let register = self.register(class);
        self.line(format_args!("{opcode} {register}, {operands}"));
        register
    }

    /// A place to branch to.
    pub fn label(&mut self, name: &str) {
        writeln!(self.body, "{name}:").expect("a string takes any text");
    }

    /// The name of a place that is not there yet.
    pub fn new_label(&mut self) -> String {
        self.labels += 1;
        format!("L{}{}", self.scope, self.labels)
    }

    /// The instructions, after the declarations of their registers.
    pub fn finish(self) -> String {
        let mut text = String::new();
        for (class, count) in &self.counts {
            let (declared, scope, prefix) = (class.declared(), self.scope, class.prefix());
            writeln!(text, "    .reg {declared} %{scope}{prefix}<{count}>;")
                .expect("a string takes any text");
        }
        text + &self.body
    }
}
