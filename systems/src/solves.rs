// SPDX-License-Identifier: MIT OR Apache-2.0
//! Work fields that are solved for: `solve(S, f)` is the field w with S(w) = f. What f is at each point is a field, or a work field by
//! itself, so that a solve is a stage of a step, which reads all of f and writes all of w.

use super::expression::{Array, Node};
use super::parts::StepWork;
use problem::Boundary;

/// Gives each work field that is solved for another one, of what it is solved for, unless that is a field as it is.
pub fn split(works: &mut Vec<StepWork>) {
    for number in 0..works.len() {
        let place = works.len();
        let work = &mut works[number];
        let Node::Solve(stencil, right) = &work.value else { continue };
        if matches!(**right, Node::Read(Array::Field { .. })) {
            continue;
        }
        let (stencil, right) = (*stencil, (**right).clone());
        work.value = Node::Solve(stencil, Box::new(Node::Read(Array::Work(place))));
        works.push(StepWork {
            name: format!("what '{}' is solved for", works[number].name),
            boundary: Boundary::default(),
            value: right,
            of: None,
            later: works[number].later,
            walls: None,
        });
    }
}
