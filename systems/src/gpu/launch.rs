// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a launch on a GPU does for a system.

use super::geometry::{Geometry, March};
use super::held::TileState;
use super::kernel::{self, GeneratedKernel};
use super::sweep::FinishedSweep;
use super::tile::BlockTile;
use crate::checked::System;
use crate::expression::Array;
use compute::device::generated::MOST_STAGES;
use compute::engine::fft::on_gpu::solve;
use problem::Error;
use problem::memory::Bytes;
use transform::machine::Machine;

/// The work of a launch.
#[derive(Clone, Debug)]
pub enum LaunchWork {
    /// One step on CUDA cores, of which each thread takes points of its own.
    Step,
    /// One step on CUDA cores, by blocks that go along z.
    March(March),
    /// Several steps, or all stages of one, on CUDA cores, of which each block holds such a part of the grid.
    Chain(BlockTile),
    /// One step by a sweep on sparse tensor cores, and the points near sides on CUDA cores.
    Sweep(Box<FinishedSweep>),
}

impl LaunchWork {
    /// Time steps of it.
    pub fn steps(&self) -> usize {
        match self {
            Self::Step | Self::March(_) | Self::Sweep(_) => 1,
            Self::Chain(tile) => tile.steps,
        }
    }

    /// The name of its kernel, with what is particular about it.
    pub fn name(&self, system: &System) -> String {
        let (dtype, dims) = (system.dtype, system.shape.dims());
        match self {
            Self::Step => format!("step{dims}d_{dtype}{}", system.stages_in_name()),
            Self::March(march) => {
                let [planes, down, across] = march.extents(&self.geometry(system));
                let stages = system.stages_in_name();
                format!("march{dims}d_{dtype}{stages}_{planes}x{down}x{across}")
            }
            Self::Chain(tile) => {
                let extents = match tile.planes {
                    // A block goes through planes, and keeps a few of them.
                    Some(_) => &tile.extents()[1..],
                    None => &tile.extents()[3 - dims..],
                };
                let part = extents.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
                let stages = system.stages_in_name();
                format!("chain{dims}d_{dtype}{stages}_c{}_{part}", tile.steps)
            }
            Self::Sweep(sweep) => sweep.kernel.entry.name().to_owned(),
        }
    }

    /// Who computes which points, and how arrays lie in memory.
    pub fn geometry(&self, system: &System) -> Geometry {
        match self {
            Self::Step => Geometry::of(system),
            Self::March(march) => march.geometry(system),
            Self::Chain(_) => Geometry { lead: 0, finds_sides: false, ..Geometry::of(system) },
            Self::Sweep(sweep) => sweep.geometry(system),
        }
    }

    /// Checks that there can be such a kernel, before it is written.
    ///
    /// # Errors
    /// Why there cannot.
    pub fn check(&self, system: &System) -> Result<(), String> {
        let stages = system.stages.len();
        if stages > MOST_STAGES {
            return Err(format!(
                "a step has {stages} stages, of which a GPU takes at most {MOST_STAGES}"
            ));
        }
        let launches = match self {
            Self::Step | Self::March(_) | Self::Sweep(_) => {
                let stages = system.stages.iter();
                stages.map(|program| (program.arrays().len(), program.writes.len())).collect()
            }
            Self::Chain(_) => {
                let states = TileState::new(system)?.states;
                let fields = states.iter().filter(|it| matches!(it, Array::Field { .. })).count();
                vec![(states.len(), fields)]
            }
        };
        let geometry = self.geometry(system);
        kernel::check_totals(system, &geometry)?;
        launches.into_iter().try_for_each(|arrays| kernel::check(system, arrays, &geometry))
    }

    /// Bytes of all arrays with a value for each point: of each field its levels and those that are to take the next,
    /// coefficients, what stages compute for others, which a chain has on chip, and what solves take.
    pub fn bytes(&self, system: &System) -> u128 {
        let levels = system.fields.iter().map(|field| {
            let next = match self {
                _ if field.is_held => 0,
                Self::Chain(_) => field.levels,
                _ => 1,
            };
            field.levels + next
        });
        let works = if matches!(self, Self::Chain(_)) { 0 } else { system.works.len() };
        let count = levels.sum::<usize>() + system.coefficients.len() + works;
        let values = self.geometry(system).values();
        let shared = Machine::h200().shared_bytes_per_block;
        let solves = system
            .solves()
            .map(|(_, solve, _)| solve::bytes(&solve, system.dtype, shared).unwrap_or_default());
        let solves = solves.sum::<u128>() + system.bytes_of_whole(2);
        let members = system.members() as u128;
        members * count as u128 * values as u128 * system.dtype.bytes() as u128 + solves
    }

    /// Checks that the arrays fit into a GPU's memory, before any of it is taken.
    ///
    /// # Errors
    /// [`Error::GpuMemory`] with both amounts.
    pub fn require(&self, system: &System, total: Bytes) -> Result<(), Error> {
        let need = self.bytes(system);
        if need <= u128::from(total.0) {
            return Ok(());
        }
        let (fields, shape) = (system.fields.len(), system.shape);
        let what =
            format!("a system of {fields} fields on {shape} points: its fields and coefficients");
        Err(Error::GpuMemory { what, need: Bytes::saturating(need), total })
    }

    /// The kernel that is written for it.
    ///
    /// # Errors
    /// The system has what kernels have no instructions for.
    pub fn kernel(&self, system: &System) -> Result<GeneratedKernel, String> {
        match self {
            Self::Step => GeneratedKernel::new(system),
            Self::March(march) => GeneratedKernel::marched(system, *march),
            Self::Chain(tile) => GeneratedKernel::chained(system, *tile),
            Self::Sweep(sweep) => GeneratedKernel::near_sides(system, sweep.geometry(system)),
        }
    }
}

#[cfg(test)]
mod tests;
