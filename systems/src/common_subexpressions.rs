// SPDX-License-Identifier: MIT OR Apache-2.0
//! Expressions at a point, of which each part is computed once, however often it stands in them: terms are written out
//! wherever they are named, so that an equation of nineteen fields has thousands of parts, few of which differ.

use std::collections::HashMap;

use super::evaluate::{Evaluator, NumberKind, Values};
use super::expression::{Function, Node};

/// The different parts of some expressions.
pub struct CommonSubexpressions<'a> {
    /// Each after those that it is made of.
    parts: Vec<Part<'a>>,
    /// The expressions, by their parts.
    wholes: Vec<usize>,
}

/// A part of an expression.
enum Part<'a> {
    /// A function of other parts.
    Call(Function, Vec<usize>),
    /// Anything else.
    Leaf(&'a Node),
}

/// What tells a part from others.
type Key = (String, Vec<usize>);

impl<'a> CommonSubexpressions<'a> {
    /// The parts of these expressions.
    pub fn new(expressions: impl IntoIterator<Item = &'a Node>) -> Self {
        let (mut parts, mut known) = (Vec::new(), HashMap::new());
        let wholes = expressions.into_iter();
        let wholes = wholes.map(|whole| find(whole, &mut parts, &mut known)).collect();
        Self { parts, wholes }
    }

    /// The values of the expressions at a point (z, y, x).
    pub fn at<N: NumberKind, V: Values + ?Sized>(
        &self,
        evaluator: &Evaluator<N, V>,
        point: [isize; 3],
    ) -> Vec<N::Number> {
        let mut values: Vec<N::Number> = Vec::with_capacity(self.parts.len());
        let mut arguments = Vec::new();
        for part in &self.parts {
            values.push(match part {
                Part::Leaf(node) => evaluator.at(node, point),
                Part::Call(function, of) => {
                    arguments.clear();
                    arguments.extend(of.iter().map(|part| values[*part]));
                    evaluator.numbers.call(*function, &arguments)
                }
            });
        }
        self.wholes.iter().map(|whole| values[*whole]).collect()
    }
}

/// The number of a part, which is added if it is new.
fn find<'a>(node: &'a Node, parts: &mut Vec<Part<'a>>, known: &mut HashMap<Key, usize>) -> usize {
    let (key, part) = match node {
        Node::Call(function, of) => {
            let of: Vec<usize> = of.iter().map(|part| find(part, parts, known)).collect();
            ((format!("{function:?}"), of.clone()), Part::Call(*function, of))
        }
        // Numbers are told apart by what is written of them: all digits, and the sign of 0.
        leaf => ((format!("{leaf:?}"), Vec::new()), Part::Leaf(leaf)),
    };
    *known.entry(key).or_insert_with(|| {
        parts.push(part);
        parts.len() - 1
    })
}
