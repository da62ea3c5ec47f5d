// SPDX-License-Identifier: MIT OR Apache-2.0
//! Expressions of expressions, in which zeros and ones that derivatives leave are taken away.

use crate::expression::{Array, Function, Node};

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

/// A condition without which it is 0, and what it is where that holds; nothing if there is none. `named` says what stands behind the
/// name of an array that is read at its own point.
pub fn guarded<'a>(node: &Node, named: &dyn Fn(Array) -> Option<&'a Node>) -> Option<(Node, Node)> {
    let both = |of: &dyn Fn(Node) -> Node, inner: &Node| {
        guarded(inner, named).map(|(guard, inner)| (guard, of(inner)))
    };
    match node {
        Node::Call(Function::If, parts) => {
            let (guard, inner) = match (is(&parts[1], 0.0), is(&parts[2], 0.0)) {
                (_, true) => (parts[0].clone(), &parts[1]),
                (true, _) => (call(Function::Not, [parts[0].clone()]), &parts[2]),
                _ => return None,
            };
            Some(match guarded(inner, named) {
                Some((further, inner)) if further == guard => (guard, inner),
                Some((further, inner)) => (call(Function::And, [guard, further]), inner),
                None => (guard, inner.clone()),
            })
        }
        Node::Call(Function::Negate, parts) => both(&negate, &parts[0]),
        Node::Call(Function::Multiply, parts) => {
            both(&|inner| times(inner, parts[1].clone()), &parts[0])
                .or_else(|| both(&|inner| times(parts[0].clone(), inner), &parts[1]))
        }
        Node::Call(Function::Divide, parts) => {
            both(&|inner| over(inner, parts[1].clone()), &parts[0])
        }
        Node::Call(sign @ (Function::Add | Function::Subtract), parts) => {
            let [first, second] = [guarded(&parts[0], named)?, guarded(&parts[1], named)?];
            Some(match first.0 == second.0 {
                true => (first.0, call(*sign, [first.1, second.1])),
                false => (call(Function::Or, [first.0, second.0]), node.clone()),
            })
        }
        Node::Read(array) => {
            let (guard, _) = guarded(named(*array)?, named)?;
            Some((guard, node.clone()))
        }
        _ => None,
    }
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
