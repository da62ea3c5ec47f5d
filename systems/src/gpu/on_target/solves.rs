// SPDX-License-Identifier: MIT OR Apache-2.0
//! The solves of a step on what launches kernels; of a rank's part all of what is solved for goes through this machine's memory.

use std::collections::BTreeMap;

use super::{OnTarget, rows};
use crate::checked::System;
use crate::expression::Array;
use crate::gpu::target::LaunchTarget;
use compute::device::MemoryRows;
use compute::ranks::Gather;
use problem::values::Element;
use problem::{Error, Shape, with_dtype, with_values};

/// Bytes of a line of memory, at which rows of a whole grid begin.
const LINE: usize = 128;

/// What is there for solves.
pub struct Solves {
    /// The solve of each stage that is one.
    numbers: BTreeMap<usize, usize>,
    among: Option<GatheredSolve>,
}

/// What a rank has to solve on the whole grid.
struct GatheredSolve {
    gather: Gather,
    /// What is solved for, and the solution.
    arrays: [usize; 2],
    /// Where the points of the whole grid lie in them.
    rows: MemoryRows,
}

impl Solves {
    /// Of a system whose arrays have such rows; of a rank's part with what gathers what it solves for.
    ///
    /// # Errors
    /// The target refuses.
    pub fn new(
        (system, own): (&System, MemoryRows),
        target: &mut impl LaunchTarget,
        gather: Option<Gather>,
    ) -> Result<Self, Error> {
        let among = |gather: Gather| {
            let rows = whole(gather.shape(), system.dtype.bytes());
            let bytes = rows.planes * rows.plane_pitch;
            let mut array = || target.allocate("solves of the whole grid", bytes);
            Ok::<_, Error>(GatheredSolve { arrays: [array()?, array()?], gather, rows })
        };
        let among = gather.map(among).transpose()?;
        let rows = among.as_ref().map_or(own, |among| among.rows);
        let numbers = system.solves().map(|(stage, solve, _)| {
            Ok::<_, Error>((stage, target.prepare_solve(&solve, (system.dtype, rows))?))
        });
        Ok(Self { numbers: numbers.collect::<Result<_, _>>()?, among })
    }

    /// Whether a stage is one.
    pub fn has(&self, stage: usize) -> bool {
        self.numbers.contains_key(&stage)
    }
}

/// Where the points of a whole grid lie in an array by itself.
fn whole(shape: Shape, bytes: usize) -> MemoryRows {
    let [planes, rows, columns] = shape.extents();
    let width = columns * bytes;
    let row_pitch = width.next_multiple_of(LINE);
    MemoryRows { start: 0, width, rows, row_pitch, planes, plane_pitch: rows * row_pitch }
}

impl<T: LaunchTarget> OnTarget<T> {
    /// Queues the solve of a stage, from one array to another; among ranks it is done when this returns.
    pub(super) fn solve(&mut self, stage: usize, from_to: [Array; 2]) -> Result<(), Error> {
        let number = self.solves.numbers[&stage];
        let (geometry, dtype) = (&self.kernel_of(stage).geometry, self.system.dtype);
        let held = rows(geometry, dtype, self.system.whole());
        let arrays = from_to.map(|array| self.array(array));
        let Some(GatheredSolve { gather, arrays: whole, rows }) = &self.solves.among else {
            return self.target.solve(number, arrays, held);
        };
        let right = gather.whole(&self.box_of(from_to[0], gather.own())?)?;
        with_values!(&right, values => {
            self.target.write(whole[0], *rows, bytemuck::cast_slice(values))?;
        });
        self.target.solve(number, *whole, *rows)?;
        let solution = with_dtype!(dtype, E => {
            let mut values = vec![E::default(); gather.shape().points()];
            self.target.read(whole[1], *rows, bytemuck::cast_slice_mut(&mut values))?;
            E::wrap(values)
        });
        with_values!(&gather.held(solution), values => {
            self.target.write(arrays[1], held, bytemuck::cast_slice(values))
        })
    }
}
