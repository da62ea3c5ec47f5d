// SPDX-License-Identifier: MIT OR Apache-2.0
//! Register-window sweeps and their chains in the emulator, in launches of any shape.

use crate::suite::{launch, or_fault};
use cuda_sim::{Fault, Stats};
use kernels_gpu::chain2d::Stages;
use stencil::device::{Device, Emulator, Plane};
use stencil::families::Fields;
use stencil::families::Pass;
use stencil::families::chain2d::{self, Chain2d};
use stencil::families::sweep2d::{Config, Sweep2d, Wavefronts};
use stencil::problem::region::Region;
use stencil::values::Element;
use stencil::{Dtype, Error, Grid, Shape};
use transform::Stencil;
use transform::window::window;

/// A grid and how a register-window sweep is launched on it.
#[derive(Clone, Copy, Debug)]
pub struct EmulatedSweep2d {
    /// Element type.
    pub dtype: Dtype,
    /// Rows of the grid.
    pub ny: u32,
    /// Columns of the grid.
    pub nx: u32,
    /// Blocks of the launch, if each has a tile.
    pub blocks: u32,
    /// Stages of the ring.
    pub stages: u32,
    /// Rows of a tile, unless some blocks would have none.
    pub tile_rows: u32,
    /// Seed of the emulator.
    pub seed: u64,
}

/// A pass of which no more than so many turns are one launch.
pub struct Together<'a> {
    /// The pass.
    pub pass: &'a dyn Pass,
    /// The most turns.
    pub turns: usize,
}

impl Pass for Together<'_> {
    fn launch(&self, device: &dyn Device, fields: Fields, region: Region) -> Result<(), Error> {
        self.pass.launch(device, fields, region)
    }

    fn repeat(&self, device: &dyn Device, planes: [&Plane; 2], count: usize) -> Result<(), Error> {
        (0..count).step_by(self.turns).try_for_each(|done| {
            let planes = [planes[done % 2], planes[(done + 1) % 2]];
            self.pass.repeat(device, planes, self.turns.min(count - done))
        })
    }

    fn seams(&self) -> stencil::check::seams::Seams {
        self.pass.seams()
    }
}

impl EmulatedSweep2d {
    /// Runs time steps, back and forth between two buffers; `values` is a grid in C order. Also says
    /// what the last launch did.
    ///
    /// # Errors
    /// The kernel's first mistake.
    ///
    /// # Panics
    /// Where no kernel of this family takes the stencil.
    pub fn run<T: Element>(
        &self,
        stencil: &Stencil,
        values: &[T],
        steps: usize,
    ) -> Result<(Vec<T>, Stats), Fault> {
        self.run_together(stencil, values, steps, 1, 1)
    }

    /// As [`EmulatedSweep2d::run`], with so many steps of `steps` in a launch, except perhaps the last one, and
    /// so many of those in a wavefront.
    ///
    /// # Errors
    /// The kernel's first mistake.
    ///
    /// # Panics
    /// Where no kernel of this family takes the stencil.
    pub fn run_together<T: Element>(
        &self,
        stencil: &Stencil,
        values: &[T],
        steps: usize,
        together: usize,
        depth: u32,
    ) -> Result<(Vec<T>, Stats), Fault> {
        let &Self { dtype, ny, nx, blocks, stages, tile_rows, seed } = self;
        let device = Emulator::new().with_multiprocessors(blocks).with_seed(seed);
        let factors = dtype.factors().expect("a type of tensor cores");
        let window = window(stencil).expect("a stencil of radius 1 to 3");
        let config = Config { stages, blocks_per_multiprocessor: 1, tile_rows };
        // As close behind each other as steps can be.
        let wavefronts = Wavefronts { config, depth, lag: Some(0), separate: together == 1 };
        let run = || {
            let sweep = Sweep2d::new(&device, &window, factors, [ny, nx], config, wavefronts)?;
            // The counters are about to wrap around.
            let sweep = sweep.counted(&device, 3u32.wrapping_neg())?;
            let pass = Together { pass: &sweep, turns: together };
            launch(&device, &pass, dtype, &grid(ny, nx, values), steps)
        };
        let output = or_fault(run())?;
        Ok((T::unwrap(&output.values).expect("values of the type").to_vec(), device.stats()))
    }
}

/// Launches of chained sweeps, and a grid.
#[derive(Clone, Copy, Debug)]
pub struct EmulatedChain2d {
    /// Element type.
    pub dtype: Dtype,
    /// Time steps of a launch.
    pub chain: usize,
    /// Rows of the grid.
    pub ny: u32,
    /// Columns of the grid.
    pub nx: u32,
    /// Blocks of the launch.
    pub blocks: u32,
    /// Stages of the rings.
    pub stages: Stages,
    /// Seed of the emulator.
    pub seed: u64,
}

impl EmulatedChain2d {
    /// One launch; the points of a rim are not left out.
    ///
    /// # Errors
    /// The kernel's first mistake.
    ///
    /// # Panics
    /// Where no kernel of this family takes the stencil.
    pub fn run<T: Element>(&self, stencil: &Stencil, values: &[T]) -> Result<Vec<T>, Fault> {
        let &Self { dtype, chain, ny, nx, blocks, stages, seed } = self;
        let device = Emulator::new().with_multiprocessors(blocks).with_seed(seed);
        let element = dtype.factors().and_then(|factors| factors.element());
        let element = element.expect("a type of tensor cores");
        let window = window(stencil).expect("a stencil of radius 1 to 3");
        let config = chain2d::Config { stages, blocks_per_multiprocessor: 1 };
        let extents = [ny, nx];
        let run = || {
            let pass = Chain2d::new(&device, element, &window, chain, extents, config)?;
            launch(&device, &pass, dtype, &grid(ny, nx, values), 1)
        };
        let output = or_fault(run())?;
        Ok(T::unwrap(&output.values).expect("values of the type").to_vec())
    }
}

fn grid<T: Element>(ny: u32, nx: u32, values: &[T]) -> Grid {
    let shape = Shape::new(&[ny as usize, nx as usize]).expect("points");
    Grid { shape, values: T::wrap(values.to_vec()) }
}
