// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sponge: a coefficient below 1 near the sides, by which fields and their earlier levels are multiplied after
//! each step (Cerjan and others, 1985).

use super::description::SpongeText;
use super::expression::{Array, Function, Node, Scope};
use super::layer;
use super::parts::{Field, StepWork, index};
use super::text::Text;
use problem::Shape;
use problem::error::Mistake;

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
    let squares = layer::ends(&text.sides, shape)?.into_iter().map(|end| {
        let axis = end.axis;
        let place = call(Function::Divide, [Node::Coordinate(axis), Node::Number(spacing[axis])]);
        Node::call(Function::PowerOf(2), vec![end.depth(width, place, shape)])
    });
    let sum = squares.fold(Node::Number(0.0), |sum, square| call(Function::Add, [sum, square]));
    let exponent = call(Function::Multiply, [Node::Number(-strength * strength), sum]);
    Ok(Node::call(Function::Exp, vec![exponent]))
}

/// Multiplies the next values of fields, and earlier ones wherever they are read, by the coefficient of this number.
///
/// # Errors
/// A field that there is not.
pub fn damp(
    (fields, works): (&mut [Field], &mut [StepWork]),
    text: &SpongeText,
    sponge: usize,
    scope: &Scope,
) -> Result<(), Mistake> {
    let sponge = Node::Read(Array::Coefficient(sponge));
    // Those that equations name: what a layer remembers is not among them.
    let named = scope.fields.len();
    let mut damped: Vec<bool> =
        (0..fields.len()).map(|field| text.fields.is_empty() && field < named).collect();
    for field in &text.fields {
        damped[index("field", field, &scope.fields)?] = true;
    }
    for work in works {
        work.value = damp_earlier(&work.value, &damped, &sponge);
    }
    for (field, is_damped) in damped.iter().enumerate() {
        let next = damp_earlier(&fields[field].next, &damped, &sponge);
        fields[field].next =
            if *is_damped { call(Function::Multiply, [sponge.clone(), next]) } else { next };
    }
    Ok(())
}

/// Earlier levels have been multiplied once more for each step that has passed, those of the start for each step
/// that is done.
fn damp_earlier(node: &Node, damped: &[bool], sponge: &Node) -> Node {
    node.replaced(&|part| match part {
        Node::Read(Array::Field { field, level }) if damped[*field] && *level > 0 => {
            let times = |earlier, steps| call(Function::Multiply, [after(steps, sponge), earlier]);
            Some((1..=*level).fold(part.clone(), times))
        }
        _ => None,
    })
}

/// What a sponge multiplies by once so many steps are done, and 1 before.
fn after(steps: usize, sponge: &Node) -> Node {
    let done = call(Function::Less, [Node::Number(steps as f64 - 0.5), Node::Step]);
    call(Function::If, [done, sponge.clone(), Node::Number(1.0)])
}

fn call<const N: usize>(function: Function, arguments: [Node; N]) -> Node {
    Node::call(function, arguments.to_vec())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::{Description, FieldText, System, SystemSimulation};
    use problem::Dtype;

    const POINTS: usize = 50;

    /// A wave at each point by itself, with a sponge of 20 points at both ends.
    fn simulation(next: &str) -> SystemSimulation {
        let wave = Description::new(&[POINTS]).dtype(Dtype::F64);
        let wave = wave.field(FieldText::new("u", "1 + x + t", next)).sponge(20, 0.025);
        SystemSimulation::new(&System::new(&wave, Path::new("")).unwrap()).unwrap()
    }

    fn factor(point: usize) -> f64 {
        let depth = |away: usize| 20usize.saturating_sub(away) as f64 * 0.025;
        (-depth(point).powi(2) - depth(POINTS - 1 - point).powi(2)).exp()
    }

    /// The point at the end, which starts from rest, is damped by its whole depth.
    #[test]
    fn the_first_step_damps_once() {
        let wave = Description::new(&[POINTS]).dtype(Dtype::F64);
        let rest = FieldText::new("u", "1", "2*u - prev(u)");
        let system = System::new(&wave.field(rest).sponge(20, 0.025), Path::new("")).unwrap();
        let mut simulation = SystemSimulation::new(&system).unwrap();
        simulation.checked_step().unwrap();
        let end = simulation.field("u").unwrap().get(0);
        assert!((end - (-0.25f64).exp()).abs() < 1e-15, "{end}");
    }

    /// After each step all levels are multiplied, however many there are.
    #[test]
    fn levels_are_damped_once_for_each_step_that_is_done() {
        for (next, weights) in [
            ("u", [1.0, 0.0, 0.0]),
            ("2*u - prev(u)", [2.0, -1.0, 0.0]),
            ("0.5*u + 0.75*prev2(u)", [0.5, 0.0, 0.75]),
            ("2.5*u - 2*prev(u) + 0.5*prev2(u)", [2.5, -2.0, 0.5]),
        ] {
            let mut simulation = simulation(next);
            let start = |point: usize, level: usize| 1.0 + point as f64 - level as f64;
            let mut levels: Vec<[f64; 3]> =
                (0..POINTS).map(|point| [0, 1, 2].map(|level| start(point, level))).collect();
            for step in 1..6 {
                simulation.checked_step().unwrap();
                let grid = simulation.field("u").unwrap();
                for (point, values) in levels.iter_mut().enumerate() {
                    let sum = weights.iter().zip(*values).map(|(weight, value)| weight * value);
                    *values =
                        [sum.sum(), values[0], values[1]].map(|value: f64| value * factor(point));
                    let found = grid.get(point);
                    assert!(
                        (found - values[0]).abs() < 1e-12 * (1.0 + values[0].abs()),
                        "{next}, step {step}, point {point}: {found} for {}",
                        values[0]
                    );
                }
            }
        }
    }
}
