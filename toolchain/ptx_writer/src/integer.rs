// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions whose types are known: of whole numbers, bits, comparisons and conversions.

use super::Emitter;
use super::register::{
    B16, B32, B64, Bits, Float, Integer, Operand, Predicate, Register, RegisterKind, Type, U32, U64,
};

macro_rules! instructions {
    ($($(#[$doc:meta])* $name:ident<$T:ident: $Of:ident>($($operand:ident: $Kind:ty),+) is $opcode:literal;)*) => {
        impl Emitter {$(
            $(#[$doc])*
            pub fn $name<$T: $Of>(
                &mut self,
                of: $T,
                $($operand: impl Into<Operand<$Kind>>),+
            ) -> Register<$T::Held> {
                let operands = [$(Operand::<$Kind>::to_string(&$operand.into())),+].join(", ");
                self.result(of, $opcode, format_args!("{operands}"))
            }
        )*}
    };
}

instructions! {
    /// a + b
    add<T: Integer>(a: T::Held, b: T::Held) is "add";
    /// a - b
    sub<T: Integer>(a: T::Held, b: T::Held) is "sub";
    /// The low half of a b.
    mul<T: Integer>(a: T::Held, b: T::Held) is "mul.lo";
    /// The high half of a b.
    mul_high<T: Integer>(a: T::Held, b: T::Held) is "mul.hi";
    /// The low half of a b, and c.
    mad<T: Integer>(a: T::Held, b: T::Held, c: T::Held) is "mad.lo";
    /// a / b
    div<T: Integer>(a: T::Held, b: T::Held) is "div";
    /// What a / b leaves.
    rem<T: Integer>(a: T::Held, b: T::Held) is "rem";
    /// The smaller one.
    min<T: Integer>(a: T::Held, b: T::Held) is "min";
    /// The larger one.
    max<T: Integer>(a: T::Held, b: T::Held) is "max";
    /// Bits that both have.
    and<T: Bits>(a: T::Held, b: T::Held) is "and";
    /// Bits that one of them has.
    or<T: Bits>(a: T::Held, b: T::Held) is "or";
    /// Bits that one of them has, and not both.
    xor<T: Bits>(a: T::Held, b: T::Held) is "xor";
    /// Bits that it has not.
    not<T: Bits>(a: T::Held) is "not";
    /// a 2^by
    shift_left<T: Bits>(a: T::Held, by: B32) is "shl";
    /// a / 2^by, rounded down.
    shift_right<T: Integer>(a: T::Held, by: B32) is "shr";
    /// A copy.
    mov<T: Type>(a: T::Held) is "mov";
    /// The first if something holds, or else the second.
    select<T: Type>(yes: T::Held, no: T::Held, holds: Predicate) is "selp";
    /// |a| of a number.
    abs<T: Float>(a: T::Held) is "abs";
    /// a b of numbers, rounded before something is added to it, as where no instruction does both.
    product<T: Float>(a: T::Held, b: T::Held) is "mul.rn";
}

/// How two numbers are compared.
#[derive(Clone, Copy, Debug)]
pub enum Relation {
    /// a < b.
    Less,
    /// a ≤ b.
    LessEqual,
    /// a > b.
    Greater,
    /// a ≥ b.
    AtLeast,
    /// a = b.
    Equal,
    /// a ≠ b.
    NotEqual,
    /// a ≠ b, or one of them is not a number.
    NotEqualOrNan,
}

impl Relation {
    fn name(self) -> &'static str {
        match self {
            Self::Less => "lt",
            Self::LessEqual => "le",
            Self::Greater => "gt",
            Self::AtLeast => "ge",
            Self::Equal => "eq",
            Self::NotEqual => "ne",
            Self::NotEqualOrNan => "neu",
        }
    }
}

impl Emitter {
    /// Whether a relation holds.
    pub fn setp<T: Type>(
        &mut self,
        relation: Relation,
        _: T,
        a: impl Into<Operand<T::Held>>,
        b: impl Into<Operand<T::Held>>,
    ) -> Register<Predicate> {
        let (to, name) = (self.register(), relation.name());
        self.line(format_args!("setp.{name}.{} {to}, {}, {}", T::NAME, a.into(), b.into()));
        to
    }

    /// Whether a relation and something else hold.
    pub fn setp_and<T: Type>(
        &mut self,
        relation: Relation,
        _: T,
        a: impl Into<Operand<T::Held>>,
        b: impl Into<Operand<T::Held>>,
        and: Register<Predicate>,
    ) -> Register<Predicate> {
        let (to, name, of) = (self.register(), relation.name(), T::NAME);
        self.line(format_args!("setp.{name}.and.{of} {to}, {}, {}, {and}", a.into(), b.into()));
        to
    }

    /// The product of two numbers of 32 bits in 64.
    pub fn mul_wide(&mut self, a: impl Into<Operand<B32>>, b: usize) -> Register<B64> {
        let to = self.register();
        self.line(format_args!("mul.wide.u32 {to}, {}, {b}", a.into()));
        to
    }

    /// The low and the high half of the product of two numbers of 32 bits.
    pub fn halves_of_product(&mut self, a: impl Into<Operand<B32>>, b: u32) -> [Register<B32>; 2] {
        let product = self.mul_wide(a, b as usize);
        let high = self.shift_right(U64, product, 32);
        [self.low(product), self.low(high)]
    }

    /// Overwrites a register.
    pub fn assign<T: Type>(
        &mut self,
        _: T,
        to: Register<T::Held>,
        from: impl Into<Operand<T::Held>>,
    ) {
        self.line(format_args!("mov.{} {to}, {}", T::NAME, from.into()));
    }

    /// Overwrites a register with a sum.
    pub fn assign_sum<T: Integer>(
        &mut self,
        _: T,
        to: Register<T::Held>,
        a: Register<T::Held>,
        b: impl Into<Operand<T::Held>>,
    ) {
        self.line(format_args!("add.{} {to}, {a}, {}", T::NAME, b.into()));
    }

    /// Makes a number larger.
    pub fn increase<T: Integer>(
        &mut self,
        of: T,
        number: Register<T::Held>,
        by: impl Into<Operand<T::Held>>,
    ) {
        self.assign_sum(of, number, number, by);
    }

    /// Makes a number smaller.
    pub fn decrease(&mut self, number: Register<B32>, by: usize) {
        self.line(format_args!("sub.u32 {number}, {number}, {by}"));
    }

    /// A number as another type holds it, without rounding.
    pub fn convert<To: Type, From: Type>(
        &mut self,
        to: To,
        _: From,
        a: impl Into<Operand<From::Held>>,
    ) -> Register<To::Held> {
        self.converted("cvt", to, From::NAME, a.into())
    }

    /// A number as another type holds it, to the nearest.
    pub fn round<To: Type, From: Type>(
        &mut self,
        to: To,
        _: From,
        a: impl Into<Operand<From::Held>>,
    ) -> Register<To::Held> {
        self.converted("cvt.rn", to, From::NAME, a.into())
    }

    fn converted<To: Type, From: RegisterKind>(
        &mut self,
        opcode: &str,
        _: To,
        from: &str,
        a: Operand<From>,
    ) -> Register<To::Held> {
        let to = self.register();
        self.line(format_args!("{opcode}.{}.{from} {to}, {a}", To::NAME));
        to
    }

    /// The low 32 bits of 64.
    pub fn low(&mut self, a: Register<B64>) -> Register<B32> {
        self.convert(U32, U64, a)
    }

    /// The bits of a number.
    pub fn bits<T: Float>(&mut self, number: impl Into<Operand<T>>) -> Register<T::Bits> {
        let to = self.register();
        self.line(format_args!("mov.{} {to}, {}", T::Bits::NAME, number.into()));
        to
    }

    /// The number of these bits.
    pub fn number<T: Float>(&mut self, _: T, bits: impl Into<Operand<T::Bits>>) -> Register<T> {
        let to = self.register();
        self.line(format_args!("mov.{} {to}, {}", T::Bits::NAME, bits.into()));
        to
    }

    /// The low and the high half of 32 bits.
    pub fn halves(&mut self, word: Register<B32>) -> [Register<B16>; 2] {
        let [low, high] = [(); 2].map(|()| self.register());
        self.line(format_args!("mov.b32 {{{low}, {high}}}, {word}"));
        [low, high]
    }
}
