// SPDX-License-Identifier: MIT OR Apache-2.0
//! The solves of a system's steps: which stages are some, and what their solutions are in f64 and within rounding.

use problem::Error;
use problem::error::Mistake;
use problem::memory;
use rayon::prelude::*;

use super::checked::System;
use super::evaluate::{Evaluator, NumberKind, Solved, Values};
use super::expression::{Array, Node};
use super::parts::{StepWork, WholeGrid};
use super::text::Text;
use compute::engine::fft::solve::{Solve, Solver};

/// Points that are computed one after the other.
const TOGETHER: usize = 1024;

impl System {
    /// The grid on which its solves are, for those who have a part of it.
    pub(super) fn whole_of_solves(&self) -> Option<WholeGrid> {
        let boundaries = self.works.iter().map(|work| work.boundary).collect();
        self.has_solves().then_some(WholeGrid { shape: self.shape, boundaries })
    }

    /// What a work field is solved of, and the array of what it is solved for; none where it is not solved for.
    fn solve_of(&self, work: usize) -> Option<(Solve, Array)> {
        let StepWork { value: Node::Solve(stencil, right), boundary, .. } = &self.works[work]
        else {
            return None;
        };
        let Node::Read(right) = **right else {
            unreachable!("what is solved for is a field or a work field")
        };
        let stencil = self.stencils[*stencil].clone();
        let (shape, boundary) = match &self.solved_on {
            Some(whole) => (whole.shape, whole.boundaries[work]),
            None => (self.shape, *boundary),
        };
        Some((Solve { stencil, boundary, shape }, right))
    }

    /// The solve of each stage that is one, with the arrays of what is solved for, and of the solution.
    pub(super) fn solves(&self) -> impl Iterator<Item = (usize, Solve, [Array; 2])> {
        let stages = self.stages.iter().enumerate().filter(|(_, stage)| stage.solves);
        stages.map(|(number, stage)| {
            let Array::Work(work) = stage.writes[0] else {
                unreachable!("a solve writes a work field")
            };
            let (solve, right) = self.solve_of(work).expect("a stage that solves");
            (number, solve, [right, Array::Work(work)])
        })
    }

    /// Whether a step solves for some of its work fields.
    pub(super) fn has_solves(&self) -> bool {
        self.stages.iter().any(|stage| stage.solves)
    }

    /// That no step has a solve, which reads all points.
    ///
    /// # Errors
    /// One does.
    pub(super) fn check_solves_nothing(&self) -> Result<(), String> {
        match self.has_solves() {
            true => Err("a step has a solve, which reads all points".into()),
            false => Ok(()),
        }
    }

