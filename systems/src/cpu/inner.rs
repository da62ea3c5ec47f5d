// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a stage computes away from points that its conditions name by their indices, such as those at sides.

use std::ops::Range;

use super::code::Code;
use super::compiled::Compiled;
use super::real::Real;
use crate::checked::System;
use crate::expression::Array;
use crate::program::{Offset, Program};

/// Indices of an axis that are told, at most: of more too many rows would be cut into pieces.
const MOST: usize = 16;

/// It, and where it does not hold.
pub struct Inner<R: Real> {
    pub code: Code<R>,
    pub compiled: Option<Compiled<R>>,
    /// By axis, in order.
    but_at: [Vec<usize>; 3],
}

impl<R: Real> Inner<R> {
    /// Of a stage with so many outputs; none if there are no such points, or it takes hardly less elsewhere. It reads what the stage reads.
    pub fn new(
        program: &Program,
        (system, streams): (&System, bool),
        own: impl Fn(Array) -> Option<usize>,
        place: impl Fn(Array, Offset) -> isize,
    ) -> Option<Self> {
        let (inside, compared) = program.inside()?;
        if inside.operations.len() * 4 > program.operations.len() * 3
            || compared.iter().any(|at| at.len() > MOST)
        {
            return None;
        }
        let code = Code::within(&inside, program, own, place);
        let compiled = Compiled::new(&code, (system, program.writes.len()), streams);
        let mut but_at: [Vec<usize>; 3] = Default::default();
        for (axis, to) in but_at.iter_mut().enumerate() {
            let places = compared[axis].iter().map(|at| at - system.origin[axis] as i64);
            to.extend(places.filter_map(|at| usize::try_from(at).ok()));
        }
        Some(Self { code, compiled, but_at })
    }

    /// The pieces of so many columns of a row, from a point on, and whether it holds in each.
    pub fn pieces(&self, [z, y, start]: [usize; 3], length: usize) -> Vec<(Range<usize>, bool)> {
        let [planes, rows, columns] = &self.but_at;
        if planes.contains(&z) || rows.contains(&y) {
            return vec![(0..length, false)];
        }
        let mut pieces: Vec<(Range<usize>, bool)> = Vec::new();
        let mut done = 0;
        for column in columns {
            let Some(at) = column.checked_sub(start).filter(|at| *at < length) else { continue };
            if at > done {
                pieces.push((done..at, true));
            }
            match pieces.last_mut() {
                Some((last, false)) if last.end == at => last.end = at + 1,
                _ => pieces.push((at..at + 1, false)),
            }
            done = at + 1;
        }
        if done < length {
            pieces.push((done..length, true));
        }
        pieces
    }
}
