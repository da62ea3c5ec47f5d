// SPDX-License-Identifier: MIT OR Apache-2.0
//! What derivatives leave behind in a layer, and how it fades.

use super::derivative::AXES;
use super::profile::Profile;
use crate::expression::{Array, Function, Node};
use crate::parts::{Coefficient, Start};
use crate::vanishing::Vanishing;
use problem::Boundary;

/// A field that a derivative is stretched by.
pub struct MemoryVariable {
    /// What it is the memory of.
    pub of: Node,
    /// Along which axis.
    pub axis: usize,
    /// So many points after the point.
    pub place: f64,
    /// What lies around it.
    pub boundary: Boundary,
}

/// An axis, and a place so many points after each point.
type Place = (usize, f64);

/// What each memory loses in a step, or in the time of 1 if a method integrates it; the first one has the number `first` among the fields.
/// For each axis and place between points coefficients are added.
pub fn losses(
    memories: &[MemoryVariable],
    first: usize,
    profile: &Profile,
    (coefficients, vanishing): (&mut Vec<Coefficient>, &mut Vec<Vanishing>),
) -> Vec<Node> {
    let mut known: Vec<(Place, [Option<Node>; 2])> = Vec::new();
    let of_memory = |(number, memory): (usize, &MemoryVariable)| {
        let place = (memory.axis, memory.place);
        let found = known.iter().find(|it| it.0 == place).map(|it| it.1.clone());
        let [loss, share] = found.unwrap_or_else(|| {
            let added = add(place, profile, coefficients);
            // Where there is no share, losses alone take up what memories are of.
            let [loss, share] = &added;
            if let Some(Node::Read(array)) = share.as_ref().or(loss.as_ref()) {
                vanishing.push(profile.vanishing(*array, place));
            }
            known.push((place, added.clone()));
            added
        });
        let call = |function, a: Node, b: Node| Node::call(function, vec![a, b]);
        let before = Node::Read(Array::Field { field: first + number, level: 0 });
        let of = memory.of.clone();
        let taken = match share {
            Some(share) => call(Function::Multiply, share, of),
            None => of,
        };
        let sum = call(Function::Add, before, taken);
        call(Function::Multiply, loss.expect("each place has one"), sum)
    };
    memories.iter().enumerate().map(of_memory).collect()
}

/// The coefficients of an axis and a place: how memories fade, and which part of derivatives they take up.
fn add(
    (axis, place): Place,
    profile: &Profile,
    coefficients: &mut Vec<Coefficient>,
) -> [Option<Node>; 2] {
    let all = [("loss", Some(profile.loss(axis, place))), ("share", profile.share(axis, place))];
    all.map(|(what, value)| {
        let name = format!("pml {what} at {}{place:+}", AXES[axis]);
        let (boundary, start) = (Boundary::default(), Start::Expression(value?));
        coefficients.push(Coefficient { name, boundary, start });
        Some(Node::Read(Array::Coefficient(coefficients.len() - 1)))
    })
}
