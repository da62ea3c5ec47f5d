// SPDX-License-Identifier: MIT OR Apache-2.0
//! Branches, and what is executed only where something holds.

use std::fmt::{Display, Formatter, Result, Write};
use std::ops::Not;

use super::Emitter;
use super::register::{Predicate, Register};

/// A place to branch to.
#[derive(Clone, Copy, Debug)]
pub struct Label {
    name: &'static str,
    scope: &'static str,
    number: Option<usize>,
}

impl Label {
    /// The only one of this name.
    pub const fn named(name: &'static str) -> Self {
        Self { name, scope: "", number: None }
    }

    /// One of several of this name.
    pub const fn numbered(name: &'static str, number: usize) -> Self {
        Self { name, scope: "", number: Some(number) }
    }
}

impl Display for Label {
    fn fmt(&self, out: &mut Formatter) -> Result {
        write!(out, "{}{}", self.name, self.scope)?;
        self.number.map_or(Ok(()), |number| number.fmt(out))
    }
}

/// That a predicate holds, or `!predicate` that it does not.
#[derive(Clone, Copy, Debug)]
pub struct Condition {
    predicate: Register<Predicate>,
    holds: bool,
}

impl From<Register<Predicate>> for Condition {
    fn from(predicate: Register<Predicate>) -> Self {
        Self { predicate, holds: true }
    }
}

impl Not for Register<Predicate> {
    type Output = Condition;

    fn not(self) -> Condition {
        Condition { predicate: self, holds: false }
    }
}

impl Display for Condition {
    fn fmt(&self, out: &mut Formatter) -> Result {
        write!(out, "@{}{}", if self.holds { "" } else { "!" }, self.predicate)
    }
}

impl Emitter {
    /// A place that is not there yet.
    pub fn new_label(&mut self) -> Label {
        self.labels += 1;
        Label { name: "L", scope: self.scope, number: Some(self.labels) }
    }

    /// The place is here.
    pub fn label(&mut self, label: Label) {
        writeln!(self.body, "{label}:").expect("a string takes any text");
    }

    /// Goes on there.
    pub fn branch(&mut self, label: Label) {
        self.line(format_args!("bra {label}"));
    }

    /// Goes on there on a condition.
    pub fn branch_if(&mut self, condition: impl Into<Condition>, label: Label) {
        self.guarded(condition).branch(label);
    }

    /// Ends the thread.
    pub fn ret(&mut self) {
        self.line(format_args!("ret"));
    }

    /// Ends the thread on a condition.
    pub fn ret_if(&mut self, condition: impl Into<Condition>) {
        self.guarded(condition).ret();
    }

    /// Waits for all threads of the block.
    pub fn barrier(&mut self) {
        self.line(format_args!("bar.sync 0"));
    }
}
