// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several steps in one launch: which part of the grid a block holds on chip, and for how many steps.
//!
//! ```text
//! a block's part, `lanes` x `rows * warps`; a thread has `rows` points below each other
//!   +-----------------+
//!   |  halo: r T wide |   every step takes r points off what is right: what its stages read, one after the other
//!   |   +---------+   |
//!   |   | middle  |   |   right after T steps, and written
//!   |   +---------+   |
//!   +-----------------+
//! ```

use crate::checked::System;
use crate::program::Operation;
use problem::noise::ROUNDS;

/// What a block holds, and how many steps it takes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockTile {
    /// Steps of a launch, at most.
    pub steps: usize,
    /// Points along x, each a thread's.
    pub lanes: usize,
    /// Points along y of a thread.
    pub rows: usize,
    /// Threads along y.
    pub down: usize,
    /// Points along z that are right in the end, through which a block goes plane by plane; none on grids without z.
    pub planes: Option<usize>,
    /// How far a step reads along z, y and x, through all of its stages.
    pub reach: [usize; 3],
    /// How far a stage of it does, at most.
    pub reads: [usize; 3],
}

impl BlockTile {
    /// A part with which steps of a system are taken: so many steps, `lanes`, `rows` and `down`, and planes.
    pub fn of(
        system: &System,
        steps: usize,
        [lanes, rows, down]: [usize; 3],
        planes: Option<usize>,
    ) -> Self {
        let reads = system.program.reach(|_| true);
        Self { steps, lanes, rows, down, planes, reach: system.reach(), reads }
    }

    /// Points along z, y and x that a block holds, of z one after the other.
    pub fn extents(&self) -> [usize; 3] {
        [self.planes.unwrap_or(1) + 2 * self.halo()[0], self.rows * self.down, self.lanes]
    }

    /// Points between its sides and those that are right in the end.
    pub fn halo(&self) -> [usize; 3] {
        self.reach.map(|reach| reach * self.steps)
    }

    /// Points along z, y and x that are right in the end; none if there are none.
    pub fn middle(&self) -> [usize; 3] {
        let (extents, halo) = (self.extents(), self.halo());
        [0, 1, 2].map(|axis| extents[axis].saturating_sub(2 * halo[axis]))
    }

    /// Planes that a stage is behind the one before it, where a block goes along z: all planes that it reads were finished before.
    pub fn delay(&self) -> usize {
        self.reads[0] + 1
    }

    /// Threads of a block.
    pub fn threads(&self) -> usize {
        self.lanes * self.down
    }

    /// Blocks along z, y and x of a grid.
    pub fn blocks(&self, extents: [usize; 3]) -> [usize; 3] {
        let middle = self.middle();
        [0, 1, 2].map(|axis| extents[axis].div_ceil(middle[axis]))
    }

    /// Values before and after an array in shared memory that are read by points which do not matter.
    pub fn pad(&self) -> usize {
        (self.reads[1] * self.lanes + self.reads[2]).next_multiple_of(4)
    }

    /// Values of an array in shared memory, of a grid without z.
    pub fn values(&self) -> usize {
        let [_, down, across] = self.extents();
        down * across + 2 * self.pad()
    }
}

/// About how many instructions an operation takes.
pub fn instructions(operation: &Operation) -> usize {
    match operation {
        Operation::Sum(_, taps) => taps.len(),
        Operation::Call(function, _) => function.instructions(),
        // Of a round two products of 64 bits, and what is made of their halves.
        Operation::Noise(..) => 8 * ROUNDS as usize,
    }
}
