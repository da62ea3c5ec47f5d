// SPDX-License-Identifier: MIT OR Apache-2.0
//! Totals that a step reads, seen from the values that they are made of.
//!
//! A step first finds its totals and then computes its equations. So the adjoint step goes back over the equations, which makes of each
//! point what a total there changes, and then over the totals, which need the sum of that: the *adjoint of a total* T. The adjoint of
//! the values that T is made of gets it times the derivative of T by them. A system finds totals of the values before a step only. So
//! what the points say of T is a field, and the next adjoint step *completes* what this one has made, with the sum of that field, before it
//! goes back over the equations; after the last one a step completes, and does nothing else.

use std::collections::{BTreeMap, BTreeSet};

use super::{AdjointWorkField, Contribution, Reverse, is_at};
use crate::adjoint::algebra::{add, call, choose, is, number, over, stencil, sum, times};
use crate::adjoint::derivative::{is_exact, pulled_where};
use crate::expression::{Array, Fold, Function, Node, Reduction};
use crate::sides::later;
use problem::boundary::Side;
use problem::{Boundary, Dtype};

impl Reverse<'_> {
    /// Which reductions depend on what is differentiated by: each may be made of those before it.
    pub(super) fn activate_totals(&mut self) {
        for reduction in &self.system.totals.reductions {
            let depends = self.depends(&reduction.value);
            self.active_totals.push(depends);
        }
    }

    /// Whether a step computes with totals that depend on what is differentiated by.
    pub fn reads_totals(&self) -> bool {
        !self.read_totals().is_empty()
    }

    /// The reductions that equations and sources read, and that depend on what is differentiated by.
    fn read_totals(&self) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut see = |node: &Node| {
            if let Node::Total(number) = node {
                found.extend(self.active_totals[*number].then_some(*number));
            }
        };
        self.order().into_iter().for_each(|computed| self.value(computed).visit(&mut see));
        self.system.sources.iter().for_each(|source| source.add.visit(&mut see));
        found
    }

    /// Completes the adjoints of the values after the step, of which totals are made: those that the step after it computes with, and those by
    /// which what is sought changes, each with by how much.
    ///
    /// # Errors
    /// A total has no adjoint here.
    pub fn complete(&mut self, wanted: &[(usize, Node)]) -> Result<(), String> {
        let first = self.totals.len();
        // The totals of the values after the step.
        let after = |node: &Node| {
            let node = later(node, 1.0, &self.system.step_length());
            node.replaced(&|part| match part {
                Node::Total(number) => Some(Node::Total(first + number)),
                Node::Read(Array::Field { field, level: 0 }) => {
                    Some(Node::Read(Array::New(*field)))
                }
                Node::Read(Array::Field { field, level }) => {
                    Some(Node::Read(Array::Field { field: *field, level: level - 1 }))
                }
                _ => None,
            })
        };
        let all = &self.system.totals;
        let later_ones: Vec<Reduction> = all
            .reductions
            .iter()
            .map(|it| Reduction { fold: it.fold, value: after(&it.value) })
            .collect();
        let wanted: Vec<(Node, Node)> =
            wanted.iter().map(|(total, by)| (after(&all.values[*total]), by.clone())).collect();
        self.totals.extend(later_ones.iter().cloned());
        let mut adjoints: BTreeMap<usize, Vec<Node>> = BTreeMap::new();
        for number in self.read_totals() {
            let name = format!("by_total_{number}");
            let own = self.array(AdjointWorkField {
                name,
                value: None,
                periodic: [false; 3],
                sides: None,
            });
            self.of_totals.insert(number, own);
            let sum = self.own_total(Fold::Sum, Node::Read(own));
            adjoints.entry(number).or_default().push(sum);
        }
        for reduction in (0..later_ones.len()).rev() {
            if !self.active_totals[reduction] {
                continue;
            }
            let mut parts = adjoints.remove(&reduction).unwrap_or_default();
            for (total, by) in &wanted {
                parts.push(times(by.clone(), changes_with(total, first + reduction)?));
            }
            let adjoint = sum(parts);
            if is(&adjoint, 0.0) {
                continue;
            }
            let Reduction { fold, value } = &later_ones[reduction];
            let (value, counts) = counting(*fold, value);
            // Of the smallest value, or the largest one, the points count that have it.
            let (is_one, share) = match fold {
                Fold::Sum => (None, number(1.0)),
                Fold::Min | Fold::Max => {
                    let exact = |node| is_exact(node, self.system.dtype == Dtype::F64);
                    if !exact(value) || !counts.is_none_or(exact) {
                        return Err("it is the smallest or largest value of what is computed, which rounding may make another one than any point has: make that a field of its own".into());
                    }
                    let mut is_one =
                        call(Function::Equal, [value.clone(), Node::Total(first + reduction)]);
                    if let Some(counts) = counts {
                        is_one = call(Function::And, [counts.clone(), is_one]);
                    }
                    let count =
                        self.own_total(Fold::Sum, choose(is_one.clone(), number(1.0), number(0.0)));
                    (Some(is_one), count)
                }
            };
            let here = |node: Node| match &is_one {
                Some(is_one) => choose(is_one.clone(), over(node, share.clone()), number(0.0)),
                None => node,
            };
            for before in 0..reduction {
                let change = changes_with(value, first + before)?;
                if self.active_totals[before] && !is(&change, 0.0) {
                    let sum = self.own_total(Fold::Sum, here(change));
                    adjoints.entry(before).or_default().push(times(adjoint.clone(), sum));
                }
            }
            let handed = Contribution { value: here(adjoint), path: None };
            self.usual = [false; 3];
            self.hand(value, handed)?;
        }
        Ok(())
    }

    /// Hands on to totals what a source that is made of them adds to a field, whose adjoint after the step this is.
    pub(super) fn sources_of(&mut self, field: usize, adjoint: &Node) -> Result<(), String> {
        for source in 0..self.system.sources.len() {
            let counts = self.counts[source];
            let source = &self.system.sources[source];
            if source.field == field && counts && self.depends(&source.add) {
                let dims = self.system.shape.dims();
                let at = std::array::from_fn(|axis| (axis >= 3 - dims).then_some(source.at[axis]));
                let value = choose(is_at(at), adjoint.clone(), number(0.0));
                self.hand(&source.add, Contribution { value, path: None })?;
            }
        }
        Ok(())
    }

    /// Notes a part of what a point says of a total: it is the same everywhere, also beyond sides.
    pub(super) fn total(&mut self, number: usize, handed: &Contribution) -> Result<(), String> {
        let everywhere = Boundary { sides: [[Side::Edge; 2]; 3] };
        let parts = self.folded(&everywhere, handed)?;
        self.by_totals.entry(number).or_default().extend(parts);
        Ok(())
    }

    /// The number of a total of the adjoint.
    fn own_total(&mut self, fold: Fold, value: Node) -> Node {
        let own = Reduction { fold, value };
        let known = self.totals.iter().position(|known| *known == own);
        Node::Total(known.unwrap_or_else(|| {
            self.totals.push(own);
            self.totals.len() - 1
        }))
    }
}

