// SPDX-License-Identifier: MIT OR Apache-2.0
//! What engines ask of a system whose step has stages.

use std::borrow::Cow;

use super::checked::System;
use super::expression::Node;
use super::parts::{BatchNumbers, Coefficient, Field, Start};
use super::program::Program;
use super::totals::Totals;

impl System {
    /// Whether an equation reads what another one computes in the step.
    pub(super) fn computes_in_turn(&self) -> bool {
        let mut found = false;
        self.visit(|part| found |= matches!(part, Node::Read(array) if array.is_computed()));
        found
    }

    /// Whether a step computes some values at all points before others.
    pub(super) fn is_staged(&self) -> bool {
        self.stages.len() > 1
    }

    /// The refusal of what takes a step at once.
    ///
    /// # Errors
    /// The step has stages.
    pub(super) fn check_one_stage(&self) -> Result<(), String> {
        match self.stages.len() {
            0 | 1 => Ok(()),
            stages => Err(format!("a step has {stages} stages, one after the other")),
        }
    }

    /// A stage as a system by itself, whose program computes what the stage does. It has no values to start with.
    pub(super) fn stage(&self, number: usize) -> Self {
        // Receivers receive what was there before the step, from the first kernel that is written for it.
        let first = self.stages.iter().position(|stage| !stage.solves);
        let receivers = if first == Some(number) { self.receivers.clone() } else { Vec::new() };
        let sources = self.sources.clone();
        Self { receivers, sources, ..self.computing(self.stages[number].clone()) }
    }

    /// What its totals reduce as a system by itself, whose program computes that. It has no values to start with.
    pub(super) fn of_totals(&self) -> Self {
        let of_totals = self.computing(self.totals.program.clone());
        let beside =
            |it: &BatchNumbers| BatchNumbers { numbers: it.of_totals.clone(), ..it.clone() };
        Self { beside: self.beside.as_ref().map(beside), ..of_totals }
    }

    /// How many systems one kernel computes side by side, this one among them.
    pub(super) fn members(&self) -> usize {
        self.beside.as_ref().map_or(1, |beside| beside.members)
    }

    /// The system without sources, receivers and values to start with, computing something else.
    fn computing(&self, program: Program) -> Self {
        let field = |field: &Field| Field {
            name: field.name.clone(),
            next: field.next.clone(),
            keep: field.keep.clone(),
            walls: field.walls.clone(),
            start: Start::default(),
            before: Vec::new(),
            ..*field
        };
        let coefficient = |it: &Coefficient| Coefficient {
            name: it.name.clone(),
            boundary: it.boundary,
            start: Start::default(),
        };
        Self {
            title: self.title.clone(),
            stencils: self.stencils.clone(),
            tables: self.tables.clone(),
            fields: self.fields.iter().map(field).collect(),
            coefficients: self.coefficients.iter().map(coefficient).collect(),
            traces: Vec::new(),
            works: self.works.clone(),
            solved_on: self.solved_on.clone(),
            // Whoever reduces has the whole system.
            totals: Totals::default(),
            end: None,
            length: self.length.clone(),
            sources: Vec::new(),
            shares: Vec::new(),
            receivers: Vec::new(),
            side_values: self.side_values.clone(),
            vanishing: self.vanishing.clone(),
            stages: vec![program.clone()],
            program,
            warnings: Vec::new(),
            beside: self.beside.clone(),
            source: None,
            ..*self
        }
    }

    /// What names of kernels say of the stages, if there are several.
    pub(super) fn stages_in_name(&self) -> String {
        if self.is_staged() { format!("_s{}", self.stages.len()) } else { String::new() }
    }

    /// Each stage as a system by itself.
    pub(super) fn each_stage(&self) -> Vec<Cow<'_, Self>> {
        if !self.is_staged() {
            return vec![Cow::Borrowed(self)];
        }
        (0..self.stages.len()).map(|stage| Cow::Owned(self.stage(stage))).collect()
    }

    /// How far a step reads along each axis, through all of its stages.
    pub(super) fn reach(&self) -> [usize; 3] {
        let of_stages = self.reaches();
        let most = |axis: usize| of_stages.iter().map(|it| it[axis]).max().unwrap_or_default();
        [0, 1, 2].map(most)
    }

    /// How far values before the step lie away, along z, y and x, of which each stage makes its own, also by way of stages before it.
    pub(super) fn reaches(&self) -> Vec<[usize; 3]> {
        let mut of_stages: Vec<[usize; 3]> = Vec::new();
        for program in &self.stages {
            let mut reach = [0; 3];
            for (array, offset) in program.reads() {
                let computed = array.is_computed().then(|| {
                    let before = self.stages.iter().position(|it| it.writes.contains(&array));
                    of_stages[before.expect("a stage computes it")]
                });
                let before = computed.unwrap_or_default();
                for axis in 0..3 {
                    let far = before[axis] + offset[axis].unsigned_abs() as usize;
                    reach[axis] = reach[axis].max(far);
                }
            }
            of_stages.push(reach);
        }
        of_stages
    }

    /// Arrays that a step reads and writes, each once for every stage that does.
    pub(super) fn moved(&self) -> (usize, usize) {
        let read = self.stages.iter().map(|it| it.arrays().len()).sum();
        (read, self.stages.iter().map(|it| it.writes.len()).sum())
    }
}
