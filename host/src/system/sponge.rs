// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sponge: a coefficient below 1 near the sides, by which fields and their earlier levels are multiplied after
//! each step (Cerjan and others, 1985).

use super::description::SpongeText;
use super::expression::{Array, Function, Node, Scope};
use super::parts::{Field, index};
use super::text::Text;
use crate::Shape;
use crate::error::Mistake;

/// The sides of a grid with their axes, the low one first.
const SIDES: [(&str, usize, bool); 6] = [
    ("z-", 0, false),
    ("z+", 0, true),
    ("y-", 1, false),
    ("y+", 1, true),
    ("x-", 2, false),
    ("x+", 2, true),
];

/// What a sponge multiplies by, at each point of a grid.
///
/// # Errors
/// A side that there is not, or a strength below 0.
pub fn factor(text: &SpongeText, shape: Shape, spacing: [f64; 3]) -> Result<Node, Mistake> {
    let &SpongeText { width, strength, .. } = text;
    if !(strength.is_finite() && strength >= 0.0) {
        let what = format!("the strength of the sponge is {strength}; it must be 0 or more");
        return Err(Text::new("the sponge", &strength.to_string()).wrong(what));
    }
    let own = 3 - shape.dims();
    let sides: Vec<_> = SIDES.iter().filter(|(_, axis, _)| *axis >= own).collect();
    for side in &text.sides {
        if !sides.iter().any(|(name, ..)| *name == side.as_str()) {
            let wrong = side.wrong(format!("there is no side '{}'", side.as_str()));
            let known: Vec<&str> = sides.iter().map(|(name, ..)| *name).collect();
            return Err(wrong.hint(format!("it may be {}", known.join(", "))));
        }
    }
    let wanted =
        |name: &str| text.sides.is_empty() || text.sides.iter().any(|it| it.as_str() == name);
    let squares = sides.into_iter().filter(|(name, ..)| wanted(name)).map(|&(_, axis, high)| {
        // How many points lie between the point and the end of its row.
        let place = call(Function::Divide, [Node::Coordinate(axis), Node::Number(spacing[axis])]);
        let last = (shape.extents()[axis] - 1) as f64;
        let away = if high { call(Function::Subtract, [Node::Number(last), place]) } else { place };
        let depth = call(Function::Subtract, [Node::Number(width as f64), away]);
        let depth = call(Function::Max, [depth, Node::Number(0.0)]);
        Node::call(Function::PowerOf(2), vec![depth])
    });
    let sum = squares.fold(Node::Number(0.0), |sum, square| call(Function::Add, [sum, square]));
    let exponent = call(Function::Multiply, [Node::Number(-strength * strength), sum]);
    Ok(Node::call(Function::Exp, vec![exponent]))
}

/// Multiplies the next values of fields, and their earlier ones, by the coefficient of this number.
///
/// # Errors
/// A field that there is not.
pub fn damp(
    fields: &mut [Field],
    text: &SpongeText,
    sponge: usize,
    scope: &Scope,
) -> Result<(), Mistake> {
    let sponge = Node::Read(Array::Coefficient(sponge));
    let mut damped = vec![text.fields.is_empty(); fields.len()];
    for field in &text.fields {
        damped[index("field", field, &scope.fields)?] = true;
    }
    for (field, is_damped) in damped.iter().enumerate() {
        let next = std::mem::replace(&mut fields[field].next, Node::Number(0.0));
        let next = damp_earlier(next, &damped, &sponge);
        fields[field].next =
            if *is_damped { call(Function::Multiply, [sponge.clone(), next]) } else { next };
    }
    Ok(())
}

/// Earlier levels have been multiplied once more for each step that has passed.
fn damp_earlier(node: Node, damped: &[bool], sponge: &Node) -> Node {
    match node {
        Node::Read(Array::Field { field, level }) if damped[field] && level > 0 => {
            let factor =
                Node::call(Function::Power, vec![sponge.clone(), Node::Number(level as f64)]);
            call(Function::Multiply, [factor, node])
        }
        Node::Call(function, parts) => {
            let parts = parts.into_iter().map(|part| damp_earlier(part, damped, sponge));
            Node::Call(function, parts.collect())
        }
        Node::Stencil(stencil, part) => {
            Node::Stencil(stencil, Box::new(damp_earlier(*part, damped, sponge)))
        }
        other => other,
    }
}

fn call<const N: usize>(function: Function, arguments: [Node; N]) -> Node {
    Node::call(function, arguments.to_vec())
}
