// SPDX-License-Identifier: MIT OR Apache-2.0
//! The order in which a step computes: an equation that reads `new(v)` waits for v, and one that reads a work field waits
//! for that. Equations that wait for nothing are the first stage; a stage is computed at all points before the next one.
//!
//! An equation that reads another one's value at its own point only is computed in the same stage, right after it, with
//! the value still in a register, unless a source adds to it afterwards. A solve is a stage by itself.

use std::collections::BTreeSet;

use transform::Stencil;

use super::expression::{Array, Node};
use super::program::{Equation, Program};
use super::sides::Sides;
use problem::error::Mistake;

/// The program of all equations, and that of each stage, which has the scalars of all. `later` tells what is added to after
/// it was computed, `wanted` what is kept though no equation reads it, `name` what an array is called.
///
/// # Errors
/// Equations that wait for each other, with their names; those of [`Program::new`].
pub fn programs(
    by: (&[Stencil], &Sides),
    equations: &[Equation],
    (later, wanted): (impl Fn(Array) -> bool, impl Fn(Array) -> bool),
    name: impl Fn(Array) -> String,
) -> Result<(Program, Vec<Program>), Mistake> {
    let order = order((by.1, equations), later, name)?;
    let in_order = order.iter().flatten().map(|number| &equations[*number]);
    let mut whole = Program::new(by, &[], in_order)?;
    let of_stage = |stage: &Vec<usize>| {
        let own = stage.iter().map(|number| &equations[*number]);
        Program::new(by, &whole.scalars, own)
    };
    let mut stages = order.iter().map(of_stage).collect::<Result<Vec<Program>, Mistake>>()?;
    let read: BTreeSet<Array> = stages.iter().flat_map(Program::arrays).collect();
    let is_kept = |array| matches!(array, Array::New(_)) || read.contains(&array) || wanted(array);
    stages.iter_mut().chain([&mut whole]).for_each(|program| program.keep(is_kept));
    Ok((whole, stages))
}

/// The equations of each stage, by their numbers, each after those that it waits for.
fn order(
    (sides, equations): (&Sides, &[Equation]),
    later: impl Fn(Array) -> bool,
    name: impl Fn(Array) -> String,
) -> Result<Vec<Vec<usize>>, Mistake> {
    let mut order = Order {
        sides,
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
    let solves = |equation: &usize| matches!(equations[*equation].value, Node::Solve(..));
    let in_stage = |stage| {
        let all = done.iter().copied().filter(move |it| of(*it) == stage);
        let (solves, others): (Vec<usize>, Vec<usize>) = all.partition(solves);
        let others = (!others.is_empty()).then_some(others);
        others.into_iter().chain(solves.into_iter().map(|solve| vec![solve]))
    };
    Ok((0..count).flat_map(in_stage).collect())
}

struct Order<'a, L, N> {
    sides: &'a Sides<'a>,
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
            let what =
                format!("equations wait for each other in a circle: {}", names.join(" waits for "));
            return Err(text.wrong(what).hint("one of them must read values before the step"));
        }
        self.open.push(equation);
        let mut stage = 0;
        for (array, at_point) in self.sides.computed_reads(value) {
            let other = self.equations.iter().position(|it| it.computes == array);
            let other = other.expect("each array that is computed has an equation");
            let solves = |it: usize| matches!(self.equations[it].value, Node::Solve(..));
            let together = at_point && !(self.later)(array) && !solves(other) && !solves(equation);
            stage = stage.max(self.visit(other)? + usize::from(!together));
        }
        self.open.pop();
        self.stage[equation] = Some(stage);
        self.done.push(equation);
        Ok(stage)
    }
}
