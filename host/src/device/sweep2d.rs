// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches of the register-window sweep (`kernels_gpu::sweep2d`).

use super::{Gpu, Pass, Plane, failed, parameter, upload_words};
use crate::Error;
use cuda_driver::cust::function::{BlockSize, Function};
use cuda_driver::cust::memory::{DeviceBuffer, DeviceMemory};
use cuda_driver::{Extents, launch_overlapping};
use kernels_gpu::sweep2d;
use transform::encode::Encoded;
use transform::fragment::Element;

/// How a sweep is spread over the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Stages of the ring in shared memory.
    pub stages: u32,
    /// Blocks on each multiprocessor.
    pub blocks_per_multiprocessor: u32,
    /// Rows of a tile.
    pub tile_rows: u32,
}

impl Config {
    /// What was fastest on an H200 (`docs/performance.md`); of tf32 about as many bytes in flight.
    #[must_use]
    pub fn tuned(element: Element, radius: usize) -> Self {
        let (stages, tile_rows) = match (element, radius) {
            (Element::F16 | Element::Bf16, 1) => (5, 26),
            (Element::F16 | Element::Bf16, 2) => (4, 26),
            (Element::F16 | Element::Bf16, _) => (4, 18),
            (Element::Tf32, 1) => (3, 26),
            (Element::Tf32, 2) => (2, 26),
            (Element::Tf32, _) => (2, 26),
        };
        Self { stages, blocks_per_multiprocessor: 2, tile_rows }
    }

    /// The same with tiles cut down until every block has one, if the grid is small. Rows are kept
    /// such that the tile's row pairs fill whole stages: `rows / 2 + radius = stages · (radius + 1)`.
    #[must_use]
    pub fn for_grid(self, radius: usize, ny: u32, nx: u32, blocks: u32) -> Self {
        let steps = radius as u32 + 1;
        let tiles = |rows: u32| ny.div_ceil(rows) * nx.div_ceil(sweep2d::TILE_COLUMNS);
        let mut tile_rows = self.tile_rows;
        while tile_rows > 2 * steps && tiles(tile_rows) < blocks {
            tile_rows -= 2 * steps;
        }
        Self { tile_rows, ..self }
    }
}

/// One stencil on one size of grid, ready to be launched.
pub struct Sweep {
    element: Element,
    radius: usize,
    fragments: DeviceBuffer<u32>,
    config: Config,
    shared_bytes: u32,
    nx: u32,
    ny: u32,
    blocks: u32,
}

impl Sweep {
    /// Uploads the operand, whose type is that of the planes, and checks that the launch fits the GPU.
    ///
    /// # Errors
    /// The driver refuses, or a block would not fit a multiprocessor.
    pub fn new(
        gpu: &Gpu,
        radius: usize,
        encoded: &Encoded,
        ny: u32,
        nx: u32,
        config: Config,
    ) -> Result<Self, Error> {
        let element = encoded.mma.element;
        let kernel = kernel(gpu, element, radius)?;
        let blocks = config.blocks_per_multiprocessor;
        let needed = sweep2d::shared_bytes(element.bytes() as u32, radius as u32, config.stages);
        let bytes = needed.max(exclusive_bytes(gpu.info().shared_bytes_per_block, blocks));
        cuda_driver::set_max_dynamic_shared_memory(&kernel, bytes)
            .map_err(failed("set a kernel's shared memory"))?;
        let resident = kernel
            .max_active_blocks_per_multiprocessor(BlockSize::x(sweep2d::THREADS), bytes as usize)
            .map_err(failed("count the blocks of a multiprocessor"))?;
        if resident == 0 {
            let reason = format!("a block of {bytes} bytes of shared memory does not fit");
            return Err(Error::Driver { action: "launch the sweep".into(), reason });
        }
        let blocks = gpu.info().multiprocessors * blocks.min(resident);
        let config = config.for_grid(radius, ny, nx, blocks);
        let fragments = upload_words(&encoded.words)?;
        Ok(Self { element, radius, fragments, config, shared_bytes: bytes, nx, ny, blocks })
    }
}

impl Pass for Sweep {
    fn launch(&self, gpu: &Gpu, from: &Plane, to: &Plane) -> Result<(), Error> {
        let kernel = kernel(gpu, self.element, self.radius)?;
        let (blocks, shared_bytes) = (self.blocks, self.shared_bytes);
        let extents = Extents { blocks, threads: sweep2d::THREADS, shared_bytes };
        let (input, output, words) = (from.origin(), to.origin(), self.fragments.as_raw_ptr());
        let pitch = from.layout().pitch();
        let Config { tile_rows, stages, .. } = self.config;
        let mut parameters = [
            parameter(&input),
            parameter(&output),
            parameter(&words),
            parameter(&self.nx),
            parameter(&self.ny),
            parameter(&pitch),
            parameter(&tile_rows),
            parameter(&stages),
        ];
        // SAFETY: the kernel waits for the launch before it. As its contract demands: two different
        // planes of one size and type, in their layout; the operand of this radius; shared memory and threads
        // as it states.
        unsafe { launch_overlapping(&kernel, extents, &gpu.stream, &mut parameters) }
            .map_err(failed("launch the sweep"))
    }
}

/// Shared memory, in bytes, with which no more than `blocks` fit a multiprocessor. Launches overlap:
/// a block of the next one must find its place only where one of this launch has ended, or the
/// blocks, which stay to the end, would be spread unevenly (r = 3: 0.73 of copy instead of 0.90).
pub(super) fn exclusive_bytes(most: u32, blocks: u32) -> u32 {
    // What the driver keeps for itself in each block.
    const RESERVED: u32 = 1024;
    ((most + RESERVED) / (blocks + 1) - RESERVED + 16).next_multiple_of(16)
}

fn kernel(gpu: &Gpu, element: Element, radius: usize) -> Result<Function<'_>, Error> {
    let name = format!("sweep2d_{element}_r{radius}");
    gpu.module.get_function(name).map_err(failed("find a kernel"))
}
