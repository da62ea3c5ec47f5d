// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checked expressions: every name is what it stands for, every function has its arguments.

use super::function::Function;
use crate::noise::Noise;
use serde::{Deserialize, Serialize};

/// An array of values, one for each point of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Array {
    /// A field so many steps ago: 0 now, up to 2.
    Field {
        /// Which.
        field: usize,
        /// How many steps ago.
        level: usize,
    },
    /// A coefficient, which does not change.
    Coefficient(usize),
    /// A field after the step that is taken.
    New(usize),
    /// A work field, which is computed in each step.
    Work(usize),
}

impl Array {
    /// Whether it is a level of this field, or what the field is after the step.
    #[must_use]
    pub fn is_of_field(self, wanted: usize) -> bool {
        matches!(self, Self::Field { field, .. } | Self::New(field) if field == wanted)
    }

    /// Whether a step computes it, so that whoever reads it waits for that.
    #[must_use]
    pub fn is_computed(self) -> bool {
        matches!(self, Self::New(_) | Self::Work(_))
    }
}

/// A part of a checked expression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Node {
    /// A number.
    Number(f64),
    /// The time that the present values are of.
    Time,
    /// The number of steps that are done.
    Step,
    /// How long the step is, where that follows from the values.
    StepLength,
    /// What all points of the present values make, by the number of the reduction.
    Total(usize),
    /// The coordinate of the point along an axis, 0 to 2 for z, y, x.
    Coordinate(usize),
    /// The number of points before it along an axis, 0 to 2 for z, y, x.
    Index(usize),
    /// A random number in [0, 1) for each point, by a seed.
    Random(u64),
    /// A random number in [0, 1) for each point and step.
    Noise(Noise),
    /// The value at the point.
    Read(Array),
    /// A function of other values.
    Call(Function, Vec<Node>),
    /// A stencil, by its index, of values around the point.
    Stencil(usize, Box<Node>),
    /// A table, by its index.
    Table(usize, Box<Node>),
    /// What a stencil, by its index, makes this of: the whole value of a work field.
    Solve(usize, Box<Node>),
}

impl Node {
    /// A function of these, computed at once where all of them are numbers; powers of whole numbers become
    /// multiplications.
    #[must_use]
    pub fn call(function: Function, arguments: Vec<Self>) -> Self {
        /// Larger ones are not faster by multiplications, and less exact.
        const MOST_POWER: f64 = 16.0;
        let number =
            |node: &Self| if let Self::Number(number) = node { Some(*number) } else { None };
        let numbers: Option<Vec<f64>> = arguments.iter().map(number).collect();
        if let Some(value) = numbers.map(|numbers| function.of(&numbers)) {
            return Self::Number(value);
        }
        match (function, arguments.as_slice()) {
            (Function::Power, [base, Self::Number(exponent)]) => match *exponent {
                0.0 => Self::Number(1.0),
                1.0 => base.clone(),
                0.5 => Self::Call(Function::Sqrt, vec![base.clone()]),
                n if n.fract() == 0.0 && n.abs() <= MOST_POWER => {
                    Self::Call(Function::PowerOf(n as i32), vec![base.clone()])
                }
                _ => Self::Call(function, arguments),
            },
            (Function::If, [Self::Number(condition), yes, no]) => {
                if *condition != 0.0 {
                    yes.clone()
                } else {
                    no.clone()
                }
            }
            _ => Self::Call(function, arguments),
        }
    }

    /// Whether it is a number that is known.
    #[must_use]
    pub fn is_number(&self) -> bool {
        matches!(self, Self::Number(_))
    }

    /// Whether it has one value for all points of a step.
    #[must_use]
    pub fn is_uniform(&self) -> bool {
        match self {
            Self::Number(_) | Self::Time | Self::Step | Self::StepLength | Self::Total(_) => true,
            Self::Coordinate(_)
            | Self::Index(_)
            | Self::Random(_)
            | Self::Noise(_)
            | Self::Read(_)
            | Self::Stencil(..)
            | Self::Solve(..) => false,
            Self::Call(_, arguments) => arguments.iter().all(Self::is_uniform),
            Self::Table(_, argument) => argument.is_uniform(),
        }
    }

    /// Whether its value is one of the place of a point.
    #[must_use]
    pub fn is_of_place(&self) -> bool {
        matches!(self, Self::Coordinate(_) | Self::Index(_) | Self::Noise(_))
    }

    /// It with other arrays in the places of those that it reads.
    #[must_use]
    pub fn with_arrays(&self, other: &impl Fn(Array) -> Array) -> Self {
        self.replaced(&|node| match node {
            Self::Read(array) => Some(Self::Read(other(*array))),
            _ => None,
        })
    }

    /// The expression with other parts in the places of those for which `other` has one.
    #[must_use]
    pub fn replaced(&self, other: &impl Fn(&Self) -> Option<Self>) -> Self {
        if let Some(other) = other(self) {
            return other;
        }
        match self {
            Self::Call(function, arguments) => {
                let arguments = arguments.iter().map(|it| it.replaced(other));
                Self::Call(*function, arguments.collect())
            }
            Self::Stencil(number, argument) => {
                Self::Stencil(*number, Box::new(argument.replaced(other)))
            }
            Self::Table(number, argument) => {
                Self::Table(*number, Box::new(argument.replaced(other)))
            }
            Self::Solve(number, argument) => {
                Self::Solve(*number, Box::new(argument.replaced(other)))
            }
            leaf => leaf.clone(),
        }
    }

    /// The arrays that a step computes and it reads, each with whether it is read at the point only.
    #[must_use]
    pub fn computed_reads(&self) -> Vec<(Array, bool)> {
        fn note(node: &Node, at_point: bool, found: &mut Vec<(Array, bool)>) {
            match node {
                Node::Read(array) if array.is_computed() => {
                    match found.iter_mut().find(|(known, _)| known == array) {
                        Some((_, only)) => *only &= at_point,
                        None => found.push((*array, at_point)),
                    }
                }
                Node::Call(_, parts) => parts.iter().for_each(|it| note(it, at_point, found)),
                Node::Stencil(_, part) => note(part, false, found),
                Node::Table(_, part) | Node::Solve(_, part) => note(part, at_point, found),
                _ => (),
            }
        }
        let mut found = Vec::new();
        note(self, true, &mut found);
        found
    }

    /// Calls `see` with this part and all parts of it.
    pub fn visit(&self, see: &mut impl FnMut(&Self)) {
        see(self);
        match self {
            Self::Call(_, arguments) => arguments.iter().for_each(|part| part.visit(see)),
            Self::Stencil(_, argument) | Self::Table(_, argument) | Self::Solve(_, argument) => {
                argument.visit(see)
            }
            _ => (),
        }
    }
}
