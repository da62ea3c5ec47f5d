// SPDX-License-Identifier: MIT OR Apache-2.0
//! A stage that solves, by transforms in f64 whatever the element type.

use num_complex::Complex64;

use super::stored::Stored;
use super::{Arrays, Layouts};
use crate::checked::System;
use crate::expression::Array;
use compute::engine::cpu::padded::Padded;
use compute::engine::fft::solve::Solver;
use problem::values::Element;

/// The solve of a stage.
pub struct Solving {
    solver: Solver,
    right: usize,
    solution: usize,
}

impl Solving {
    /// The solve of a stage, by its number, if it is one.
    pub fn of_stage(system: &System, stage: usize) -> Option<Self> {
        let (_, solve, arrays) = system.solves().find(|(number, ..)| *number == stage)?;
        let [Array::Work(right), Array::Work(solution)] = arrays else {
            unreachable!("a solve is of work fields")
        };
        let solver = Solver::new(&solve).expect("a system that was checked");
        Some(Self { solver, right, solution })
    }

    /// Solves in these spectra.
    pub fn solve<T: Stored>(
        &self,
        layouts: &Layouts,
        arrays: &mut Arrays<T>,
        spectra: &mut Vec<Complex64>,
    ) {
        let layout = layouts.works[self.right];
        let right: &Padded<T> = &arrays.works[self.right];
        let [_, ny, nx] = layout.extents;
        let read = |row: usize, to: &mut [f64]| {
            let plane = (layout.margins[0] + row / ny) * layout.plane();
            let first = plane + layout.at((row % ny) as isize, 0);
            let values = &right.from(first)[..nx];
            values.iter().zip(to).for_each(|(value, to)| *to = Element::to_f64(*value));
        };
        let mut solution = vec![T::default(); layout.extents.iter().product()];
        self.solver.solve(spectra, &read, &mut solution, |_, from, to| {
            to.iter_mut().zip(from).for_each(|(to, value)| *to = T::from_f64(*value));
        });
        arrays.works[self.solution].set(&solution);
    }
}
