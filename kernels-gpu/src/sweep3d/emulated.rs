// SPDX-License-Identifier: MIT OR Apache-2.0
//! A launch in the emulator `cuda_sim`, with the parameters that the host gives a GPU.

use super::{Kernel, Tile};
use crate::emulated::{LAUNCH, launch};
use crate::layout::Layout;
use cuda_sim::{Buffer, Config, Fault, Memory, Stats};

/// A launch of one of [`super::KERNELS`].
#[derive(Clone, Copy, Debug)]
pub struct Sweep3d {
    /// The kernel.
    pub kernel: Kernel,
    /// Extents of the grid (z, y, x).
    pub extents: [u32; 3],
    /// The warps of a block.
    pub tile: Tile,
    /// Warps that copy.
    pub producers: u32,
    /// Output planes of a march.
    pub march_planes: u32,
    /// Stages of the ring.
    pub stages: u32,
    /// Whether marches start with their last planes.
    pub upwards: bool,
    /// Seed of the emulator.
    pub seed: u64,
}

impl Sweep3d {
    /// Where the points of both grids lie.
    #[must_use]
    pub fn layout(&self) -> Layout {
        Layout { dims: 3, extents: self.extents }
    }

    /// One time step between two arrays that are laid out as in [`crate::layout`].
    ///
    /// # Errors
    /// The kernel's first mistake.
    pub fn launch<T>(
        &self,
        memory: &mut Memory,
        input: Buffer<T>,
        output: Buffer<T>,
        fragments: Buffer<u32>,
    ) -> Result<Stats, Fault> {
        let &Self {
            kernel,
            extents: [nz, ny, nx],
            tile,
            producers,
            march_planes,
            stages,
            upwards,
            ..
        } = self;
        let layout = self.layout();
        let (origin, pitch, plane_rows) = (layout.origin(), layout.pitch(), layout.plane_rows());
        let from = input.as_ptr().cast::<u16>().wrapping_add(origin);
        let to = output.as_mut_ptr().cast::<u16>().wrapping_add(origin);
        let words = fragments.as_ptr();
        let config = Config {
            blocks: tile.marches(self.extents, march_planes).iter().product(),
            threads: tile.threads(producers),
            shared_bytes: tile.shared_bytes(kernel.radius, stages),
            seed: self.seed,
            ..LAUNCH
        };
        let Tile { across, down } = tile;
        launch(kernel.name, config, memory, || {
            // SAFETY: the kernel accesses memory through `cuda_std` only, and the emulator checks
            // every such access.
            unsafe {
                (kernel.entry)(
                    from,
                    to,
                    words,
                    nx,
                    ny,
                    nz,
                    pitch,
                    plane_rows,
                    across,
                    down,
                    march_planes,
                    stages,
                    upwards.into(),
                );
            };
        })
    }
}
