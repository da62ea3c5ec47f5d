// SPDX-License-Identifier: MIT OR Apache-2.0
//! What totals are made of: sums over the grid, and smallest and largest values.

use serde::{Deserialize, Serialize};

use super::function::Function;
use super::node::Node;

/// How the values of all points become one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Fold {
    /// They are added.
    Sum,
    /// The smallest one.
    Min,
    /// The largest one.
    Max,
}

impl Fold {
    /// What a point that does not count has.
    #[must_use]
    pub fn nothing(self) -> f64 {
        match self {
            Self::Sum => 0.0,
            Self::Min => f64::MAX,
            Self::Max => f64::MIN,
        }
    }
}

/// One number of the values that an expression has at all points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reduction {
    /// How they become one.
    pub fold: Fold,
    /// The expression; where a point does not count, it is [`Fold::nothing`].
    pub value: Node,
}

/// The words for what is reduced over the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReductionKind {
    /// Of the values.
    Fold(Fold),
    /// Their sum by how many they are.
    Mean,
    /// The root of the sum of their squares.
    Norm,
}

impl ReductionKind {
    /// What a call of this name with so many arguments is, if it is one of these.
    pub fn named(name: &str, arguments: usize) -> Option<Self> {
        match (name, arguments) {
            ("sum", _) => Some(Self::Fold(Fold::Sum)),
            ("mean", _) => Some(Self::Mean),
            ("norm", _) => Some(Self::Norm),
            ("min", 1) => Some(Self::Fold(Fold::Min)),
            ("max", 1) => Some(Self::Fold(Fold::Max)),
            _ => None,
        }
    }

    /// It over so many points, or those of them where a condition holds, made of reductions that are added to these.
    pub fn over(
        self,
        value: Node,
        (region, points): (Option<&Node>, f64),
        all: &mut Vec<Reduction>,
    ) -> Node {
        let mut fold = |fold: Fold, value: Node| {
            let nothing = Node::Number(fold.nothing());
            let value = match region {
                Some(region) => Node::call(Function::If, vec![region.clone(), value, nothing]),
                None => value,
            };
            let reduction = Reduction { fold, value };
            let known = all.iter().position(|known| *known == reduction);
            Node::Total(known.unwrap_or_else(|| {
                all.push(reduction);
                all.len() - 1
            }))
        };
        match self {
            Self::Fold(of) => fold(of, value),
            Self::Mean => {
                let count = match region {
                    Some(_) => fold(Fold::Sum, Node::Number(1.0)),
                    None => Node::Number(points),
                };
                Node::call(Function::Divide, vec![fold(Fold::Sum, value), count])
            }
            Self::Norm => {
                let square = Node::call(Function::PowerOf(2), vec![value]);
                Node::call(Function::Sqrt, vec![fold(Fold::Sum, square)])
            }
        }
    }
}
