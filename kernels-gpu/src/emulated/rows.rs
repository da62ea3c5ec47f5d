// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels on row windows.

use super::{LAUNCH, launch};
use crate::layout::Layout;
use crate::{line1d, wide2d};
use cuda_mma::fragment::Element;
use cuda_sim::{Buffer, Config, Fault, Memory, Stats};

/// A launch of [`line1d`].
#[derive(Clone, Copy, Debug)]
pub struct Line1d {
    /// Type of the grid.
    pub element: Element,
    /// Columns of the grid.
    pub nx: u32,
    /// Blocks of the launch.
    pub blocks: u32,
    /// Threads of a block; whole warps.
    pub threads: u32,
    /// Seed of the emulator.
    pub seed: u64,
}

impl Line1d {
    /// One time step between two arrays that are laid out as in [`crate::layout`].
    ///
    /// # Errors
    /// The kernel's first mistake.
    ///
    /// # Panics
    /// With a type for which there is no kernel.
    pub fn launch<T>(
        &self,
        memory: &mut Memory,
        input: Buffer<T>,
        output: Buffer<T>,
        words: Buffer<u32>,
    ) -> Result<Stats, Fault> {
        let &Self { element, nx, blocks, threads, seed } = self;
        let Some((name, kernel)) = line1d::kernel(element) else {
            panic!("line1d takes f16 and bf16, not {element}");
        };
        let origin = Layout { dims: 1, extents: [1, 1, nx] }.origin();
        let from = input.as_ptr().cast::<u16>().wrapping_add(origin);
        let to = output.as_mut_ptr().cast::<u16>().wrapping_add(origin);
        let config = Config { blocks, threads, seed, ..LAUNCH };
        launch(name, config, memory, || {
            // SAFETY: the kernel accesses memory through `cuda_std` only, and the emulator checks
            // every such access.
            unsafe { kernel(from, to, words.as_ptr(), nx) };
        })
    }
}

/// A launch of [`wide2d`].
#[derive(Clone, Copy, Debug)]
pub struct Wide2d {
    /// Type of the grid.
    pub element: Element,
    /// Radius of the kernel, 1 to 7.
    pub radius: u32,
    /// Rows of the grid.
    pub ny: u32,
    /// Columns of the grid.
    pub nx: u32,
    /// Blocks of the launch.
    pub blocks: u32,
    /// Stages of the ring.
    pub stages: u32,
    /// Rows of a tile.
    pub tile_rows: u32,
    /// Seed of the emulator.
    pub seed: u64,
}

impl Wide2d {
    /// One time step between two arrays that are laid out as in [`crate::layout`].
    ///
    /// # Errors
    /// The kernel's first mistake.
    ///
    /// # Panics
    /// With a type or radius for which there is no kernel.
    pub fn launch<T>(
        &self,
        memory: &mut Memory,
        input: Buffer<T>,
        output: Buffer<T>,
        words: Buffer<u32>,
    ) -> Result<Stats, Fault> {
        let &Self { element, radius, ny, nx, blocks, stages, tile_rows, seed } = self;
        let Some((name, kernel)) = wide2d::kernel(element, radius) else {
            panic!("wide2d takes radius 1 to 7 in f16 and bf16, not {radius} in {element}");
        };
        let layout = Layout::plane_2d(ny, nx);
        let (origin, pitch) = (layout.origin(), layout.pitch());
        let from = input.as_ptr().cast::<u16>().wrapping_add(origin);
        let to = output.as_mut_ptr().cast::<u16>().wrapping_add(origin);
        let words = words.as_ptr();
        let shared_bytes = wide2d::shared_bytes(stages);
        let config = Config { blocks, threads: wide2d::THREADS, shared_bytes, seed, ..LAUNCH };
        launch(name, config, memory, || {
            // SAFETY: the kernel accesses memory through `cuda_std` only, and the emulator checks
            // every such access.
            unsafe { kernel(from, to, words, nx, ny, pitch, tile_rows, stages) };
        })
    }
}
