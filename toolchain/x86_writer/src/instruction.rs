// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be computed of a point.

use bytemuck::Pod;

/// f32 or f64.
pub trait FloatType: Pod + Send + Sync {
    /// Bits of a magnitude.
    const MAGNITUDE: Self;
    /// −0
    const SIGN: Self;
    /// 1
    const ONE: Self;
    /// Whether it is f64.
    const IS_DOUBLE: bool;
    /// Values of a vector.
    const LANES: usize = super::VECTOR / size_of::<Self>();
}

impl FloatType for f32 {
    const MAGNITUDE: Self = Self::from_bits(u32::MAX >> 1);
    const SIGN: Self = -0.0;
    const ONE: Self = 1.0;
    const IS_DOUBLE: bool = false;
}

impl FloatType for f64 {
    const MAGNITUDE: Self = Self::from_bits(u64::MAX >> 1);
    const SIGN: Self = -0.0;
    const ONE: Self = 1.0;
    const IS_DOUBLE: bool = true;
}

/// An operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionInput {
    /// A value of an input, so many values behind the one that has the point's number.
    Input {
        /// The input.
        number: usize,
        /// Values behind.
        place: usize,
    },
    /// What was stored there.
    Slot(usize),
    /// One of the numbers that all points share.
    Shared(usize),
}

/// An operation on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// Sum.
    Add,
    /// Difference.
    Subtract,
    /// Product.
    Multiply,
    /// Quotient.
    Divide,
    /// The first one if it is smaller, else the second.
    Min,
    /// The first one if it is larger, else the second.
    Max,
    /// 1 if the first one is smaller, else 0.
    Less,
    /// 1 if the first one is not larger, else 0, also of what is no number.
    LessEqual,
    /// 1 if both are equal, else 0.
    Equal,
}

/// An operation on one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    /// With the other sign.
    Negate,
    /// Magnitude.
    Abs,
    /// Square root.
    Sqrt,
    /// The next whole number below.
    Floor,
    /// 1 less the number.
    Not,
    /// A whole power other than 0, by multiplications; a negative one by a division at the end.
    Power(i32),
}

/// A function of a block of values, which become what it makes of them and of as many values of up to two others.
pub type BlockFunction<T> = fn(&mut [T], [&[T]; 2]);

/// An instruction: it changes the value that a point has in a register.
#[derive(Clone, Debug)]
pub enum Instruction<T> {
    /// It becomes this.
    Load(InstructionInput),
    /// It becomes what the output holds, before it is written.
    Old(usize),
    /// It becomes a product.
    Product(InstructionInput, InstructionInput),
    /// It becomes a sum of products, by fused multiply-adds onto 0.
    Sum(Vec<(InstructionInput, T)>),
    /// It becomes an operation on itself, first, and this.
    Binary(Binary, InstructionInput),
    /// It becomes an operation on this, first, and itself.
    Reversed(Binary, InstructionInput),
    /// It becomes an operation on itself.
    Unary(Unary),
    /// A product is added, without being rounded.
    AddProduct(InstructionInput, InstructionInput),
    /// A product is subtracted, without being rounded.
    SubtractProduct(InstructionInput, InstructionInput),
    /// It is subtracted from a product, which is not rounded.
    SubtractFromProduct(InstructionInput, InstructionInput),
    /// Of a condition and two values it is the one of this number; it becomes the first value where the condition is not
    /// 0, else the second.
    Select(usize, [InstructionInput; 2]),
    /// It becomes a function of itself and of up to two others, which is called for a block of points.
    Call(BlockFunction<T>, Vec<InstructionInput>),
    /// It is stored in a slot.
    Store(usize),
    /// It becomes the value of an output.
    Write(usize),
}

impl<T> Instruction<T> {
    /// What it takes.
    pub(super) fn sources(&self) -> Vec<InstructionInput> {
        match self {
            Self::Load(a) | Self::Binary(_, a) | Self::Reversed(_, a) => vec![*a],
            Self::Product(a, b)
            | Self::AddProduct(a, b)
            | Self::SubtractProduct(a, b)
            | Self::SubtractFromProduct(a, b)
            | Self::Select(_, [a, b]) => vec![*a, *b],
            Self::Sum(taps) => taps.iter().map(|(source, _)| *source).collect(),
            Self::Call(_, others) => others.clone(),
            Self::Old(_) | Self::Unary(_) | Self::Store(_) | Self::Write(_) => Vec::new(),
        }
    }
}
