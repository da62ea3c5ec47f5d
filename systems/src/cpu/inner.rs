// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a stage computes at most points: away from points that its conditions name by their indices, and from layers along sides. Rows are cut
//! where another program begins. Which program a point has depends on its indices alone, so that it is the same one whoever computes it.

use std::ops::Range;

use super::code::Code;
use super::compiled::Compiled;
use super::real::Real;
use crate::checked::System;
use crate::expression::Array;
use crate::inside::{InnerPrograms, Inside, SETS};
use crate::program::{Offset, Program};
use crate::vanishing::Vanishing;

/// The programs of a stage by the set of axes along which a point lies within the region: axis a has the bit 1 << a. That of no axis is the
/// stage's own.
pub struct Inner<R: Real> {
    pub programs: [Option<InnerProgram<R>>; SETS],
    /// Along which axes there are points outside of the region.
    bounded: [bool; 3],
    /// Along each axis the indices within the region, of the part that is computed.
    ranges: [Range<usize>; 3],
    /// But for these, in order.
    but_at: [Vec<usize>; 3],
}

/// What is computed at some points of a stage.
pub struct InnerProgram<R: Real> {
    pub code: Code<R>,
    pub compiled: Option<Compiled<R>>,
    /// The places of what it writes among what the stage writes.
    pub writes: Vec<usize>,
}

impl<R: Real> Inner<R> {
    /// Of a stage. None if all points have one program, or it takes hardly less elsewhere. The programs read what the stage reads. Work fields
    /// that the stage leaves at 0 are added to what vanishes.
    pub fn new(
        program: &Program,
        (system, streams): (&System, bool),
        own: impl Fn(&Program, Array) -> Option<usize>,
        place: impl Fn(Array, Offset) -> isize,
        vanishing: &mut Vec<Vanishing>,
    ) -> Option<Self> {
        let InnerPrograms { region, of_set } = InnerPrograms::new(program, vanishing)?;
        let bounded = region.bounded();
        let programs = of_set.map(|inside| {
            let Inside { program: inside, writes, .. } = inside?;
            let code = Code::within([&inside, program], &own, &place);
            let compiled = Compiled::new(&code, (system, writes.len()), streams);
            Some(InnerProgram { code, compiled, writes })
        });
        let ranges = std::array::from_fn(|axis| {
            let own = |at: i64| at.saturating_sub(system.origin[axis] as i64);
            let Range { start, end } = &region.ranges[axis];
            let part = |at: i64| usize::try_from(own(at).max(0)).unwrap_or(usize::MAX);
            part(*start)..part(*end)
        });
        let but_at = std::array::from_fn(|axis| {
            let own = region.but_at[axis].iter().map(|at| at - system.origin[axis] as i64);
            own.filter_map(|at| usize::try_from(at).ok()).collect()
        });
        Some(Self { programs, bounded, ranges, but_at })
    }

    /// Whether all programs are machine code, or none is.
    pub fn are_compiled(&self) -> impl Iterator<Item = bool> {
        let computing = self.programs.iter().flatten().filter(|it| !it.writes.is_empty());
        computing.map(|it| it.compiled.is_some())
    }

    /// The set of axes z and y along which the points of a row lie within the region.
    pub fn along(&self, [z, y]: [usize; 2]) -> usize {
        let mut along = 0;
        for (axis, at) in [(0, z), (1, y)] {
            let lies_within = self.ranges[axis].contains(&at) && !self.but_at[axis].contains(&at);
            along |= usize::from(self.bounded[axis] && lies_within) << axis;
        }
        along
    }

    /// The pieces of so many columns of a row of that set, from a column on, and the set of axes of each.
    pub fn pieces(&self, along: usize, start: usize, length: usize) -> Vec<(Range<usize>, usize)> {
        if !self.bounded[2] {
            return vec![(0..length, along)];
        }
        let mut pieces: Vec<(Range<usize>, usize)> = Vec::new();
        let mut add = |to: usize, set: usize, done: &mut usize| {
            let to = to.min(length);
            if to <= *done {
                return;
            }
            match pieces.last_mut() {
                Some((last, known)) if *known == set => last.end = to,
                _ => pieces.push((*done..to, set)),
            }
            *done = to;
        };
        let inside = along | 1 << 2;
        let [first, last] = [self.ranges[2].start, self.ranges[2].end.max(self.ranges[2].start)];
        let mut done = 0;
        add(first.saturating_sub(start), along, &mut done);
        for column in self.but_at[2].iter().filter(|column| (first..last).contains(*column)) {
            let Some(at) = column.checked_sub(start) else { continue };
            add(at, inside, &mut done);
            add(at + 1, along, &mut done);
        }
        add(last.saturating_sub(start), inside, &mut done);
        add(length, along, &mut done);
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of some columns of a row of the first plane.
    fn pieces(
        inner: &Inner<f32>,
        y: usize,
        start: usize,
        length: usize,
    ) -> Vec<(Range<usize>, usize)> {
        inner.pieces(inner.along([0, y]), start, length)
    }

    #[test]
    fn rows_are_cut_where_another_program_begins() {
        let inner = Inner::<f32> {
            programs: Default::default(),
            bounded: [false, true, true],
            ranges: [0..usize::MAX, 2..5, 3..9],
            but_at: [vec![], vec![4], vec![0, 5]],
        };
        assert_eq!(
            pieces(&inner, 1, 0, 12),
            [(0..3, 0), (3..5, 4), (5..6, 0), (6..9, 4), (9..12, 0)]
        );
        assert_eq!(pieces(&inner, 3, 6, 2), [(0..2, 6)]);
        assert_eq!(pieces(&inner, 3, 5, 4), [(0..1, 2), (1..4, 6)]);
        assert_eq!(pieces(&inner, 4, 8, 4), [(0..1, 4), (1..4, 0)]);
        assert_eq!(pieces(&inner, 4, 10, 4), [(0..4, 0)]);
        let rows = Inner { bounded: [false, true, false], ..inner };
        assert_eq!(pieces(&rows, 3, 6, 2), [(0..2, 2)]);
    }
}
