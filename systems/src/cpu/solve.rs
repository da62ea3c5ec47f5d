// SPDX-License-Identifier: MIT OR Apache-2.0
//! A stage that solves, by transforms in f64 whatever the element type.

use num_complex::Complex64;

use super::arrays::convert;
use super::stored::StoredType;
use super::{Arrays, Layouts};
use crate::checked::System;
use crate::expression::Array;
use compute::engine::cpu::padded::Padded;
use compute::engine::fft::solve::Solver;
use compute::ranks::Gather;
use problem::values::Element;
use problem::{Dtype, Error};

/// The solve of a stage.
pub struct StageSolve {
    solver: Solver,
    /// The type of the system's values, which may be kept as a wider one.
    dtype: Dtype,
    right: Array,
    solution: usize,
}

impl StageSolve {
    /// The solve of a stage, by its number, if it is one.
    pub fn of_stage(system: &System, stage: usize) -> Option<Self> {
        let (_, solve, arrays) = system.solves().find(|(number, ..)| *number == stage)?;
        let [right, Array::Work(solution)] = arrays else {
            unreachable!("a solution is a work field")
        };
        let solver = Solver::new(&solve).expect("a system that was checked");
        Some(Self { solver, dtype: system.dtype, right, solution })
    }

    /// Solves in these spectra. Of a rank's part all of what is solved for is gathered, and solved for by each rank.
    ///
    /// # Errors
    /// Another rank failed.
    pub fn solve<T: StoredType>(
        &self,
        layouts: &Layouts,
        arrays: &mut Arrays<T>,
        spectra: &mut Vec<Complex64>,
        among: Option<&Gather>,
    ) -> Result<(), Error> {
        let right: &Padded<T> = arrays.get(self.right);
        let Some(among) = among else {
            let layout = layouts.get(self.right);
            let [_, ny, _] = layout.extents;
            let row = |number: usize, count: usize| {
                let plane = (layout.margins[0] + number / ny) * layout.plane();
                &right.from(plane + layout.at((number % ny) as isize, 0))[..count]
            };
            let solution = self.solution(spectra, layout.extents.iter().product(), row);
            arrays.works[self.solution].set(&solution);
            return Ok(());
        };
        // Ranks may keep values as other types.
        let own = T::wrap(right.get(among.own())).cast(self.dtype);
        let whole: Vec<T> = convert(&among.whole(&own)?);
        let row = |number: usize, count: usize| &whole[number * count..][..count];
        let solution = self.solution(spectra, whole.len(), row);
        let held = among.held(T::wrap(solution));
        arrays.works[self.solution].set(&convert::<T>(&held));
        Ok(())
    }

    /// The solution at so many points, in C order, of what lies in rows: of each so many values, by its number.
    fn solution<'a, T: StoredType>(
        &self,
        spectra: &mut Vec<Complex64>,
        points: usize,
        row: impl Fn(usize, usize) -> &'a [T] + Sync,
    ) -> Vec<T> {
        let read = |number: usize, to: &mut [f64]| {
            let values = row(number, to.len());
            values.iter().zip(to).for_each(|(value, to)| *to = Element::to_f64(*value));
        };
        let mut solution = vec![T::default(); points];
        self.solver.solve(spectra, &read, &mut solution, |_, from, to| {
            let values = from.iter().map(|value| T::from_f64(self.dtype.round(*value)));
            to.iter_mut().zip(values).for_each(|(to, value)| *to = value);
        });
        solution
    }
}