    /// Checks that all solves of a step have an inverse. `text` is that of a work field.
    pub(super) fn check_solves<'a>(&self, text: impl Fn(usize) -> &'a Text) -> Result<(), Mistake> {
        for (_, solve, [_, solution]) in self.solves() {
            let Array::Work(work) = solution else { continue };
            solve.check().map_err(|what| text(work).wrong(what))?;
        }
        Ok(())
    }

    /// Bytes of this machine's memory for spectra of solves, which they share, for what constants at sides add to each, and of a
    /// rank for what is gathered, and the solution of that.
    pub(super) fn bytes_of_solves(&self) -> u128 {
        let of = |(_, solve, _): (usize, Solve, [Array; 2])| {
            let lengths = solve.axes().map(|axes| axes.map(|axis| axis.length));
            // Half of the waves, of two numbers each.
            lengths.map_or(0, |all| all.iter().map(|it| *it as u128).product::<u128>() * 8)
        };
        let added = |(_, solve, _): (usize, Solve, [Array; 2])| {
            let is_some = u128::from(solve.has_constants());
            is_some * solve.shape.points() as u128 * size_of::<f64>() as u128
        };
        let spectra = self.solves().map(of).max().unwrap_or_default();
        // As it came, as it lies in memory, and the solution.
        let gathered = self.bytes_of_whole(3);
        spectra + self.solves().map(added).sum::<u128>() + gathered
    }

    /// Bytes of so many arrays of the whole grid, if it is a rank's part and solves.
    pub(super) fn bytes_of_whole(&self, arrays: usize) -> u128 {
        let points = |whole: &WholeGrid| whole.shape.points() as u128;
        let points = self.solved_on.as_ref().map_or(0, points);
        points * (arrays * self.dtype.bytes()) as u128
    }

    /// What solves on the cores of this machine, for each solve of a step, with memory for the solutions that a comparison has.
    ///
    /// # Errors
    /// [`Error::Memory`]: there is none for them.
    pub(super) fn solvers(&self) -> Result<Vec<Solver>, Error> {
        /// Bytes of a point: what is solved for as a number and as an interval, its middle and the solution of that; and
        /// those of each array that are kept.
        const OF_A_POINT: u128 = 8 + 16 + 8 + 8;
        const KEPT: u128 = 8 + 16;
        let last = self.stages.iter().rposition(|stage| stage.solves);
        if let Some(last) = last {
            let kept = self.stages[..=last].iter().map(|stage| stage.writes.len() as u128);
            let points = self.shape.points() as u128;
            let bytes = points * (OF_A_POINT + KEPT * kept.sum::<u128>()) + self.bytes_of_solves();
            memory::require("comparing a step with solves", bytes)?;
        }
        let unsupported = |reason| Error::Unsupported { engine: "f64", reason };
        self.solves().map(|(_, solve, _)| Solver::new(&solve).map_err(unsupported)).collect()
    }

    /// Of a work field that is what another one is solved for, the other one.
    pub(super) fn solved_by(&self, right: usize) -> Option<usize> {
        (0..self.works.len()).find(|work| match &self.works[*work].value {
            Node::Solve(_, part) => **part == Node::Read(Array::Work(right)),
            _ => false,
        })
    }

    /// What stages compute at all points up to the last solve, and the solutions, in numbers of a kind, of stored values after so
    /// many steps, where totals have been reduced to these.
    pub(super) fn solved<N: NumberKind + Sync>(
        &self,
        numbers: &N,
        values: &(impl Values + ?Sized),
        (step, reduced): (f64, &[f64]),
        solvers: &[Solver],
    ) -> Solved<N::Number> {
        let (mut solved, points) = (Solved::new(), self.shape.points());
        let last = self.stages.iter().rposition(|stage| stage.solves);
        let (mut solves, mut solvers) = (self.solves(), solvers.iter());
        let at_all_points = |array: Array, solved: &Solved<N::Number>| -> Vec<N::Number> {
            let of_some = |part: usize| -> Vec<N::Number> {
                let evaluator = Evaluator::new(self, numbers.clone(), values, step);
                let evaluator = evaluator.with_totals(reduced).with_solved(solved);
                let part = part * TOGETHER..points.min((part + 1) * TOGETHER);
                match array.is_computed() {
                    true => part.map(|point| evaluator.computed(array, point)).collect(),
                    false => part.map(|it| numbers.stored(values.value(array, it))).collect(),
                }
            };
            let parts = (0..points.div_ceil(TOGETHER)).into_par_iter();
            parts.flat_map_iter(of_some).collect()
        };
        for stage in self.stages.iter().take(last.map_or(0, |last| last + 1)) {
            if stage.solves {
                let (_, _, [right, solution]) = solves.next().expect("one for each stage");
                let solver = solvers.next().expect("one for each solve");
                let known = solved.get(&right).cloned();
                let right = known.unwrap_or_else(|| at_all_points(right, &solved));
                solved.insert(solution, numbers.solved(solver, right));
                continue;
            }
            for array in &stage.writes {
                let all = at_all_points(*array, &solved);
                solved.insert(*array, all);
            }
        }
        solved
    }
}
