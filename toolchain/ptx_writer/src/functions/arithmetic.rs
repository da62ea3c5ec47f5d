// SPDX-License-Identifier: MIT OR Apache-2.0
//! Formulas as instructions. Each rounds once, to the nearest: what says `.rn` is never fused with its neighbour, and
//! errors that are computed to be subtracted are what they are meant to be.

use crate::{
    B32, B64, Constant, Emitter, F32, F64, Label, Number, NumberFormats, Operand, Predicate,
    Register, Relation, S32, StorageFormat, U32, U64,
};

/// Writes arithmetic of one type.
pub struct Arithmetic<'a> {
    /// The instructions so far.
    pub emitter: &'a mut Emitter,
    numbers: NumberFormats,
}

macro_rules! formulas {
    ($($(#[$doc:meta])* $name:ident($($operand:ident),*) is $opcode:literal;)*) => {
        impl Arithmetic<'_> {$(
            $(#[$doc])*
            pub fn $name(&mut self, $($operand: Number),*) -> Number {
                self.emitter.compute($opcode, &[$($operand),*])
            }
        )*}
    };
}

formulas! {
    /// a + b
    add(a, b) is "add.rn";
    /// a - b
    sub(a, b) is "sub.rn";
    /// a b
    mul(a, b) is "mul.rn";
    /// a / b
    div(a, b) is "div.rn";
    /// a b + c, rounded once
    fma(a, b, c) is "fma.rn";
    /// -a
    neg(a) is "neg";
    /// |a|
    abs(a) is "abs";
    /// The smaller one, or the one that is a number.
    min(a, b) is "min";
    /// The larger one, or the one that is a number.
    max(a, b) is "max";
}

impl<'a> Arithmetic<'a> {
    /// In the type in which these numbers are computed with.
    pub fn new(emitter: &'a mut Emitter, numbers: NumberFormats) -> Self {
        Self { emitter, numbers }
    }

    /// Arithmetic of f64 among it.
    pub fn wide(&mut self) -> Arithmetic<'_> {
        Arithmetic {
            emitter: self.emitter,
            numbers: NumberFormats { format: StorageFormat::F64, exact: false },
        }
    }

    /// Whether it is f64.
    pub fn is_wide(&self) -> bool {
        self.numbers.is_wide()
    }

    /// The one for f32, or the other for f64.
    pub fn either<T>(&self, single: T, double: T) -> T {
        if self.is_wide() { double } else { single }
    }

    /// A number as an operand.
    pub fn number(&self, value: f64) -> Number {
        self.numbers.immediate(value)
    }

    /// The magnitude of a with the sign of b.
    pub fn with_sign(&mut self, a: Number, b: Number) -> Number {
        self.emitter.compute("copysign", &[b, a])
    }

    /// A number of f64 in f32, to the nearest.
    pub fn narrow(&mut self, wide: Number) -> Number {
        self.numbers.narrow(self.emitter, wide)
    }

    /// The next whole number below.
    pub fn floor(&mut self, a: Number) -> Number {
        self.emitter.floor(a)
    }

    /// Overwrites a register.
    pub fn assign(&mut self, to: Number, from: Number) {
        self.emitter.set(to, from);
    }

    /// Whether a relation holds; of what is not a number none does, but that it is not equal.
    pub fn holds(&mut self, relation: Relation, a: Number, b: Number) -> Register<Predicate> {
        self.emitter.compare(relation, a, b)
    }

    /// Whether a relation and something else hold.
    pub fn holds_and(
        &mut self,
        relation: Relation,
        a: Number,
        b: Number,
        and: Register<Predicate>,
    ) -> Register<Predicate> {
        self.emitter.compare_and(relation, a, b, and)
    }

    /// One of two, by a predicate.
    pub fn choose(&mut self, holds: Register<Predicate>, yes: Number, no: Number) -> Number {
        self.emitter.choose(yes, no, holds)
    }

    /// `value`, or what is not a number where `x` is not.
    pub fn unless_nan(&mut self, x: Number, value: Number) -> Number {
        let is_nan = self.holds(Relation::NotEqualOrNan, x, x);
        self.choose(is_nan, x, value)
    }

    /// A polynomial by Horner's rule, the highest coefficient first; at least two.
    pub fn polynomial(&mut self, coefficients: &[f64], x: Number) -> Number {
        let mut sum = self.number(coefficients[0]);
        for coefficient in &coefficients[1..] {
            sum = self.fma(sum, x, self.number(*coefficient));
        }
        sum
    }

    /// The whole number next to a b, as a number and as 32 bits: adding 1.5 times the distance at which numbers are
    /// whole rounds to the nearest, and leaves the whole number in the lowest bits. For |a b| < 2^22 in f32, 2^31
    /// in f64.
    pub fn nearest(&mut self, a: Number, b: f64) -> (Number, Register<B32>) {
        let whole = self.either(1.5 * 2f64.powi(23), 1.5 * 2f64.powi(52));
        let at = self.number(whole);
        let sum = self.fma(a, self.number(b), at);
        let number = self.sub(sum, at);
        let low = match sum {
            Number::F32(sum) => {
                let bits = self.emitter.bits(sum);
                self.emitter.sub(U32, bits, (whole as f32).to_bits())
            }
            Number::F64(sum) => {
                let bits = self.emitter.bits(sum);
                self.emitter.low(bits)
            }
        };
        (number, low)
    }

    /// 2^k of a whole number of 32 bits, if that is a normal number.
    pub fn power_of_two(&mut self, k: Register<B32>) -> Number {
        let (bias, is_wide, emitter) = (self.either(127, 1023), self.is_wide(), &mut self.emitter);
        let exponent = emitter.add(S32, k, bias);
        if is_wide {
            let exponent = emitter.convert(U64, U32, exponent);
            let bits = emitter.shift_left(B64, exponent, 52);
            return emitter.number(F64, bits).into();
        }
        let bits = emitter.shift_left(B32, exponent, 23);
        emitter.number(F32, bits).into()
    }

    /// What a branch writes to, and the label behind it: instructions until [`Arithmetic::end`] are executed only
    /// where the predicate holds.
    pub fn only_where(&mut self, holds: Register<Predicate>) -> Label {
        let end = self.emitter.new_label();
        self.emitter.branch_if(!holds, end);
        end
    }

    /// The end of what is executed only somewhere.
    pub fn end(&mut self, label: Label) {
        self.emitter.label(label);
    }

    /// The address of the digits of 2/π.
    pub fn digits(&mut self) -> Register<Constant> {
        self.emitter.has_digits = true;
        self.emitter.mov(Constant, Operand::named(super::digits::NAME))
    }
}
