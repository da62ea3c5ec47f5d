// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values of f16 and bf16 as they are computed with: what a block of points reads of each array, widened to f32 once, where
//! every point of the block finds its neighbours.

use super::STAY;
use super::block::BEHIND;
use super::code::Reads;
use super::stored::StoredType;
use super::together::BAND;
use crate::expression::Array;
use crate::program::{Offset, Program};
use compute::engine::cpu::levels::Level;
use compute::engine::cpu::padded::PaddedLayout;

/// Points of a row of a block.
const COLUMNS: usize = 2048;
/// Planes of a block, where several planes are read around a point: each is widened once for all of them.
const PLANES: usize = 8;
/// Values that rows of a window are multiples of: those of a line of the cache.
const UNIT: usize = 16;

/// What is widened for a block of points.
pub struct Windows {
    /// Planes, rows and columns of a block, at most.
    pub block: [usize; 3],
    arrays: Vec<(Array, Window)>,
}

/// What a block reads of an array.
struct Window {
    /// How many planes and rows from a point the rows are that are read, in their order.
    lines: Vec<[i32; 2]>,
    /// How far the first plane and row are from a point.
    low: [i32; 2],
    /// Planes and rows.
    extents: [usize; 2],
    /// Values on the left of the first point, and on the right of the last one.
    margin: usize,
    /// Values from a row to the next one.
    pitch: usize,
}

impl Window {
    fn new(lines: Vec<[i32; 2]>, margin: usize, [planes, rows, columns]: [usize; 3]) -> Self {
        let along = |axis: usize| lines.iter().map(move |line| line[axis]);
        let low = [0, 1].map(|axis| along(axis).min().unwrap_or(0));
        let more =
            [0, 1].map(|axis| along(axis).max().map_or(0, |last| (last - low[axis]) as usize));
        let extents = [planes + more[0], rows + more[1]];
        let pitch = (columns + 2 * margin).next_multiple_of(UNIT);
        Self { lines, low, extents, margin, pitch }
    }

    /// Whether planes around a point are read.
    fn has_planes(&self) -> bool {
        self.lines.first().zip(self.lines.last()).is_some_and(|(first, last)| first[0] < last[0])
    }

    fn values(&self) -> usize {
        self.extents.iter().product::<usize>() * self.pitch
    }

    /// Where a row begins, with what is on the left of its first point: its number among those of the window.
    fn number(&self, [z, y]: [i32; 2]) -> usize {
        (z - self.low[0]) as usize * self.extents[1] + (y - self.low[1]) as usize
    }
}

impl Windows {
    /// The windows of what a program reads; `layout` tells how arrays lie in memory.
    pub fn new(program: &Program, layout: impl Fn(Array) -> PaddedLayout) -> Self {
        let mut lines: Vec<(Array, Vec<[i32; 2]>)> = Vec::new();
        for (array, [z, y, _]) in program.reads() {
            match lines.iter_mut().find(|(it, _)| *it == array) {
                Some((_, lines)) => lines.push([z, y]),
                None => lines.push((array, vec![[z, y]])),
            }
        }
        for (_, lines) in &mut lines {
            lines.sort_unstable();
            lines.dedup();
        }
        let points = lines.first().map_or(COLUMNS, |(array, _)| layout(*array).extents[2]);
        let of_block = |block: [usize; 3]| {
            let window = |(array, lines): &(Array, Vec<[i32; 2]>)| {
                (*array, Window::new(lines.clone(), layout(*array).margins[2], block))
            };
            Self { block, arrays: lines.iter().map(window).collect() }
        };
        let columns = points.min(COLUMNS);
        let whole = of_block([PLANES, BAND, columns]);
        let planes = whole.arrays.iter().any(|(_, window)| window.has_planes());
        let mut planes = if planes { PLANES } else { 1 };
        // Rows of bands are those that several steps are taken of.
        while planes > 1 && of_block([planes, BAND, columns]).bytes() > STAY {
            planes /= 2;
        }
        of_block([planes, BAND, columns])
    }

    fn bytes(&self) -> usize {
        let values = self.arrays.iter().map(|(_, window)| window.values());
        values.sum::<usize>() * size_of::<f32>()
    }

    fn get(&self, array: Array) -> &Window {
        let found = self.arrays.iter().find(|(it, _)| *it == array);
        &found.expect("every array that is read has a window").1
    }

    /// How many values behind a point of an array another one lies.
    pub fn distance(&self, array: Array, [z, y, x]: Offset) -> isize {
        let window = self.get(array);
        let row = z as isize * window.extents[1] as isize + y as isize;
        row * window.pitch as isize + x as isize
    }

    /// Values from a row to the next one.
    pub fn pitch(&self, array: Array) -> usize {
        self.get(array).pitch
    }

    /// The place in a window that the first point of one of a block's planes reads first.
    pub fn first(&self, reads: &Reads, plane: usize) -> usize {
        let (window, [z, y, x]) = (self.get(reads.array), reads.first);
        let column = window.margin.strict_add_signed(x as isize);
        window.number([z + plane as i32, y]) * window.pitch + column
    }

    /// Widens what a block of planes, rows and columns reads of an array; `from` has the array's values from the first row on
    /// that the block reads, and `start` is the block's first column.
    pub fn fill<T: StoredType>(
        &self,
        level: Level,
        (reads, layout): (&Reads, &PaddedLayout),
        [planes, rows, columns]: [usize; 3],
        start: usize,
        from: &[T],
        to: &mut Vec<T::Computed>,
    ) {
        let window = self.get(reads.array);
        to.resize(window.values() + BEHIND, <T::Computed as Default>::default());
        let mut is_read = vec![false; window.extents.iter().product()];
        for [z, y] in &window.lines {
            for plane in 0..planes as i32 {
                let first = window.number([z + plane, *y]);
                is_read[first..first + rows].fill(true);
            }
        }
        let count = columns + 2 * window.margin;
        let first = layout.left - window.margin + start;
        let (height, [first_plane, first_row, _]) = (layout.plane_rows() as isize, reads.first);
        for (number, _) in is_read.iter().enumerate().filter(|(_, is_read)| **is_read) {
            let [z, y] = [number / window.extents[1], number % window.extents[1]];
            let [z, y] = [z as i32 + window.low[0], y as i32 + window.low[1]];
            let row = (z - first_plane) as isize * height + (y - first_row) as isize;
            let at = row as usize * layout.pitch + first;
            let place = number * window.pitch;
            T::widen_row(level, &from[at..at + count], &mut to[place..place + count]);
        }
    }
}
