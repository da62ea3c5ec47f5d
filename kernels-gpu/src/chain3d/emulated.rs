// SPDX-License-Identifier: MIT OR Apache-2.0
//! A launch in the emulator `cuda_sim`, with the parameters that the host gives a GPU.

use super::{Kernel, Tile};
use crate::emulated::{LAUNCH, launch};
use crate::layout::Layout;
use cuda_sim::{Buffer, Config, Fault, Memory, Stats, TensorMap};

/// A launch of one of [`super::KERNELS`].
#[derive(Clone, Copy, Debug)]
pub struct Chain3d {
    /// The kernel.
    pub kernel: Kernel,
    /// Extents of the grid (z, y, x).
    pub extents: [u32; 3],
    /// The warps of a block.
    pub tile: Tile,
    /// Tiles that are marched through as a whole.
    pub whole: u32,
    /// Output planes of a march through the others.
    pub march_planes: u32,
    /// Seed of the emulator.
    pub seed: u64,
}

impl Chain3d {
    /// Where the points of both grids lie.
    #[must_use]
    pub fn layout(&self) -> Layout {
        Layout { dims: 3, extents: self.extents }
    }

    /// A launch between two arrays that are laid out as in [`crate::layout`].
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
        let &Self { kernel, extents: [nz, ny, nx], tile, whole, march_planes, .. } = self;
        let layout = self.layout();
        let (origin, pitch, plane_rows) = (layout.origin(), layout.pitch(), layout.plane_rows());
        let [box_words, box_rows] = tile.input_box();
        let map = TensorMap {
            address: input.as_ptr().cast::<u16>().wrapping_add(origin).cast(),
            element_bytes: 4,
            dims: vec![nx.div_ceil(2).into(), (nz * plane_rows).into()],
            strides: vec![u64::from(pitch) * 2],
            box_dims: vec![box_words, box_rows],
        };
        let from = memory.tensor_map(map).expect("the grid lies in its array");
        let to = output.as_mut_ptr().cast::<u16>().wrapping_add(origin);
        let words = fragments.as_ptr();
        let config = Config {
            blocks: tile.blocks(kernel.steps, self.extents, whole, march_planes),
            threads: tile.threads(),
            shared_bytes: tile.shared_bytes(kernel.steps),
            seed: self.seed,
            ..LAUNCH
        };
        let Tile { across, down, .. } = tile;
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
                    whole,
                    march_planes,
                );
            };
        })
    }
}
