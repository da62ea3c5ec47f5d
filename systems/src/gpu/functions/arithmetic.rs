// SPDX-License-Identifier: MIT OR Apache-2.0
//! Formulas as instructions. Each rounds once, to the nearest: what says `.rn` is never fused with its neighbour, and
//! errors that are computed to be subtracted are what they are meant to be.

use std::fmt::Arguments;

use super::super::emitter::{Class, Emitter};
use super::super::numbers::Numbers;
use problem::Dtype;

/// Writes arithmetic of one type.
pub struct Arithmetic<'a> {
    emitter: &'a mut Emitter,
    numbers: Numbers,
}

impl<'a> Arithmetic<'a> {
    /// That of the type in which values of this type are computed.
    pub fn new(emitter: &'a mut Emitter, dtype: Dtype) -> Self {
        Self { emitter, numbers: Numbers { dtype } }
    }

    /// The same in f64.
    pub fn wide(&mut self) -> Arithmetic<'_> {
        Arithmetic { emitter: self.emitter, numbers: Numbers { dtype: Dtype::F64 } }
    }

    /// Whether it is f64.
    pub fn is_wide(&self) -> bool {
        self.numbers.class() == Class::F64
    }

    /// The one for f32, or the other for f64.
    pub fn either<T>(&self, single: T, double: T) -> T {
        if self.is_wide() { double } else { single }
    }

    /// A number as an operand.
    pub fn number(&self, value: f64) -> String {
        self.numbers.immediate(value)
    }

    /// An instruction with a result of any kind.
    pub fn set(&mut self, class: Class, opcode: &str, operands: Arguments) -> String {
        self.emitter.set(class, opcode, operands)
    }

    /// An instruction on operands of this type.
    fn of(&mut self, opcode: &str, operands: &[&str]) -> String {
        let opcode = format!("{opcode}.{}", self.numbers.suffix());
        let operands = operands.join(", ");
        self.emitter.set(self.numbers.class(), &opcode, format_args!("{operands}"))
    }

    /// a + b
    pub fn add(&mut self, a: &str, b: &str) -> String {
        self.of("add.rn", &[a, b])
    }

    /// a - b
    pub fn sub(&mut self, a: &str, b: &str) -> String {
        self.of("sub.rn", &[a, b])
    }

    /// a b
    pub fn mul(&mut self, a: &str, b: &str) -> String {
        self.of("mul.rn", &[a, b])
    }

    /// a / b
    pub fn div(&mut self, a: &str, b: &str) -> String {
        self.of("div.rn", &[a, b])
    }

    /// a b + c, rounded once
    pub fn fma(&mut self, a: &str, b: &str, c: &str) -> String {
        self.of("fma.rn", &[a, b, c])
    }

    /// -a
    pub fn neg(&mut self, a: &str) -> String {
        self.of("neg", &[a])
    }

    /// |a|
    pub fn abs(&mut self, a: &str) -> String {
        self.of("abs", &[a])
    }

    /// The smaller one, or the one that is a number.
    pub fn min(&mut self, a: &str, b: &str) -> String {
        self.of("min", &[a, b])
    }

    /// The larger one, or the one that is a number.
    pub fn max(&mut self, a: &str, b: &str) -> String {
        self.of("max", &[a, b])
    }

    /// The magnitude of a with the sign of b.
    pub fn with_sign(&mut self, a: &str, b: &str) -> String {
        self.of("copysign", &[b, a])
    }

    /// The next whole number below.
    pub fn floor(&mut self, a: &str) -> String {
        let opcode = format!("cvt.rmi.{}", self.numbers.suffix());
        self.of(&opcode, &[a])
    }

    /// Overwrites a register.
    pub fn assign(&mut self, to: &str, from: &str) {
        let suffix = self.numbers.suffix();
        self.emitter.line(format_args!("mov.{suffix} {to}, {from}"));
    }

    /// Overwrites a register of 32 bits.
    pub fn assign_whole(&mut self, to: &str, from: &str) {
        self.emitter.line(format_args!("mov.u32 {to}, {from}"));
    }

    /// Whether a relation holds: `lt`, `le`, `gt`, `eq`; of what is not a number none does, but `neu`.
    pub fn holds(&mut self, relation: &str, a: &str, b: &str) -> String {
        let opcode = format!("setp.{relation}.{}", self.numbers.suffix());
        self.set(Class::Predicate, &opcode, format_args!("{a}, {b}"))
    }

    /// One of two, by a predicate.
    pub fn choose(&mut self, holds: &str, yes: &str, no: &str) -> String {
        self.of("selp", &[yes, no, holds])
    }

    /// `value`, or what is not a number where `x` is not.
    pub fn unless_nan(&mut self, x: &str, value: &str) -> String {
        let is_nan = self.holds("neu", x, x);
        self.choose(&is_nan, x, value)
    }

    /// A polynomial by Horner's rule, the highest coefficient first; at least two.
    pub fn polynomial(&mut self, coefficients: &[f64], x: &str) -> String {
        let mut sum = self.number(coefficients[0]);
        for coefficient in &coefficients[1..] {
            let coefficient = self.number(*coefficient);
            sum = self.fma(&sum, x, &coefficient);
        }
        sum
    }

    /// The same bits as a whole number of as many bits.
    pub fn bits(&mut self, a: &str) -> String {
        let (class, opcode) = self.either((Class::B32, "mov.b32"), (Class::B64, "mov.b64"));
        self.set(class, opcode, format_args!("{a}"))
    }

    /// The number of these bits.
    pub fn number_of(&mut self, bits: &str) -> String {
        let opcode = self.either("mov.b32", "mov.b64");
        let class = self.numbers.class();
        self.set(class, opcode, format_args!("{bits}"))
    }

    /// The whole number next to a b, as a number and as 32 bits: adding 1.5 times the distance at which numbers are
    /// whole rounds to the nearest, and leaves the whole number in the lowest bits. For |a b| < 2^22 in f32, 2^31
    /// in f64.
    pub fn nearest(&mut self, a: &str, b: f64) -> (String, String) {
        let whole = self.either(1.5 * 2f64.powi(23), 1.5 * 2f64.powi(52));
        let (b, at) = (self.number(b), self.number(whole));
        let sum = self.fma(a, &b, &at);
        let number = self.sub(&sum, &at);
        let bits = self.bits(&sum);
        let bits = match self.is_wide() {
            true => self.set(Class::B32, "cvt.u32.u64", format_args!("{bits}")),
            false => {
                let of_sum = (whole as f32).to_bits();
                self.set(Class::B32, "sub.u32", format_args!("{bits}, {of_sum}"))
            }
        };
        (number, bits)
    }

    /// 2^k of a whole number of 32 bits, if that is a normal number.
    pub fn power_of_two(&mut self, k: &str) -> String {
        let bias = self.either(127, 1023);
        let exponent = self.set(Class::B32, "add.s32", format_args!("{k}, {bias}"));
        let bits = match self.is_wide() {
            true => {
                let exponent = self.set(Class::B64, "cvt.u64.u32", format_args!("{exponent}"));
                self.set(Class::B64, "shl.b64", format_args!("{exponent}, 52"))
            }
            false => self.set(Class::B32, "shl.b32", format_args!("{exponent}, 23")),
        };
        self.number_of(&bits)
    }

    /// What a branch writes to, and the label behind it: instructions until [`Arithmetic::end`] are executed only
    /// where the predicate holds.
    pub fn only_where(&mut self, holds: &str) -> String {
        let end = self.emitter.new_label();
        self.emitter.line(format_args!("@!{holds} bra {end}"));
        end
    }

    /// The end of what is executed only somewhere.
    pub fn end(&mut self, label: &str) {
        self.emitter.label(label);
    }

    /// The address of the digits of 2/π.
    pub fn digits(&mut self) -> String {
        self.emitter.has_digits = true;
        self.emitter.set(Class::B64, "mov.u64", format_args!("{}", super::digits::NAME))
    }
}
