// SPDX-License-Identifier: MIT OR Apache-2.0
//! The order in which a step computes: an equation that reads `new(v)` waits for v, and one that reads a work field waits
//! for that. Equations that wait for nothing are the first stage; a stage is computed at all points before the next one.
//!
//! An equation that reads another one's value at its own point only is computed in the same stage, right after it, with
//! the value still in a register, unless a source adds to it afterwards.

use std::borrow::Cow;
use std::collections::BTreeSet;

use transform::Stencil;

use super::checked::System;
use super::expression::{Array, Node};
use super::parts::{Coefficient, Field, Start};
use super::program::Program;
use super::text::Text;
use problem::error::Mistake;

/// An equation: what it computes, how, and where it is written.
pub struct Equation<'a> {
    /// [`Array::New`] or [`Array::Work`].
    pub computes: Array,
    /// Its value at a point.
    pub value: &'a Node,
    /// For errors.
    pub text: &'a Text,
}

/// The program of all equations, and that of each stage, which has the scalars of all. `later` tells what is added to after
/// it was computed, `name` what an array is called.
///
/// # Errors
/// Equations that wait for each other, with their names; those of [`Program::new`].
pub fn programs(
    stencils: &[Stencil],
    equations: &[Equation],
    later: impl Fn(Array) -> bool,
    name: impl Fn(Array) -> String,
) -> Result<(Program, Vec<Program>), Mistake> {
    let order = order(equations, later, name)?;
    let in_order = order.iter().flatten().map(|number| &equations[*number]);
    let mut whole = Program::new(stencils, &[], in_order)?;
    let of_stage = |stage: &Vec<usize>| {
        let own = stage.iter().map(|number| &equations[*number]);
        Program::new(stencils, &whole.scalars, own)
    };
    let mut stages = order.iter().map(of_stage).collect::<Result<Vec<Program>, Mistake>>()?;
    let read: BTreeSet<Array> = stages.iter().flat_map(Program::arrays).collect();
    let is_kept = |array| matches!(array, Array::New(_)) || read.contains(&array);
    stages.iter_mut().chain([&mut whole]).for_each(|program| program.keep(is_kept));
    Ok((whole, stages))
}

/// The equations of each stage, by their numbers, each after those that it waits for.
fn order(
    equations: &[Equation],
    later: impl Fn(Array) -> bool,
    name: impl Fn(Array) -> String,
) -> Result<Vec<Vec<usize>>, Mistake> {
    let mut order = Order {
        equations,
        later,
        name,
        stage: vec![None; equations.len()],
        open: vec![],
        done: vec![],
    };
    (0..equations.len()).try_for_each(|equation| order.visit(equation).map(drop))?;
    let Order { stage, done, .. } = order;
    let of = |equation: usize| stage[equation].expect("all were visited");
    let count = (0..equations.len()).map(of).max().map_or(0, |last| last + 1);
    let in_stage = |stage| done.iter().copied().filter(|it| of(*it) == stage).collect();
    Ok((0..count).map(in_stage).collect())
}

struct Order<'a, L, N> {
    equations: &'a [Equation<'a>],
    later: L,
    name: N,
    /// Of each equation the stage, when it is known.
    stage: Vec<Option<usize>>,
    /// Equations that wait for the one that is visited.
    open: Vec<usize>,
    /// In an order in which they can be computed.
    done: Vec<usize>,
}

impl<L: Fn(Array) -> bool, N: Fn(Array) -> String> Order<'_, L, N> {
    /// The stage of an equation.
    fn visit(&mut self, equation: usize) -> Result<usize, Mistake> {
        if let Some(known) = self.stage[equation] {
            return Ok(known);
        }
        let Equation { value, text, .. } = self.equations[equation];
        if let Some(first) = self.open.iter().position(|open| *open == equation) {
            let circle = self.open[first..].iter().chain([&equation]);
            let names = circle.map(|it| format!("'{}'", (self.name)(self.equations[*it].computes)));
            let names: Vec<String> = names.collect();
            let what = format!("this step has no beginning: {}", names.join(" waits for "));
            return Err(text.wrong(what).hint("one of them must read values before the step"));
        }
        self.open.push(equation);
        let mut stage = 0;
        for (array, at_point) in value.computed_reads() {
            let other = self.equations.iter().position(|it| it.computes == array);
            let other = other.expect("each array that is computed has an equation");
            let together = at_point && !(self.later)(array);
            stage = stage.max(self.visit(other)? + usize::from(!together));
        }
        self.open.pop();
        self.stage[equation] = Some(stage);
        self.done.push(equation);
        Ok(stage)
    }
}

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
        let program = self.stages[number].clone();
        let field = |field: &Field| Field {
            name: field.name.clone(),
            next: field.next.clone(),
            keep: field.keep.clone(),
            start: Start::default(),
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
            sources: self.sources.clone(),
            // Receivers receive what was there before the step.
            receivers: if number == 0 { self.receivers.clone() } else { Vec::new() },
            stages: vec![program.clone()],
            program,
            warnings: Vec::new(),
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
        let most = |axis: usize| of_stages.iter().map(|it| it[axis]).max().unwrap_or_default();
        [0, 1, 2].map(most)
    }

    /// Arrays that a step reads and writes, each once for every stage that does.
    pub(super) fn moved(&self) -> (usize, usize) {
        let read = self.stages.iter().map(|it| it.arrays().len()).sum();
        (read, self.stages.iter().map(|it| it.writes.len()).sum())
    }
}
