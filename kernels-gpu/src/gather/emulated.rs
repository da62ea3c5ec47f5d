// SPDX-License-Identifier: MIT OR Apache-2.0
//! A launch in the emulator `cuda_sim`, with the parameters that the host gives a GPU.

use super::{Gather, call, name};
use crate::emulated::{LAUNCH, launch};
use crate::layout::Layout;
use cuda_mma::fragment::Element;
use cuda_sim::{Buffer, Config, Fault, Memory, Stats};
use transform::gather::Tile;

/// A launch of a kernel of this family.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// Element type.
    pub element: Element,
    /// The outputs of a product's column.
    pub tile: Tile,
    /// What the kernel is given.
    pub gather: Gather,
    /// Where the points of both grids lie.
    pub layout: Layout,
    /// Warps of a block that compute.
    pub warps: u32,
    /// Blocks of the launch.
    pub blocks: u32,
    /// Seed of the emulator.
    pub seed: u64,
}

impl Launch {
    /// One time step between two arrays of the element type that are laid out as in [`crate::layout`].
    ///
    /// # Errors
    /// The kernel's first mistake.
    ///
    /// # Panics
    /// With elements of another size.
    pub fn launch<T>(
        &self,
        memory: &mut Memory,
        input: Buffer<T>,
        output: Buffer<T>,
        table: Buffer<u32>,
    ) -> Result<Stats, Fault> {
        let &Self { element, tile, gather, layout, warps, blocks, seed } = self;
        assert_eq!(size_of::<T>(), element.bytes(), "arrays of {element}");
        let from = input.as_ptr().wrapping_add(layout.origin()).cast();
        let to = output.as_mut_ptr().wrapping_add(layout.origin()).cast();
        let table = table.as_ptr();
        let (threads, shared_bytes) = (32 * (warps + 1), gather.shared_bytes());
        let config = Config { blocks, threads, shared_bytes, seed, ..LAUNCH };
        launch(name(element, tile, gather.steps), config, memory, || {
            // SAFETY: the kernel accesses memory through `cuda_std` only, and the emulator checks every
            // such access.
            unsafe { call(element, tile, from, to, table, gather) };
        })
    }
}
