// SPDX-License-Identifier: MIT OR Apache-2.0
//! Expressions of expressions, in which zeros and ones that derivatives leave are taken away.

use crate::expression::{Function, Node};

/// A number.
pub fn number(value: f64) -> Node {
    Node::Number(value)
}

/// Whether it is this number.
pub fn is(node: &Node, value: f64) -> bool {
    matches!(node, Node::Number(number) if *number == value)
}

/// `a + b`
pub fn add(a: Node, b: Node) -> Node {
    match (&a, &b) {
        _ if is(&a, 0.0) => b,
        _ if is(&b, 0.0) => a,
        (_, Node::Call(Function::Negate, inner)) => call(Function::Subtract, [a, inner[0].clone()]),
        _ => call(Function::Add, [a, b]),
    }
}

/// `-a`
pub fn negate(a: Node) -> Node {
    match a {
        Node::Call(Function::Negate, mut inner) => inner.remove(0),
        a => call(Function::Negate, [a]),
    }
}

/// `a * b`, with numbers in front.
pub fn times(a: Node, b: Node) -> Node {
    match (a, b) {
        (a, b) if is(&a, 0.0) || is(&b, 0.0) => number(0.0),
        (a, b) if is(&a, 1.0) => b,
        (a, b) if is(&b, 1.0) => a,
        (a, b) if is(&a, -1.0) => negate(b),
        (a, b) if is(&b, -1.0) => negate(a),
        (Node::Call(Function::Negate, mut inner), b) => negate(times(inner.remove(0), b)),
        (a, Node::Call(Function::Negate, mut inner)) => negate(times(a, inner.remove(0))),
        (a, b @ Node::Number(_)) if !a.is_number() => times(b, a),
        (Node::Number(a), Node::Call(Function::Multiply, inner)) if inner[0].is_number() => {
            let own = call(Function::Multiply, [number(a), inner[0].clone()]);
            times(own, inner[1].clone())
        }
        (a, b) => call(Function::Multiply, [a, b]),
    }
}

/// `a / b`
pub fn over(a: Node, b: Node) -> Node {
    match is(&a, 0.0) || is(&b, 1.0) {
        true => a,
        false => call(Function::Divide, [a, b]),
    }
}

/// `a` to a power that is a number.
pub fn power(a: Node, exponent: f64) -> Node {
    call(Function::Power, [a, number(exponent)])
}

/// The second where the first holds, else the third.
pub fn choose(condition: Node, yes: Node, no: Node) -> Node {
    if yes == no { yes } else { call(Function::If, [condition, yes, no]) }
}

/// A function of others.
pub fn call<const N: usize>(function: Function, arguments: [Node; N]) -> Node {
    Node::call(function, arguments.to_vec())
}

/// A stencil of an expression, by its number.
pub fn stencil(number: usize, of: Node) -> Node {
    if is(&of, 0.0) { of } else { Node::Stencil(number, Box::new(of)) }
}

/// The sum of these, nested as little as may be.
pub fn sum(mut parts: Vec<Node>) -> Node {
    parts.retain(|part| !is(part, 0.0));
    while parts.len() > 1 {
        let mut pairs = parts.into_iter();
        let mut sums = Vec::new();
        while let Some(first) = pairs.next() {
            sums.push(match pairs.next() {
                Some(second) => add(first, second),
                None => first,
            });
        }
        parts = sums;
    }
    parts.pop().unwrap_or(Node::Number(0.0))
}

/// It as a product of what has one value for all points of a step, and the rest.
pub fn split(node: &Node) -> (Node, Node) {
    match node {
        uniform if uniform.is_uniform() => (uniform.clone(), number(1.0)),
        Node::Call(Function::Negate, inner) => {
            let (uniform, rest) = split(&inner[0]);
            (negate(uniform), rest)
        }
        Node::Call(Function::Multiply, inner) => {
            let [(a, left), (b, right)] = [split(&inner[0]), split(&inner[1])];
            (times(a, b), times(left, right))
        }
        Node::Call(Function::Divide, inner) if inner[1].is_uniform() => {
            let (uniform, rest) = split(&inner[0]);
            (over(uniform, inner[1].clone()), rest)
        }
        other => (number(1.0), other.clone()),
    }
}
