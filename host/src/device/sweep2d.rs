// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches of the register-window sweep (`kernels_gpu::sweep2d`).

use super::occupancy::{exclusive_bytes, resident_blocks};
use super::{Gpu, Pass, Plane, failed, parameter, upload_words};
use crate::Error;
use cuda_driver::cust::memory::{DeviceBuffer, DeviceMemory};
use cuda_driver::{Extents, launch_overlapping};
use kernels_gpu::layout::Layout;
use kernels_gpu::sweep2d::{self, Kernels};
use std::cell::Cell;
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
            (Element::Tf32, 1) => (3, 18),
            (Element::Tf32, 2) => (2, 26),
            (Element::Tf32, _) => (2, 18),
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
    /// As many as run at once: those of a launch of several steps wait for each other.
    blocks: u32,
    /// A counter for each row of tiles: finished tiles of all steps but the last ones of launches.
    progress: DeviceBuffer<u32>,
    /// What all counters hold after the launches queued so far; they wrap around.
    counted: Cell<u32>,
    /// Steps of a band, and rows of tiles from one to the next (`kernels_gpu::progress::Order`).
    bands: (u32, u32),
    /// Whether a launch takes many steps where there are many.
    many: bool,
}

/// Bytes of a grid up to which one launch of many steps was faster on an H200 than many launches: its
/// waits cost a part of each tile, a launch costs some 3 µs.
const SMALL: usize = 16 << 20;

/// The most steps of a launch: times the tiles in a row they are less than 2^31.
const MOST_STEPS: usize = 1000;

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
        let kernels = kernels(element, radius);
        let blocks = config.blocks_per_multiprocessor;
        let needed = sweep2d::shared_bytes(element.bytes() as u32, radius as u32, config.stages);
        let bytes = needed.max(exclusive_bytes(gpu, blocks));
        let resident =
            |name, many| resident_blocks(gpu, name, sweep2d::threads(many), bytes, blocks);
        let blocks = resident(kernels.one.0, false)?.min(resident(kernels.many.0, true)?);
        let config = config.for_grid(radius, ny, nx, blocks);
        let rows = ny.div_ceil(config.tile_rows);
        let small = nx as usize * ny as usize * element.bytes() <= SMALL;
        Ok(Self {
            element,
            radius,
            fragments: upload_words(&encoded.words)?,
            config,
            shared_bytes: bytes,
            nx,
            ny,
            blocks: dealing_evenly(blocks, rows, nx),
            progress: upload_words(&vec![0; rows as usize])?,
            counted: Cell::new(0),
            bands: (1, 0),
            many: small,
        })
    }

    /// The same, taking many steps in a launch where there are many, so many of them together, each
    /// `lag` rows of tiles behind the one before it, or as few as can be. Without a `lag`, behind what
    /// most blocks are at work on.
    #[must_use]
    pub fn in_bands(self, depth: u32, lag: Option<u32>) -> Self {
        let reach = (self.radius as u32).div_ceil(self.config.tile_rows);
        let columns = self.nx.div_ceil(sweep2d::TILE_COLUMNS);
        let at_work = (3 * self.blocks).div_ceil(2 * depth * columns);
        let lag = lag.unwrap_or(reach + at_work).max(reach + 1);
        Self { bands: (depth, lag), many: true, ..self }
    }

    fn check(&self, from: &Plane, to: &Plane) {
        Plane::check_pair(from, to, Layout::plane_2d(self.ny, self.nx), self.element.bytes());
    }

    /// Queues one launch of several time steps, which ends in `planes[steps % 2]`.
    fn launch_many(&self, gpu: &Gpu, planes: [&Plane; 2], steps: u32) -> Result<(), Error> {
        let [from, to] = planes;
        self.check(from, to);
        let kernel = gpu.modules.function(kernels(self.element, self.radius).many.0)?;
        let (blocks, shared_bytes) = (self.blocks, self.shared_bytes);
        let extents = Extents { blocks, threads: sweep2d::threads(true), shared_bytes };
        let (input, output, words) = (from.origin(), to.origin(), self.fragments.as_raw_ptr());
        let (progress, start) = (self.progress.as_raw_ptr(), self.counted.get());
        let (depth, lag) = self.bands;
        let pitch = from.layout().pitch();
        let Config { tile_rows, stages, .. } = self.config;
        let mut parameters = [
            parameter(&input),
            parameter(&output),
            parameter(&words),
            parameter(&progress),
            parameter(&start),
            parameter(&steps),
            parameter(&depth),
            parameter(&lag),
            parameter(&self.nx),
            parameter(&self.ny),
            parameter(&pitch),
            parameter(&tile_rows),
            parameter(&stages),
        ];
        // SAFETY: the kernel waits for the launch before it. As its contract demands: two different
        // planes of one size and type, in their layout; the operand of this radius; shared memory and
        // threads as it states; blocks that run at once, and counters that hold `start` by then.
        unsafe { launch_overlapping(&kernel, extents, &gpu.stream, &mut parameters) }
            .map_err(failed("launch the sweep"))?;
        let counted = (steps - 1) * self.nx.div_ceil(sweep2d::TILE_COLUMNS);
        self.counted.set(start.wrapping_add(counted));
        Ok(())
    }
}

