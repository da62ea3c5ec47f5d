// SPDX-License-Identifier: MIT OR Apache-2.0
//! Derivatives of functions.

use super::algebra::{add, call, choose, negate, number, over, power, sum, times};
use crate::expression::{Function, Node};

/// As [`pulled`], of an adjoint that counts only where a condition holds, and is 0 elsewhere: elsewhere the results are 0, too, also where
/// the derivative is no number.
pub fn pulled_where(
    guard: Option<Node>,
    function: Function,
    arguments: &[Node],
    adjoint: &Node,
) -> Vec<Node> {
    let parts = pulled(function, arguments, adjoint).into_iter();
    match guard {
        None => parts.collect(),
        Some(guard) => parts.map(|part| choose(guard.clone(), part, number(0.0))).collect(),
    }
}

/// What a change of each argument of a function makes of `adjoint`, what counts how much of its value: `adjoint` times the
/// derivative by that argument. Of what has none (steps, conditions) it is 0; of two branches it is that of the one that is taken.
fn pulled(function: Function, arguments: &[Node], adjoint: &Node) -> Vec<Node> {
    let a = || arguments[0].clone();
    let b = || arguments[1].clone();
    let own = || adjoint.clone();
    let own_times = |factor: Node| times(factor, own());
    let nothing = || number(0.0);
    let value = || Node::call(function, arguments.to_vec());
    let square = |node: Node| power(node, 2.0);
    match function {
        Function::Negate => vec![negate(own())],
        Function::Add => vec![own(), own()],
        Function::Subtract => vec![own(), negate(own())],
        Function::Multiply => vec![own_times(b()), own_times(a())],
        Function::Divide => {
            let first = over(own(), b());
            let second = negate(over(times(a(), own()), square(b())));
            vec![first, second]
        }
        Function::Power => {
            let less = call(Function::Subtract, [b(), number(1.0)]);
            let base = times(b(), call(Function::Power, [a(), less]));
            let exponent = times(call(Function::Ln, [a()]), value());
            // Of 0 to a power above 0, which is 0 whatever the power is.
            let is_nothing = call(Function::Equal, [a(), number(0.0)]);
            let exponent = choose(is_nothing, nothing(), own_times(exponent));
            vec![own_times(base), exponent]
        }
        Function::PowerOf(n) => {
            let n = f64::from(n);
            vec![own_times(times(number(n), power(a(), n - 1.0)))]
        }
        Function::Abs => {
            let below = call(Function::Less, [a(), number(0.0)]);
            let above = call(Function::Less, [number(0.0), a()]);
            vec![choose(below, negate(own()), choose(above, own(), nothing()))]
        }
        Function::Sqrt => vec![over(times(number(0.5), own()), value())],
        Function::Exp => vec![own_times(value())],
        Function::Ln => vec![over(own(), a())],
        Function::Sin => vec![own_times(call(Function::Cos, [a()]))],
        Function::Cos => vec![negate(own_times(call(Function::Sin, [a()])))],
        Function::Tanh => {
            vec![own_times(call(Function::Subtract, [number(1.0), square(value())]))]
        }
        Function::Atan2 => {
            let squares = add(square(a()), square(b()));
            let first = over(times(b(), own()), squares.clone());
            let second = negate(over(times(a(), own()), squares));
            vec![first, second]
        }
        Function::Min | Function::Max => {
            let pair = if function == Function::Min { [a(), b()] } else { [b(), a()] };
            let is_first = call(Function::LessEqual, pair);
            vec![choose(is_first.clone(), own(), nothing()), choose(is_first, nothing(), own())]
        }
        Function::If => {
            vec![nothing(), choose(a(), own(), nothing()), choose(a(), nothing(), own())]
        }
        Function::Floor
        | Function::Less
        | Function::LessEqual
        | Function::Equal
        | Function::And
        | Function::Or
        | Function::Not => vec![sum(Vec::new()); arguments.len()],
    }
}

/// What has no derivative and is taken for constant, as it is written, if a function is of that kind.
pub fn constant(function: Function) -> Option<&'static str> {
    match function {
        Function::Floor => Some("floor"),
        Function::Equal => Some("=="),
        _ => None,
    }
}

/// Whether a number has the same bits whoever computes it from values that are stored: none of its operations rounds, in f64.
pub fn is_exact(node: &Node, is_f64: bool) -> bool {
    match node {
        Node::Number(value) => is_f64 || f64::from(*value as f32) == *value,
        Node::Read(_) | Node::Index(_) => true,
        Node::Coordinate(_) => is_f64,
        Node::Call(function, parts) => {
            use Function::{Abs, And, Equal, If, Less, LessEqual, Max, Min, Negate, Not, Or};
            let known = [Abs, And, Equal, If, Less, LessEqual, Max, Min, Negate, Not, Or];
            known.contains(function) && parts.iter().all(|part| is_exact(part, is_f64))
        }
        _ => false,
    }
}
