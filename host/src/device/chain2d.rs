// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches of chained sweeps (`kernels_gpu::chain2d`).

use super::occupancy::resident_blocks;
use super::{Chip, Gpu, Pass, Plane, failed, parameter, upload_words};
use crate::Error;
use crate::seams::Seams;
use cuda_driver::cust::memory::{DeviceBuffer, DeviceMemory};
use cuda_driver::{Extents, launch_overlapping};
use cuda_mma::fragment::Element;
use kernels_gpu::chain2d;
use kernels_gpu::chain2d::{Inner, Stages};
use kernels_gpu::layout::Layout;
use transform::window::Window;

/// One stencil on one size of grid, so many steps in a launch.
pub struct Chain {
    kernel: String,
    element: Element,
    radius: u32,
    chain: u32,
    shared_bytes: u32,
    fragments: DeviceBuffer<u32>,
    stages: Stages,
    inner: Inner,
    nx: u32,
    ny: u32,
    blocks: u32,
}

impl Chain {
    /// Uploads the operand, in the type of the planes, and checks that the launch fits the GPU. It is to
    /// write the points in `inner`.
    ///
    /// # Errors
    /// The driver refuses, or a block would not fit a multiprocessor.
    pub fn new(
        gpu: &Gpu,
        element: Element,
        window: &Window,
        chain: usize,
        [ny, nx]: [u32; 2],
        stages: Stages,
        inner: Inner,
    ) -> Result<Self, Error> {
        let (radius, chain) = (window.radius as u32, chain as u32);
        let bytes = chain2d::shared_bytes(element.bytes() as u32, radius, chain, stages);
        if gpu.chip() == Some(Chip::Sm80) {
            let reason = "chains need sm_90 or later, and the kernels in use are for sm_80".into();
            return Err(Error::Driver { action: "chain sweeps".into(), reason });
        }
        let kernel = format!("chain2d_{element}_r{radius}_c{chain}");
        let blocks = resident_blocks(gpu, &kernel, chain2d::threads(chain), bytes, u32::MAX)?;
        // A frame is to find room beside it.
        cuda_driver::prefer_shared_memory(&gpu.modules.function(&kernel)?)
            .map_err(failed("set a kernel's shared memory"))?;
        let fragments = upload_words(&window.encode_chained(element).words)?;
        let shared_bytes = bytes;
        Ok(Self {
            kernel,
            element,
            radius,
            chain,
            shared_bytes,
            fragments,
            stages,
            inner,
            nx,
            ny,
            blocks,
        })
    }

    /// The blocks of a launch.
    #[must_use]
    pub fn blocks(&self) -> u32 {
        self.blocks
    }
}

impl Pass for Chain {
    fn launch(&self, gpu: &Gpu, from: &Plane, to: &Plane) -> Result<(), Error> {
        let layout = Layout::plane_2d(self.ny, self.nx);
        Plane::check_pair(from, to, layout, self.element.bytes());
        let kernel = gpu.modules.function(&self.kernel)?;
        let extents = Extents {
            blocks: self.blocks,
            threads: chain2d::threads(self.chain),
            shared_bytes: self.shared_bytes,
        };
        let (input, output, words) = (from.origin(), to.origin(), self.fragments.as_raw_ptr());
        let pitch = from.layout().pitch();
        let Stages { input: input_stages, ring } = self.stages;
        let mut parameters = [
            parameter(&input),
            parameter(&output),
            parameter(&words),
            parameter(&self.nx),
            parameter(&self.ny),
            parameter(&pitch),
            parameter(&input_stages),
            parameter(&ring),
            parameter(&self.inner),
        ];
        // SAFETY: the kernel waits for the launch before it. As its contract demands: two different
        // planes of one size, in their layout; the operand of this radius; shared memory and threads
        // as it states.
        unsafe { launch_overlapping(&kernel, extents, &gpu.stream, &mut parameters) }
            .map_err(failed("launch the sweep"))
    }

    fn seams(&self) -> Seams {
        seams(self.radius, self.chain, [self.ny, self.nx], self.blocks)
    }
}

/// Of columns of tiles, and within them of what one block does and the next.
fn seams(radius: u32, chain: u32, [rows, columns]: [u32; 2], blocks: u32) -> Seams {
    let [ny, nx] = [rows, columns].map(|extent| extent as usize);
    let width = chain2d::tile_columns(chain);
    let [lead, height] = [chain2d::lead(radius, chain), chain2d::stage_rows(radius)];
    // Stages are dealt out evenly, counted down one column of tiles after another.
    let column = u64::from(lead + rows.div_ceil(height));
    let all = u64::from(columns.div_ceil(width)) * column;
    let first_row = |block: u32| {
        let stage = all * u64::from(block) / u64::from(blocks) % column;
        stage.saturating_sub(lead.into()) as usize * height as usize
    };
    let tiles = Seams::none().every(2, width as usize, nx);
    let dealt = [1, blocks / 2, blocks - 1];
    dealt.into_iter().fold(tiles, |seams, block| seams.at(1, first_row(block), ny))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seams_are_those_of_columns_and_of_what_blocks_do() {
        let seams = seams(1, 4, [10240, 10240], 132);
        assert_eq!(seams.along(2), [488, 4880, 9760]);
        // 21 columns of 2562 stages of 4 rows, of which 2 are ahead: 407.6 for each block.
        assert_eq!(seams.along(1), [4 * (407 - 2), 4 * (1281 - 2), 4 * (2154 - 2)]);
        assert_eq!(super::seams(3, 2, [7, 9], 1), Seams::none());
    }
}