impl Pass for Sweep {
    fn launch(&self, gpu: &Gpu, from: &Plane, to: &Plane) -> Result<(), Error> {
        self.check(from, to);
        let kernel = gpu.modules.function(kernels(self.element, self.radius).one.0)?;
        let (blocks, shared_bytes) = (self.blocks, self.shared_bytes);
        let extents = Extents { blocks, threads: sweep2d::threads(false), shared_bytes };
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
        // SAFETY: as above, but for the counters.
        unsafe { launch_overlapping(&kernel, extents, &gpu.stream, &mut parameters) }
            .map_err(failed("launch the sweep"))
    }

    fn repeat(&self, gpu: &Gpu, planes: [&Plane; 2], count: usize) -> Result<(), Error> {
        let most = if self.many { MOST_STEPS } else { 1 };
        for done in (0..count).step_by(most) {
            let [from, to] = [planes[done % 2], planes[(done + 1) % 2]];
            match most.min(count - done) {
                1 => self.launch(gpu, from, to)?,
                steps => self.launch_many(gpu, [from, to], steps as u32)?,
            }
        }
        Ok(())
    }
}

/// How many blocks to launch of those that fit the GPU at once. No more than there are tiles in a step;
/// and where those of the last column are narrow, so many that all blocks take equally many of them.
fn dealing_evenly(most: u32, rows: u32, nx: u32) -> u32 {
    let columns = nx.div_ceil(sweep2d::TILE_COLUMNS);
    if rows * columns <= most || nx.is_multiple_of(sweep2d::TILE_COLUMNS) {
        return most.min(rows * columns);
    }
    let divides = |n: u32, blocks: u32| columns.is_multiple_of(n) && blocks.is_multiple_of(n);
    let meets_all = |&blocks: &u32| !(2..=columns).any(|n| divides(n, blocks));
    (1..=most).rev().find(meets_all).expect("1 has no other divisor")
}

fn kernels(element: Element, radius: usize) -> Kernels {
    sweep2d::kernels(element, radius as u32).expect("a radius from 1 to 3")
}

#[cfg(test)]
mod tests {
    use super::dealing_evenly;

    #[test]
    fn every_block_has_a_tile_or_meets_every_column() {
        assert_eq!(dealing_evenly(264, 394, 10240), 264);
        assert_eq!(dealing_evenly(264, 394, 10000), 263);
        assert_eq!(dealing_evenly(264, 400, 700), 263);
        assert_eq!(dealing_evenly(264, 400, 500), 264);
        assert_eq!(dealing_evenly(264, 3, 1024), 6);
        assert_eq!(dealing_evenly(264, 3, 1000), 6);
    }
}
