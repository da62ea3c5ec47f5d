// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sources of a system: what is one number for a step is added at points; what depends on values of a point is a part of its
//! field's equation, which all points have, and counts at that point.

use super::expression::{Function, Node};
use super::parts::{Field, Source};

/// Adds what a source gives at a point (z, y, x) with a weight.
pub fn add(
    (fields, sources): (&mut [Field], &mut Vec<Source>),
    field: usize,
    (at, weight): ([usize; 3], f64),
    add: &Node,
) {
    let add = match weight {
        1.0 => add.clone(),
        _ => Node::call(Function::Multiply, vec![Node::Number(weight), add.clone()]),
    };
    if add.is_uniform() {
        return sources.push(Source { field, at, add });
    }
    let next = std::mem::replace(&mut fields[field].next, Node::Number(0.0));
    let here = Node::call(Function::If, vec![is_at(at), add, Node::Number(0.0)]);
    fields[field].next = Node::call(Function::Add, vec![next, here]);
}

/// Whether a point is this one.
fn is_at(at: [usize; 3]) -> Node {
    let along = |axis: usize| {
        let place = Node::Number(at[axis] as f64);
        Node::call(Function::Equal, vec![Node::Index(axis), place])
    };
    let all = (0..3).map(along).reduce(|a, b| Node::call(Function::And, vec![a, b]));
    all.expect("three axes")
}
