// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems that differ in numbers only: one's numbers in the places of another one's.
//!
//! Numbers that happen to be the same are one number of a program. So that of a system may be that of several places of
//! another one, and programs are compared operation by operation.

use crate::checked::System;
use crate::expression::Node;
use crate::parts::Source;
use crate::program::{Operation, Program, Value};

/// The system with the programs of another one, in which its own numbers stand; none where it differs in more than numbers.
/// What it has in tables and arrays is not compared: that is its own in any case.
pub fn like(leader: &System, system: &System) -> Option<System> {
    let levels = |of: &System| of.fields.iter().map(|field| field.levels).collect::<Vec<_>>();
    let places = |of: &System| {
        let place = |source: &Source| (source.field, source.at);
        of.sources.iter().map(place).collect::<Vec<_>>()
    };
    let folds = |of: &System| of.totals.folds().collect::<Vec<_>>();
    let is_alike = (leader.shape, leader.dtype, leader.stages.len(), leader.works.len())
        == (system.shape, system.dtype, system.stages.len(), system.works.len())
        && leader.coefficients.len() == system.coefficients.len()
        && leader.receivers.len() == system.receivers.len()
        && levels(leader) == levels(system)
        && places(leader) == places(system)
        && folds(leader) == folds(system);
    if !is_alike {
        return None;
    }
    let mut own = system.clone();
    let programs = [&leader.program].into_iter().chain(&leader.stages);
    let owns = [&system.program].into_iter().chain(&system.stages);
    let mut numbers = Numbers::of(&leader.program);
    let mut pairs = programs.zip(owns);
    if !pairs.all(|(program, own)| numbers.pair(program, own)) {
        return None;
    }
    let scalars = numbers.of_system(&leader.program, &system.program);
    let with = |program: &Program| Program { scalars: scalars.clone(), ..program.clone() };
    own.stages = leader.stages.iter().map(with).collect();
    own.program = with(&leader.program);

    let (of_leader, of_system) = (&leader.totals.program, &system.totals.program);
    let mut numbers = Numbers::of(of_leader);
    if !numbers.pair(of_leader, of_system) {
        return None;
    }
    let scalars = numbers.of_system(of_leader, of_system);
    own.totals.program = Program { scalars, ..of_leader.clone() };
    Some(own)
}

/// Of each number of a program the place of the other one's.
struct Numbers(Vec<Option<usize>>);

impl Numbers {
    fn of(program: &Program) -> Self {
        Self(vec![None; program.scalars.len()])
    }

    /// The numbers in their places; those that no operation takes are the program's own.
    fn of_system(&self, program: &Program, system: &Program) -> Vec<Node> {
        let own = self.0.iter().zip(&program.scalars);
        own.map(|(place, of)| place.map_or(of, |place| &system.scalars[place]).clone()).collect()
    }

    /// Finds the places of what operations take; whether these are otherwise those of the other program.
    fn pair(&mut self, program: &Program, other: &Program) -> bool {
        program.writes == other.writes
            && program.solves == other.solves
            && program.operations.len() == other.operations.len()
            && program.operations.iter().zip(&other.operations).all(|(a, b)| match (a, b) {
                (Operation::Call(a, of_a), Operation::Call(b, of_b)) => {
                    a == b && self.values(of_a, of_b)
                }
                (Operation::Noise(a, of_a), Operation::Noise(b, of_b)) => {
                    a == b && self.values(of_a, of_b)
                }
                (a, b) => a == b,
            })
            && self.values(&program.results, &other.results)
    }

    fn values(&mut self, values: &[Value], others: &[Value]) -> bool {
        let mut pairs = values.iter().zip(others);
        values.len() == others.len()
            && pairs.all(|pair| match pair {
                (Value::Scalar(number), Value::Scalar(other)) => {
                    *self.0[*number].get_or_insert(*other) == *other
                }
                (value, other) => value == other,
            })
    }
}
