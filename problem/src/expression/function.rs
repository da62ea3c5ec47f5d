// SPDX-License-Identifier: MIT OR Apache-2.0
//! What expressions compute: operators and functions of numbers and conditions.

use serde::{Deserialize, Serialize};

/// An operator or a function. A condition is a number, too: 1 where it holds, 0 where not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Function {
    /// `-a`
    Negate,
    /// `a + b`
    Add,
    /// `a - b`
    Subtract,
    /// `a * b`
    Multiply,
    /// `a / b`
    Divide,
    /// `a ^ b`
    Power,
    /// `a ^ n` of a whole number n other than 0 and 1, by multiplications
    PowerOf(i32),
    /// Magnitude
    Abs,
    /// Square root
    Sqrt,
    /// e to the power
    Exp,
    /// Natural logarithm
    Ln,
    /// Sine of radians
    Sin,
    /// Cosine of radians
    Cos,
    /// Hyperbolic tangent
    Tanh,
    /// The angle of the point (b, a), from -π to π
    Atan2,
    /// The next whole number below
    Floor,
    /// The smaller one
    Min,
    /// The larger one
    Max,
    /// `a < b`
    Less,
    /// `a <= b`
    LessEqual,
    /// `a == b`
    Equal,
    /// Both conditions
    And,
    /// One of two conditions, or both
    Or,
    /// Not this condition
    Not,
    /// The second where the first holds, else the third
    If,
}

/// Whether a value is a number or a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A number.
    Number,
    /// A condition.
    Condition,
}

/// The functions that are called by a name.
pub const NAMED: [(&str, Function); 12] = [
    ("abs", Function::Abs),
    ("sqrt", Function::Sqrt),
    ("exp", Function::Exp),
    ("ln", Function::Ln),
    ("sin", Function::Sin),
    ("cos", Function::Cos),
    ("tanh", Function::Tanh),
    ("atan2", Function::Atan2),
    ("floor", Function::Floor),
    ("min", Function::Min),
    ("max", Function::Max),
    ("if", Function::If),
];

impl Function {
    /// The types of its arguments.
    #[must_use]
    pub fn takes(self) -> &'static [Type] {
        use Type::{Condition, Number};
        match self {
            Self::Negate
            | Self::PowerOf(_)
            | Self::Abs
            | Self::Sqrt
            | Self::Exp
            | Self::Ln
            | Self::Sin
            | Self::Cos
            | Self::Tanh
            | Self::Floor => &[Number],
            Self::Add
            | Self::Subtract
            | Self::Multiply
            | Self::Divide
            | Self::Power
            | Self::Atan2
            | Self::Min
            | Self::Max
            | Self::Less
            | Self::LessEqual
            | Self::Equal => &[Number, Number],
            Self::And | Self::Or => &[Condition, Condition],
            Self::Not => &[Condition],
            Self::If => &[Condition, Number, Number],
        }
    }

    /// The type of its value.
    #[must_use]
    pub fn gives(self) -> Type {
        match self {
            Self::Less | Self::LessEqual | Self::Equal | Self::And | Self::Or | Self::Not => {
                Type::Condition
            }
            _ => Type::Number,
        }
    }

    /// About how many instructions of a GPU it takes.
    #[must_use]
    pub fn instructions(self) -> usize {
        match self {
            Self::Exp | Self::Ln | Self::Tanh => 30,
            Self::Atan2 => 60,
            Self::Sin | Self::Cos => 80,
            Self::Power => 120,
            Self::Divide | Self::Sqrt => 10,
            _ => 1,
        }
    }

    /// Its value in f64.
    ///
    /// # Panics
    /// On fewer arguments than it takes.
    #[must_use]
    pub fn of(self, arguments: &[f64]) -> f64 {
        let a = arguments[0];
        let b = || arguments[1];
        let condition = |holds| if holds { 1.0 } else { 0.0 };
        match self {
            Self::Negate => -a,
            Self::Add => a + b(),
            Self::Subtract => a - b(),
            Self::Multiply => a * b(),
            Self::Divide => a / b(),
            Self::Power => a.powf(b()),
            Self::PowerOf(n) => a.powi(n),
            Self::Abs => a.abs(),
            Self::Sqrt => a.sqrt(),
            Self::Exp => a.exp(),
            Self::Ln => a.ln(),
            Self::Sin => a.sin(),
            Self::Cos => a.cos(),
            Self::Tanh => a.tanh(),
            Self::Atan2 => a.atan2(b()),
            Self::Floor => a.floor(),
            Self::Min | Self::And => a.min(b()),
            Self::Max | Self::Or => a.max(b()),
            Self::Less => condition(a < b()),
            Self::LessEqual => condition(a <= b()),
            Self::Equal => condition(a == b()),
            Self::Not => 1.0 - a,
            Self::If => {
                if a != 0.0 {
                    b()
                } else {
                    arguments[2]
                }
            }
        }
    }
}
