// SPDX-License-Identifier: MIT OR Apache-2.0
//! The units of a box of points whose values are reduced, and what a thread takes of one.

use crate::gpu::geometry::Geometry;
use crate::program::Program;
use problem::Region;

/// Threads of a block.
pub const THREADS: usize = 128;
/// Bytes that a thread waits for at once: those of all threads of a multiprocessor must cover the latency of memory.
const AHEAD: usize = 32;
/// Points of a thread that are computed side by side where neighbours are read, at most.
const COLUMNS: usize = 4;
/// Blocks, at most: some for each multiprocessor of the largest GPUs.
const BLOCKS: usize = 1024;

/// How a box is shared among blocks.
#[derive(Clone, Debug)]
pub struct Units {
    /// The box.
    pub own: Region,
    /// Points that lie side by side, and are loaded at once.
    pub group: usize,
    /// Points of a thread: groups, of which those of all threads lie between one and the next.
    pub columns: usize,
}

impl Units {
    /// Of a box for what a program reads of arrays that lie so, with values of so many bytes.
    pub fn new(program: &Program, geometry: &Geometry, bytes: usize, own: Region) -> Self {
        let alone = program.reads().all(|(_, offset)| offset == [0; 3]);
        let is_aligned = |group: &usize| {
            let fits = group * bytes <= 16;
            fits && [geometry.lead, geometry.pitch].into_iter().all(|it| it.is_multiple_of(*group))
        };
        let group = [4, 2].into_iter().filter(|_| alone).find(is_aligned).unwrap_or(1);
        let most = match alone {
            true => AHEAD / (bytes.max(4) * program.arrays().len().max(1)),
            false => COLUMNS,
        };
        let units = Self { own, group, columns: group };
        let needed = (units.end() - units.first()).div_ceil(THREADS);
        let columns = most.min(needed).max(1).next_multiple_of(group);
        Self { columns, ..units }
    }

    /// The first point of a row's first unit: where a group begins, which may be before the box.
    pub fn first(&self) -> usize {
        self.low() / self.group * self.group
    }

    /// The first point of a row.
    pub fn low(&self) -> usize {
        self.own.low[2] as usize
    }

    /// The point after the last one of a row.
    pub fn end(&self) -> usize {
        self.own.high[2] as usize
    }

    /// Points of one.
    pub fn points(&self) -> usize {
        self.columns * THREADS
    }

    /// Units of a row.
    pub fn of_row(&self) -> usize {
        (self.end() - self.first()).div_ceil(self.points())
    }

    /// All units.
    pub fn all(&self) -> usize {
        let [planes, rows, _] = self.own.extents();
        planes * rows * self.of_row()
    }

    /// Blocks of a launch.
    pub fn blocks(&self) -> usize {
        self.all().min(BLOCKS)
    }
}
