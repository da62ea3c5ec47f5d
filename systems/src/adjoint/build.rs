// SPDX-License-Identifier: MIT OR Apache-2.0
//! The adjoint system, from the adjoint equations.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::algebra::{add, call, choose, number as number_of, sum, times};
use super::making::AdjointBuilder;
use super::reverse::{AdjointWorkField, Reverse, is_at};
use super::{Adjoint, GradientVariables, Misfit, refused};
use crate::checked::System;
use crate::expression::{Array, Function, Node};
use crate::parts::{Recorded, Source, Start};
use crate::start::StartValues;
use problem::{Error, Grid};

/// The adjoint of so many steps of a system, in which constants of the system that was asked for may be coefficients. Sources are those of
/// the latter: one that is made of such a constant is a part of an equation in the former.
///
/// # Errors
/// Something that has no adjoint here.
pub fn build(
    (system, asked): (&System, &System),
    by: &GradientVariables,
    (first, steps): (usize, usize),
    misfit: &Misfit,
) -> Result<Adjoint, Error> {
    check(system, (misfit, steps))?;
    let wanted = by.coefficients.iter().chain(&by.parameters);
    let coefficient = |name: &String| system.coefficients.iter().position(|it| it.name == *name);
    let wanted: Vec<(usize, &String)> =
        wanted.map(|name| (coefficient(name).expect("it was looked for"), name)).collect();
    let arrays: Vec<Array> = wanted.iter().map(|(it, _)| Array::Coefficient(*it)).collect();
    let beginning = beginning(system)?;
    let counts = system.sources.iter().map(|source| adds(source, system, &beginning));
    let mut reverse = Reverse::new(system, &arrays, counts.collect());
    // The adjoints of all levels, numbered as they come.
    let mut adjoints: Vec<Vec<Array>> = Vec::new();
    for (field, of) in system.fields.iter().enumerate() {
        let periodic = reverse.periodic_of(Array::New(field));
        let own = |level: usize, reverse: &mut Reverse| {
            let name = match level {
                0 => format!("adjoint_{}", of.name),
                _ => format!("adjoint_{}_{level}", of.name),
            };
            reverse.array(AdjointWorkField { name, value: None, periodic, sides: None })
        };
        adjoints.push((0..of.levels).map(|level| own(level, &mut reverse)).collect());
    }
    let completed = completed(&mut reverse, (first, misfit))?;
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
    let completes = completed.is_some();
    // What the step makes that completes alone, from what has been found by then.
    let usual_or = |usual: Vec<Node>, own: Array, array: Array| match &completed {
        None => sum(usual),
        Some(found) => {
            let before = number_of(first as f64 - 1.0);
            let is_before = call(Function::Equal, [Node::Step, before]);
            let parts = found.get(&array).into_iter().flatten().cloned();
            let alone = sum([Node::Read(own)].into_iter().chain(parts).collect());
            choose(is_before, alone, sum(usual))
        }
    };
    let mut nexts: Vec<(Array, Node)> = Vec::new();
    for (field, levels) in adjoints.iter().enumerate() {
        for (level, own) in levels.iter().enumerate() {
            let mut parts =
                reverse.found.remove(&Array::Field { field, level }).unwrap_or_default();
            parts.extend(levels.get(level + 1).map(|before| Node::Read(*before)));
            let after = match level {
                0 => Array::New(field),
                level => Array::Field { field, level: level - 1 },
            };
            nexts.push((*own, usual_or(parts, *own, after)));
        }
    }
    let mut gradients = Vec::new();
    for (array, (_, name)) in arrays.iter().zip(&wanted) {
        let name = format!("gradient_{name}");
        let own = reverse.array(AdjointWorkField {
            name,
            value: None,
            periodic: [false; 3],
            sides: None,
        });
        let parts = reverse.found.remove(array).unwrap_or_default();
        let parts = vec![Node::Read(own), sum(parts)];
        nexts.push((own, usual_or(parts, own, *array)));
        gradients.push(own);
    }
    for (number, own) in reverse.of_totals.clone() {
        nexts.push((own, sum(reverse.by_totals.remove(&number).unwrap_or_default())));
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
                let own = reverse.array(AdjointWorkField {
                    name,
                    value: None,
                    periodic: [false; 3],
                    sides: None,
                });
                nexts.push((own, after));
                own
            }
        };
        at_sources.insert(field, own);
    }
    let count = steps + usize::from(looks_at_end);
    let last = (first + count) as isize - 1;
    let counts = asked.sources.iter().map(|source| adds(source, system, &beginning)).collect();
    let files = Vec::new();
    let (own_names, tables, totals) = Default::default();
    let names = BTreeMap::new();
    let mut making = AdjointBuilder {
        reverse,
        asked,
        counts,
        first,
        last,
        beginning,
        completes,
        names,
        own_names,
        tables,
        totals,
        files,
    };
    making.name();
    making.write((nexts, gradients, adjoints, at_sources), &wanted, by, (first, count), misfit)
}

/// Whether what a source adds counts: not at points that keep their values, nor at solid ones, by the values of coefficients.
fn adds(source: &Source, system: &System, coefficients: &[Arc<Grid>]) -> bool {
    let [z, y, x] = source.at;
    let [_, ny, nx] = system.shape.extents();
    let index = (z * ny + y) * nx + x;
    let left_out = system.fields[source.field].kept.into_iter().chain(system.solid);
    left_out.into_iter().all(|it| coefficients[it].get(index) == 0.0)
}

/// Has the adjoints of the values after a step be completed by totals of these, if there are some that count; what is found for each array.
fn completed(
    reverse: &mut Reverse,
    (first, misfit): (usize, &Misfit),
) -> Result<Option<BTreeMap<Array, Vec<Node>>>, Error> {
    if misfit.totals.is_empty() && !reverse.reads_totals() {
        return Ok(None);
    }
    let system = reverse.system;
    let wanted = (0..system.totals.values.len()).filter(|_| !misfit.totals.is_empty());
    let wanted: Vec<(usize, Node)> = wanted
        .map(|total| {
            let after = add(over_steps(first), number_of(1.0));
            let number = system.tables.len() + system.traces.len() + total;
            (total, Node::Table(number, Box::new(after)))
        })
        .collect();
    reverse.complete(&wanted).map_err(|what| refused(format!("a total has no adjoint: {what}")))?;
    Ok(Some(reverse.found.clone()))
}

/// The values of coefficients, if the adjoint needs some: where points are kept, and those that are made of others.
fn beginning(system: &System) -> Result<Vec<Arc<Grid>>, Error> {
    let is_kept = system.fields.iter().any(|field| field.kept.is_some());
    let mut is_needed = is_kept || system.solid.is_some();
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

/// Checks that the lengths of steps are known.
fn check(system: &System, (misfit, steps): (&Misfit, usize)) -> Result<(), Error> {
    if system.varies_steps() && misfit.paces.len() != steps {
        let what = "the step length follows from the values, which are known in a run only: take the gradient of a run, or give dt a number";
        return Err(refused(what.into()));
    }
    Ok(())
}