/// What is reduced, and where, if not everywhere.
fn counting(fold: Fold, value: &Node) -> (&Node, Option<&Node>) {
    match value {
        Node::Call(Function::If, parts) if fold != Fold::Sum && is(&parts[2], fold.nothing()) => {
            (&parts[1], Some(&parts[0]))
        }
        value => (value, None),
    }
}

/// By how much an expression changes with a total, at each point.
///
/// # Errors
/// As [`of_a_table`].
fn changes_with(node: &Node, total: usize) -> Result<Node, String> {
    let mut is_made_of_it = false;
    node.visit(&mut |part| is_made_of_it |= matches!(part, Node::Total(own) if *own == total));
    if !is_made_of_it {
        return Ok(number(0.0));
    }
    Ok(match node {
        Node::Total(_) => number(1.0),
        Node::Stencil(by, of) => stencil(*by, changes_with(of, total)?),
        Node::Call(Function::If, parts) => {
            let [yes, no] = [&parts[1], &parts[2]].map(|branch| changes_with(branch, total));
            choose(parts[0].clone(), yes?, no?)
        }
        Node::Call(function, parts) => {
            let mut changes = number(0.0);
            for (by, part) in
                pulled_where(None, *function, parts, &number(1.0)).into_iter().zip(parts)
            {
                changes = add(changes, times(by, changes_with(part, total)?));
            }
            changes
        }
        _ => return Err(of_a_table()),
    })
}

/// Why what is made of a total has no adjoint.
pub(super) fn of_a_table() -> String {
    "a table takes a total there: write what it says as an expression".into()
}
