// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels on row windows.

use crate::half::HalfType;
use crate::layout::Layout;
use crate::line1d;
use cuda_sim::{Buffer, Config, Fault, Memory, Stats};

/// A launch of [`line1d`].
#[derive(Clone, Copy, Debug)]
pub struct Line1d {
    /// Type of the grid.
    pub element: HalfType,
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
    pub fn launch(
        &self,
        memory: &mut Memory,
        input: Buffer<u16>,
        output: Buffer<u16>,
        words: Buffer<u32>,
    ) -> Result<Stats, Fault> {
        let &Self { element, nx, blocks, threads, seed } = self;
        let (name, kernel) = line1d::kernel(element);
        let origin = Layout { dims: 1, extents: [1, 1, nx] }.origin();
        let from = input.as_ptr().wrapping_add(origin);
        let to = output.as_mut_ptr().wrapping_add(origin);
        let config = Config { blocks, threads, shared_bytes: 0, seed };
        cuda_sim::launch(name, config, memory, || {
            // SAFETY: the kernel accesses memory through `cuda_std` only, and the emulator checks
            // every such access.
            unsafe { kernel(from, to, words.as_ptr(), nx) };
        })
    }
}
