// SPDX-License-Identifier: MIT OR Apache-2.0
//! The adjoint system, from the adjoint equations.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::algebra::{add, call, choose, number as number_of, sum, times};
use super::making::Making;
use super::reverse::{Own, Reverse, is_at};
use super::{Adjoint, By, Misfit, refused};
use crate::checked::System;
use crate::expression::{Array, Function, Node};
use crate::parts::{Recorded, Start};
use crate::start::StartValues;
use problem::{Error, Grid};

/// The adjoint of so many steps of a system, in which constants of the system that was asked for may be coefficients. Sources are those of
/// the latter: one that is made of such a constant is a part of an equation in the former.
///
/// # Errors
/// Something that has no adjoint here.
pub fn build(
    (system, asked): (&System, &System),
    by: &By,
    (first, steps): (usize, usize),
    misfit: &Misfit,
) -> Result<Adjoint, Error> {
    check(system)?;
    let wanted = by.coefficients.iter().chain(&by.parameters);
    let coefficient = |name: &String| system.coefficients.iter().position(|it| it.name == *name);
    let wanted: Vec<(usize, &String)> =
        wanted.map(|name| (coefficient(name).expect("it was looked for"), name)).collect();
    let arrays: Vec<Array> = wanted.iter().map(|(it, _)| Array::Coefficient(*it)).collect();
    let mut reverse = Reverse::new(system, &arrays);
    // The adjoints of all levels, numbered as they come.
    let mut adjoints: Vec<Vec<Array>> = Vec::new();
    for (field, of) in system.fields.iter().enumerate() {
        let periodic = reverse.periodic_of(Array::New(field));
        let own = |level: usize, reverse: &mut Reverse| {
            let name = match level {
                0 => format!("adjoint_{}", of.name),
                _ => format!("adjoint_{}_{level}", of.name),
            };
            reverse.array(Own { name, value: None, periodic, sides: None })
        };
        adjoints.push((0..of.levels).map(|level| own(level, &mut reverse)).collect());
    }
    let looks_at_end = misfit.looks_at_end(system);
    for (number, trace) in system.traces.iter().enumerate().filter(|_| looks_at_end) {
        let Recorded::Expression(node, points) = &trace.of else { continue };
        let since = over_steps(first);
        let table = Node::Table(system.tables.len() + number, Box::new(since));
        let dims = system.shape.dims();
        let parts = points.iter().map(|(at, weight)| {
            let at = std::array::from_fn(|axis| (axis >= 3 - dims).then_some(at[axis]));
            choose(is_at(at), times(number_of(*weight), table.clone()), number_of(0.0))
        });
        let by = sum(parts.collect());
        reverse.recorded(node, by).map_err(|what| {
            refused(format!("what is recorded as '{}' has no adjoint: {what}", trace.name))
        })?;
    }
    let after: Vec<Array> = adjoints.iter().map(|levels| levels[0]).collect();
    reverse.equations(&after).map_err(|(array, what)| {
        refused(format!("the equation of '{}' has no adjoint: {what}", system.name_of(array)))
    })?;
    let mut nexts: Vec<(Array, Node)> = Vec::new();
    for (field, levels) in adjoints.iter().enumerate() {
        for (level, own) in levels.iter().enumerate() {
            let mut parts =
                reverse.found.remove(&Array::Field { field, level }).unwrap_or_default();
            parts.extend(levels.get(level + 1).map(|before| Node::Read(*before)));
            nexts.push((*own, sum(parts)));
        }
    }
    let mut gradients = Vec::new();
    for (array, (_, name)) in arrays.iter().zip(&wanted) {
        let name = format!("gradient_{name}");
        let own = reverse.array(Own { name, value: None, periodic: [false; 3], sides: None });
        let parts = reverse.found.remove(array).unwrap_or_default();
        nexts.push((own, add(Node::Read(own), sum(parts))));
        gradients.push(own);
    }
    // Where other equations read a field after the step, a source changes them, too.
    let mut at_sources = BTreeMap::new();
    for source in &asked.sources {
        let field = source.field;
        let Some(after) = reverse.after.get(&field).cloned() else { continue };
        let of_state = adjoints[field][0];
        let made =
            (after != Node::Read(of_state)).then(|| at_sources.get(&field).copied()).flatten();
        let own = match (made, after) {
            (Some(own), _) => own,
            (None, Node::Read(array)) if array == of_state => of_state,
            (None, after) => {
                let name = format!("source_{}", system.fields[field].name);
                let own =
                    reverse.array(Own { name, value: None, periodic: [false; 3], sides: None });
                nexts.push((own, after));
                own
            }
        };
        at_sources.insert(field, own);
    }
    let count = steps + usize::from(looks_at_end);
    let last = (first + count).saturating_sub(1);
    let beginning = beginning(system)?;
    let files = Vec::new();
    let (own_names, tables) = Default::default();
    let names = BTreeMap::new();
    let mut making = Making { reverse, asked, last, beginning, names, own_names, tables, files };
    making.name();
    making.write((nexts, gradients, adjoints, at_sources), &wanted, by, (first, count), misfit)
}

/// The values of coefficients, if the adjoint needs some: where points are kept, and those that are made of others.
fn beginning(system: &System) -> Result<Vec<Arc<Grid>>, Error> {
    let mut is_needed = system.fields.iter().any(|field| field.kept.is_some());
    for coefficient in &system.coefficients {
        if let Start::Expression(node) = &coefficient.start {
            node.visit(&mut |part| is_needed |= matches!(part, Node::Read(_) | Node::Stencil(..)));
        }
    }
    if is_needed { StartValues::coefficients(system) } else { Ok(Vec::new()) }
}

/// How many steps are done since the first one.
fn over_steps(first: usize) -> Node {
    match first {
        0 => Node::Step,
        first => call(Function::Subtract, [Node::Step, number_of(first as f64)]),
    }
}

/// Checks that nothing is in a system of which there is no adjoint.
fn check(system: &System) -> Result<(), Error> {
    if system.varies_steps() {
        let what = "steps as long as the values say have no adjoint yet: take a number for dt";
        return Err(refused(what.into()));
    }
    if system.solid.is_some() {
        return Err(refused("solid points have no adjoint yet".into()));
    }
    let mut wrong = None;
    let mut see = |node: &Node| {
        if matches!(node, Node::Total(_)) {
            wrong = Some("a total in an equation has no adjoint yet");
        }
    };
    system.visit(&mut see);
    system.sources.iter().for_each(|source| source.add.visit(&mut see));
    system.side_values.iter().for_each(|value| value.visit(&mut see));
    system.recorded_works().into_iter().for_each(|it| system.works[it].value.visit(&mut see));
    for trace in &system.traces {
        if let Recorded::Expression(node, _) = &trace.of {
            node.visit(&mut see);
        }
    }
    match wrong {
        Some(what) => Err(refused(what.into())),
        None => Ok(()),
    }
}
