// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fields that never meet in an equation: such a system falls apart into parts, each a system of its own. A part that is a
//! stencil is computed by what computes stencils.

use std::collections::BTreeSet;

use crate::checked::System;
use crate::expression::{Array, Node};
use crate::parts::{Coefficient, Field, Receiver, Source, Start};
use crate::program::{Equation, Program};
use crate::start::StartValues;
use crate::text::Text;
use crate::totals::Totals;

mod session;
mod sum_steps;

pub use session::SplitSession;
pub use sum_steps::SumSteps;

/// A part of a system.
#[derive(Clone)]
pub struct SystemPart {
    /// It by itself, with fields and coefficients numbered anew.
    pub system: System,
    /// The numbers of its fields in the whole system.
    pub fields: Vec<usize>,
    /// The numbers of its coefficients in the whole system.
    pub coefficients: Vec<usize>,
}

/// The parts of a system, in the order of their first fields: one, if all fields depend on each other.
#[must_use]
pub fn parts(system: &System) -> Vec<SystemPart> {
    // Who reads what a step computes waits for it, and who reads totals for all fields; steps are as long for all. Beside solid
    // points no part is a stencil.
    let together = system.waits_for_totals() || system.varies_steps() || system.solid.is_some();
    if system.computes_in_turn() || together {
        let (fields, coefficients) = (0..system.fields.len(), 0..system.coefficients.len());
        let (fields, coefficients) = (fields.collect(), coefficients.collect());
        return vec![SystemPart { system: system.clone(), fields, coefficients }];
    }
    let mut part_of: Vec<usize> = (0..system.fields.len()).collect();
    for (number, field) in system.fields.iter().enumerate() {
        for read in arrays(nodes(field)) {
            if let Array::Field { field, .. } = read {
                let (one, other) = (part_of[number], part_of[field]);
                let joined = one.min(other);
                part_of
                    .iter_mut()
                    .filter(|it| [one, other].contains(it))
                    .for_each(|it| *it = joined);
            }
        }
    }
    let firsts: BTreeSet<usize> = part_of.iter().copied().collect();
    let of_part = |first: usize| {
        let fields = (0..system.fields.len()).filter(|field| part_of[*field] == first);
        part(system, fields.collect())
    };
    firsts.into_iter().map(of_part).collect()
}

/// The expressions that a step of a field evaluates.
fn nodes(field: &Field) -> impl Iterator<Item = &Node> {
    [&field.next].into_iter().chain(&field.keep)
}

/// The arrays that expressions read.
fn arrays<'a>(nodes: impl Iterator<Item = &'a Node>) -> BTreeSet<Array> {
    let mut all = BTreeSet::new();
    for node in nodes {
        node.visit(&mut |part| {
            if let Node::Read(array) = part {
                all.insert(*array);
            }
        });
    }
    all
}

/// A system of some fields, which read no others.
fn part(system: &System, fields: Vec<usize>) -> SystemPart {
    let sources = system.sources.iter().filter(|source| fields.contains(&source.field));
    let coefficients = coefficients(system, &fields, sources.clone());
    let place = |all: &[usize], number: usize| {
        all.iter().position(|it| *it == number).expect("what a part reads belongs to it")
    };
    let renumbered = |node: &Node| {
        node.with_arrays(&|array| match array {
            Array::Field { field, level } => Array::Field { field: place(&fields, field), level },
            Array::Coefficient(number) => Array::Coefficient(place(&coefficients, number)),
            computed => unreachable!("{computed:?} is of a system that is one part"),
        })
    };
    let start = |start: &Start| match start {
        Start::Expression(node) => Start::Expression(renumbered(node)),
        values @ (Start::Values(..) | Start::OnDevice(_)) => values.clone(),
    };
    let own_field = |number: &usize| {
        let field = &system.fields[*number];
        Field {
            start: start(&field.start),
            before: field.before.iter().map(start).collect(),
            next: renumbered(&field.next),
            keep: field.keep.as_ref().map(renumbered),
            kept: field.kept.map(|kept| place(&coefficients, kept)),
            is_held: false,
            ..field.clone()
        }
    };
    let own_coefficient = |number: &usize| {
        let coefficient = &system.coefficients[*number];
        Coefficient { start: start(&coefficient.start), ..coefficient.clone() }
    };
    let own_source = |source: &Source| Source {
        field: place(&fields, source.field),
        add: renumbered(&source.add),
        ..source.clone()
    };
    let receivers = system.receivers.iter().filter(|receiver| fields.contains(&receiver.field));
    let own_receiver = |it: &Receiver| Receiver { field: place(&fields, it.field), ..it.clone() };
    let own: Vec<Field> = fields.iter().map(own_field).collect();
    let text = &Text::new("an equation", "");
    let equations = own.iter().enumerate().map(|(number, field)| {
        let computes = Array::New(number);
        Equation { computes, value: &field.next, text }
    });
    let equations: Vec<Equation> = equations.collect();
    let around = |array: Array| match array {
        Array::Field { field, level } => {
            system.around(Array::Field { field: fields[field], level })
        }
        Array::Coefficient(number) => system.around(Array::Coefficient(coefficients[number])),
        computed => unreachable!("{computed:?} is of a system that is one part"),
    };
    let sides = system.sides(&around, &|_| None);
    let program = Program::new((&system.stencils, &sides), &[], equations.iter());
    let program = program.expect("the equations of the whole system are operations");
    let part = System {
        stages: vec![program.clone()],
        program,
        coefficients: coefficients.iter().map(own_coefficient).collect(),
        sources: sources.map(own_source).collect(),
        receivers: receivers.map(own_receiver).collect(),
        fields: own,
        // They are taken of all fields together.
        totals: Totals::default(),
        warnings: Vec::new(),
        // By other numbers.
        vanishing: Vec::new(),
        ..system.clone()
    };
    SystemPart { system: part, fields, coefficients }
}

/// What a field starts with, now and before.
fn starts(field: &Field) -> impl Iterator<Item = &Start> {
    [&field.start].into_iter().chain(&field.before)
}

/// The coefficients that fields and their sources need, and those that these are made from.
fn coefficients<'a>(
    system: &System,
    fields: &[usize],
    sources: impl Iterator<Item = &'a Source>,
) -> Vec<usize> {
    let of_start = |start: &Start| match start {
        Start::Expression(node) => arrays([node].into_iter()),
        Start::Values(..) | Start::OnDevice(_) => BTreeSet::new(),
    };
    let fields = fields.iter().map(|field| &system.fields[*field]);
    let mut found: BTreeSet<usize> = fields.clone().filter_map(|field| field.kept).collect();
    let stepped = arrays(fields.clone().flat_map(nodes).chain(sources.map(|it| &it.add)));
    let mut left: Vec<Array> =
        stepped.into_iter().chain(fields.flat_map(starts).flat_map(of_start)).collect();
    left.extend(found.iter().flat_map(|it| of_start(&system.coefficients[*it].start)));
    while let Some(array) = left.pop() {
        if let Array::Coefficient(number) = array
            && found.insert(number)
        {
            left.extend(of_start(&system.coefficients[number].start));
        }
    }
    found.into_iter().collect()
}

impl SystemPart {
    /// What it begins with, of the values that the whole system begins with; its fields are taken out of those.
    fn beginning(&self, whole: &mut StartValues) -> StartValues {
        StartValues {
            step: whole.step,
            coefficients: self
                .coefficients
                .iter()
                .map(|it| whole.coefficients[*it].clone())
                .collect(),
            fields: self.fields.iter().map(|it| std::mem::take(&mut whole.fields[*it])).collect(),
            rounded: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
