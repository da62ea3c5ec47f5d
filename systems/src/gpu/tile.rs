// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several steps in one launch: which part of the grid a block holds on chip, and for how many steps.
//!
//! ```text
//! a block's part, `lanes` x `rows * warps`; a thread has `rows` points below each other
//!   +-----------------+
//!   |  halo: r T wide |   every step takes r points off what is right
//!   |   +---------+   |
//!   |   | middle  |   |   right after T steps, and written
//!   |   +---------+   |
//!   +-----------------+
//! ```

use crate::checked::System;
use crate::expression::Array;
use crate::program::{Offset, Operation};
use problem::boundary::Side;
use problem::noise::ROUNDS;

/// What a block holds, and how many steps it takes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
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
    /// How far a step reads along z, y and x.
    pub reach: [usize; 3],
}

/// What the kernel has to hold of a system.
#[derive(Clone, Debug, PartialEq)]
pub struct TileState {
    /// Fields with their earlier levels, then the coefficients that are read: in registers.
    pub states: Vec<Array>,
    /// Those of them whose neighbours are read, and the present level of their fields: in shared memory, too.
    pub shared: Vec<Array>,
    /// Along which axes the grid goes on from its other side.
    pub periodic: [bool; 3],
}

impl TileState {
    /// That of a system.
    ///
    /// # Errors
    /// Why its steps cannot be taken several at a time.
    pub fn new(system: &System) -> Result<Self, String> {
        system.check_one_stage()?;
        system.check_waits_for_no_total()?;
        system.check_keeps_no_estimate()?;
        // Coordinates in the kernel have 32 bits with a sign.
        if system.shape.extents().iter().any(|extent| *extent > 1 << 30) {
            return Err("axes of over 2^30 points take one step a launch".into());
        }
        let program = &system.program;
        let mut states = Vec::new();
        for (field, own) in system.fields.iter().enumerate() {
            states.extend((0..own.levels).map(|level| Array::Field { field, level }));
        }
        let read = program.arrays().into_iter();
        states.extend(read.filter(|array| matches!(array, Array::Coefficient(_))));
        let mut periodic = [false; 3];
        for axis in 0..3 {
            let along = program.reads().filter(|(_, offset)| offset[axis] != 0);
            let mut kinds = along
                .map(|(array, _)| system.boundary_of(array).sides[axis].contains(&Side::Periodic));
            let first = kinds.next();
            periodic[axis] = first.unwrap_or_default();
            if kinds.any(|own| Some(own) != first) {
                return Err("an axis is periodic for some fields or coefficients only".into());
            }
        }
        let has_receiver = |field| system.receivers.iter().any(|receiver| receiver.field == field);
        let has_neighbours =
            |array: Array| program.reads().any(|(read, offset)| read == array && offset != [0; 3]);
        let of_field = |array: Array| match array {
            Array::Field { field, level: 0 } => {
                has_receiver(field)
                    || states.iter().any(|state| {
                        matches!(*state, Array::Field { field: own, .. } if own == field)
                            && has_neighbours(*state)
                    })
            }
            other => has_neighbours(other),
        };
        let shared = states.iter().copied().filter(|array| of_field(*array)).collect();
        Ok(Self { states, shared, periodic })
    }

    /// Values that are read of shared memory for a point, with so many rows of points a thread, and those written.
    pub fn exchanged(&self, system: &System, rows: usize) -> f64 {
        let mut beside: Vec<(Array, Offset)> =
            system.program.reads().filter(|(_, offset)| *offset != [0; 3]).collect();
        beside.sort_unstable();
        beside.dedup();
        let read = |(_, [_, y, x]): &(Array, Offset)| match x {
            // Of a thread's own column only what is above and below its rows.
            0 => (y.unsigned_abs() as usize).min(rows) as f64 / rows as f64,
            _ => 1.0,
        };
        let written = self.shared.iter().filter(|it| matches!(it, Array::Field { .. })).count();
        beside.iter().map(read).sum::<f64>() + written as f64
    }
}

impl Tile {
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
        (self.reach[1] * self.lanes + self.reach[2]).next_multiple_of(4)
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
