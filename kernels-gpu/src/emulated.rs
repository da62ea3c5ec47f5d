// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches of the kernels in the emulator `cuda_sim`, with the parameters that the host gives a GPU.

pub mod frame;
pub mod plain;
pub mod rows;

use crate::chain2d::{self, Inner, Stages};
use crate::layout::Layout;
use crate::sweep2d;
use crate::{MOST_REGISTERS, overlap};
use cuda_mma::fragment::Element;
use cuda_sim::{Buffer, Chip, Config, Fault, Memory, OnChip as _, Stats};
use transform::factors::Factors;

/// What launches have in common, but for their extents: blocks do not wait for each other.
pub(crate) const LAUNCH: Config = Config {
    blocks: 1,
    threads: 32,
    shared_bytes: 0,
    seed: 0,
    registers: MOST_REGISTERS,
    cooperative: false,
};

/// Launches a kernel as the host does, which lets each have all the shared memory that a block can get.
#[track_caller]
pub(crate) fn launch(
    name: &str,
    config: Config,
    memory: &mut Memory,
    kernel: impl Fn(),
) -> Result<Stats, Fault> {
    let most = Chip::current().resources().shared_bytes_per_block();
    memory.allow_shared(name, most).expect("no more than the chip has");
    cuda_sim::launch(name, config, memory, || {
        kernel();
        overlap::late();
    })
}

/// A launch of [`sweep2d`].
#[derive(Clone, Copy, Debug)]
pub struct Sweep2d {
    /// How values are multiplied.
    pub factors: Factors,
    /// Radius of the stencil, 1 to 3.
    pub radius: u32,
    /// Rows of the grid.
    pub ny: u32,
    /// Columns of the grid.
    pub nx: u32,
    /// Blocks of the launch.
    pub blocks: u32,
    /// Stages of the ring.
    pub stages: u32,
    /// Rows of a tile; even.
    pub tile_rows: u32,
    /// Seed of the emulator.
    pub seed: u64,
}

/// Time steps of one launch ([`crate::progress`]).
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    /// How many.
    pub count: u32,
    /// Steps of a band.
    pub depth: u32,
    /// Rows of tiles from a step of a band to the next.
    pub lag: u32,
    /// A counter for each row of tiles; one step uses none.
    pub progress: Buffer<u32>,
    /// What they hold before the launch.
    pub start: u32,
}

impl Steps {
    /// One time step.
    #[must_use]
    pub fn one(memory: &mut Memory) -> Self {
        Self { count: 1, depth: 1, lag: 0, progress: memory.in_out("progress", &[0]), start: 0 }
    }
}

impl Sweep2d {
    /// Time steps, back and forth between two arrays of the element type that are laid out as in
    /// [`crate::layout`].
    ///
    /// # Errors
    /// The kernel's first mistake.
    ///
    /// # Panics
    /// With a radius for which there is no kernel, or values of another size.
    pub fn launch<T>(
        &self,
        memory: &mut Memory,
        input: Buffer<T>,
        output: Buffer<T>,
        fragments: Buffer<u32>,
        steps: Steps,
    ) -> Result<Stats, Fault> {
        let &Self { factors, radius, ny, nx, blocks, stages, tile_rows, seed } = self;
        let Steps { count, depth, lag, progress, start } = steps;
        let Some(kernels) = sweep2d::kernels(factors, radius) else {
            panic!("no kernel sweeps with radius {radius} in {factors}");
        };
        assert_eq!(size_of::<T>(), factors.bytes(), "arrays of {factors}");
        let layout = Layout::plane_2d(ny, nx);
        let (origin, pitch) = (layout.origin(), layout.pitch());
        let from = input.as_mut_ptr().wrapping_add(origin).cast();
        let to = output.as_mut_ptr().wrapping_add(origin).cast();
        let (words, progress) = (fragments.as_ptr(), progress.as_mut_ptr());
        let shared_bytes = sweep2d::shared_bytes(factors.bytes() as u32, radius, stages);
        let (threads, cooperative) = (sweep2d::threads(count > 1), count > 1);
        let config = Config { blocks, threads, shared_bytes, seed, cooperative, ..LAUNCH };
        if count == 1 {
            let (name, kernel) = kernels.one;
            let upwards = u32::from(from > to);
            return launch(name, config, memory, || {
                // SAFETY: the kernel accesses memory through `cuda_std` only, and the emulator checks
                // every such access.
                unsafe { kernel(from, to, words, nx, ny, pitch, tile_rows, stages, upwards) };
            });
        }
        let (name, kernel) = kernels.many;
        launch(name, config, memory, || {
            // SAFETY: as above.
            unsafe {
                kernel(
                    from, to, words, progress, start, count, depth, lag, nx, ny, pitch, tile_rows,
                    stages,
                );
            };
        })
    }
}

/// A launch of [`chain2d`].
#[derive(Clone, Copy, Debug)]
pub struct Chain2d {
    /// Element type.
    pub element: Element,
    /// Radius of the stencil, 1 to 3.
    pub radius: u32,
    /// Time steps of the launch.
    pub chain: u32,
    /// Rows of the grid.
    pub ny: u32,
    /// Columns of the grid.
    pub nx: u32,
    /// Blocks of the launch.
    pub blocks: u32,
    /// Stages of the rings.
    pub stages: Stages,
    /// The points that are written.
    pub inner: Inner,
    /// Seed of the emulator.
    pub seed: u64,
}

impl Chain2d {
    /// [`Self::chain`] time steps between two arrays of the element type that are laid out as in
    /// [`crate::layout`].
    ///
    /// # Errors
    /// The kernel's first mistake.
    ///
    /// # Panics
    /// With an element type, a radius and a number of steps for which there is no kernel, or elements
    /// of another size.
    pub fn launch<T>(
        &self,
        memory: &mut Memory,
        input: Buffer<T>,
        output: Buffer<T>,
        fragments: Buffer<u32>,
    ) -> Result<Stats, Fault> {
        let &Self { element, radius, chain, ny, nx, blocks, stages, inner, seed } = self;
        let Some((name, kernel)) = chain2d::kernel(element, radius, chain) else {
            panic!("no kernel chains {chain} steps of radius {radius} in {element}");
        };
        assert_eq!(size_of::<T>(), element.bytes(), "arrays of {element}");
        let layout = Layout::plane_2d(ny, nx);
        let (origin, pitch) = (layout.origin(), layout.pitch());
        let from = input.as_ptr().wrapping_add(origin).cast();
        let to = output.as_mut_ptr().wrapping_add(origin).cast();
        let words = fragments.as_ptr();
        let shared_bytes = chain2d::shared_bytes(element.bytes() as u32, radius, chain, stages);
        let threads = chain2d::threads(chain);
        let config = Config { blocks, threads, shared_bytes, seed, ..LAUNCH };
        launch(name, config, memory, || {
            // SAFETY: the kernel accesses memory through `cuda_std` only, and the emulator checks
            // every such access.
            unsafe {
                kernel(from, to, words, nx, ny, pitch, stages.input, stages.ring, inner);
            };
        })
    }
}
