// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps on sparse tensor cores: a sweep sums (`kernels_gpu::wide2d::finished`), and the system's own instructions make
//! of each sum the next value, in registers. The kernel that is written for the system then computes again what
//! lies near sides beyond which there are other values than zeros.

use cuda_driver::Extents;
use kernels_gpu::layout::Layout;
use kernels_gpu::ring::MAX_STAGES;
use kernels_gpu::wide2d::TILE_COLUMNS;
use kernels_gpu::wide2d::finished::{self, Finished, KERNELS};
use transform::machine::Machine;
use transform::row_operand::row_operand;
use transform::{Stencil, Tap};

use super::geometry::Geometry;
use super::kernel::Epilogue;
use super::tile::instructions;
use crate::checked::System;
use crate::interval::SumRounding;
use crate::program::Operation;
use crate::speeds::GPU;
use compute::families::wide2d::best_tile_rows;
use problem::Region;
use problem::boundary::Side;
use shape::SweepShape;
use weights::SplitWeights;

mod shape;
mod weights;

/// A system as a sweep.
#[derive(Clone, Debug)]
pub struct FinishedSweep {
    /// What is summed, and what is read beside it.
    pub shape: SweepShape,
    /// The kernel.
    pub kernel: &'static Finished,
    /// The operand.
    pub words: Vec<u32>,
    /// What makes the next value of a sum.
    pub finish: Epilogue,
    /// How sums are rounded.
    pub sums: SumRounding,
    /// Stages of the ring in shared memory.
    pub stages: u32,
    /// Rows of a tile.
    pub tile_rows: u32,
    /// Blocks, one for each multiprocessor.
    pub blocks: u32,
}

/// Whether a system is a sweep.
///
/// # Errors
/// Why it is none.
pub fn check(system: &System) -> Result<(), String> {
    SweepShape::new(system).map(|_| ())
}

impl FinishedSweep {
    /// The sweep of a system, for a GPU.
    ///
    /// # Errors
    /// Why it is none.
    pub fn new(system: &System, machine: &Machine) -> Result<Self, String> {
        let shape = SweepShape::new(system)?;
        let weights: Vec<f64> = shape.taps.iter().map(|(_, weight)| *weight).collect();
        let numbers = SplitWeights::new(shape.element, &weights);
        let (rows, count) = (shape.reach()[1] as u32, numbers.of.len());
        let fits = |kernel: &&Finished| {
            kernel.element == shape.element && kernel.radius >= rows && kernel.numbers == count
        };
        let kernel = KERNELS.iter().find(fits).expect("a kernel for each radius");
        let mut words = Vec::new();
        for number in &numbers.of {
            let taps = shape.taps.iter().zip(number).filter(|(_, weight)| **weight != 0.0);
            let tap =
                |((offset, _), weight): (&(_, f64), &f64)| Tap { offset: *offset, weight: *weight };
            let stencil = Stencil::new("sum", 2, taps.map(tap).collect());
            let stencil = stencil.map_err(|error| error.to_string())?;
            let operand = row_operand(&stencil, kernel.radius as usize, shape.element);
            words.extend(operand.map_err(|error| error.to_string())?.words);
        }
        let planes = shape.planes.len() as u32;
        let bytes = |stages| finished::shared_bytes(stages, planes);
        let stages = (1..=MAX_STAGES).rev().find(|it| bytes(*it) <= machine.shared_bytes_per_block);
        let stages = stages.ok_or("a multiprocessor has no room for its rows")?;
        let [_, ny, nx] = system.shape.extents().map(|extent| extent as u32);
        let blocks = machine.multiprocessors as u32;
        let products = count * (2 * kernel.radius as usize + 1);
        let sums = SumRounding {
            // What is cut off is up to twice what rounding takes; and then the factor.
            more: (2 * count * weights.len() + 2 * products) as f64
                + 2.0
                + numbers.off * 2f64.powi(24),
            is_exact: numbers.off == 0.0 && numbers.factor.log2().fract() == 0.0,
        };
        let finish = Epilogue::new(system, &shape.planes, numbers.factor);
        let tile_rows = best_tile_rows(kernel.radius, ny, nx, blocks);
        Ok(Self { shape, kernel, words, finish, sums, stages, tile_rows, blocks })
    }

    /// Where which points are, and which are computed again.
    pub fn geometry(&self, system: &System) -> Geometry {
        let [_, ny, nx] = system.shape.extents();
        let sides = system.boundary_of(self.shape.input).sides;
        let reach = self.shape.reach();
        let depth = |end: usize| {
            std::array::from_fn(|axis| match sides[axis][end] {
                Side::Zero | Side::Constant(0.0) | Side::Varying(_) | Side::Open => 0,
                _ => reach[axis],
            })
        };
        let layout = Layout::plane_2d(ny as u32, nx as u32);
        Geometry::near_sides(layout, system.dtype.bytes(), [depth(0), depth(1)])
    }

    /// A launch.
    pub fn extents(&self, system: &System) -> Extents {
        let [_, ny, nx] = system.shape.extents().map(|extent| extent as u32);
        let tiles = nx.div_ceil(TILE_COLUMNS) * ny.div_ceil(self.tile_rows);
        let shared_bytes = finished::shared_bytes(self.stages, self.shape.planes.len() as u32);
        Extents { blocks: tiles.min(self.blocks), threads: self.kernel.threads(), shared_bytes }
    }

    /// Predicted seconds of its step.
    pub fn seconds(&self, system: &System, machine: &Machine) -> f64 {
        /// Operations that a product counts as.
        const OPERATIONS: f64 = 2.0 * 16.0 * 8.0 * 32.0;
        /// Points of a product.
        const POINTS: f64 = 128.0;

        let speeds = &GPU.sweep;
        let points = system.shape.points() as f64;
        let arrays = system.program.arrays().len() + system.fields.len();
        let memory = (arrays * system.dtype.bytes()) as f64 * points
            / (speeds.of_a_copy * machine.copy_bytes_per_s);
        let Finished { radius, numbers, .. } = *self.kernel;
        let halo = 1.0 + 2.0 * f64::from(radius) / f64::from(self.tile_rows);
        let products = (numbers * (2 * radius as usize + 1)) as f64 * points * halo / POINTS;
        let rate = machine.half.sparse.unwrap_or(machine.half.dense);
        let products = products * OPERATIONS / (speeds.of_products * rate);
        let own = system.program.operations.iter().filter(|it| !matches!(it, Operation::Sum(..)));
        let own = own.map(|it| instructions(it) as f64).sum::<f64>()
            + speeds.of_a_read * self.shape.planes.len() as f64
            + speeds.of_a_point;
        let cycles = own * points / GPU.cycle.instructions;
        let cycles = cycles / (speeds.of_instructions * machine.multiprocessors as f64);
        let on_chip = products + cycles / machine.clock_hz;
        GPU.launch() + memory.max(on_chip) + self.near_sides(system, machine)
    }

    /// Of that those for the points near sides.
    fn near_sides(&self, system: &System, machine: &Machine) -> f64 {
        let points: usize = self.geometry(system).edges.iter().map(Region::points).sum();
        if points == 0 {
            return 0.0;
        }
        let neighbours = points as f64 * self.shape.taps.len() as f64;
        let rate = GPU.cycle.instructions * machine.multiprocessors as f64 * machine.clock_hz;
        GPU.launch() + GPU.sweep.of_a_place * neighbours / rate
    }
}
