// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches of the 1D sweep (`kernels_gpu::line1d`).

use super::{Family, FamilyKernel, Fields, LaunchRequest, Pass, Refusal, Sample, Unit};
use crate::device::{Device, Launch, Memory, Plane, Sharing, StartOrder};
use cuda_driver::{Entry, Extents};
use kernels_gpu::layout::Layout;
use kernels_gpu::line1d::{self, UNITS};
use kernels_gpu::row_window::UNIT;
use problem::check::seams::Seams;
use problem::region::Region;
use problem::{Dtype, Error};
use std::ops::RangeInclusive;
use transform::row_operand::{RowOperand, row_operand};

/// How a sweep is spread over the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Threads of a block; whole warps.
    pub threads: u32,
    /// Blocks of the launch for each multiprocessor; where they are not all resident at once, the
    /// others follow.
    pub blocks_per_multiprocessor: u32,
    /// Whether a launch may begin before the one before it has ended. Good only where the blocks
    /// fill the multiprocessors: otherwise those of the next launch are spread unevenly.
    pub overlap: bool,
}

impl Config {
    /// What was fastest on an H200 (`docs/developers/notebook.md`): many waves of blocks, which start and end at
    /// different times.
    #[must_use]
    pub fn tuned() -> Self {
        Self { threads: 512, blocks_per_multiprocessor: 256, overlap: true }
    }
}

/// One stencil on one size of grid, ready to be launched.
pub struct Line1d {
    kernel: Entry<line1d::Parameters>,
    words: Memory,
    config: Config,
    nx: u32,
    blocks: u32,
}

impl Line1d {
    /// Uploads the operand.
    ///
    /// # Errors
    /// The driver refuses.
    ///
    /// # Panics
    /// Where the operand is not that of a 1D stencil, or of another type.
    pub fn new(
        device: &dyn Device,
        operand: &RowOperand,
        nx: u32,
        config: Config,
    ) -> Result<Self, Error> {
        assert_eq!(operand.steps, 1, "the operand of a 1D stencil");
        let element = operand.element;
        let Some(kernel) = line1d::kernel(element) else {
            panic!("line1d takes f16 and bf16, not {element}");
        };
        device.load(kernel.name(), Sharing::Any)?;
        let words = device.constants("weights", &operand.words)?;
        // No more blocks than have something to do.
        let busy = nx.div_ceil(UNIT * UNITS * (config.threads / 32));
        let blocks = (device.multiprocessors() * config.blocks_per_multiprocessor).min(busy);
        Ok(Self { kernel, words, config, nx, blocks })
    }
}

impl Pass for Line1d {
    fn launch(&self, device: &dyn Device, fields: Fields, _: Region) -> Result<(), Error> {
        let Fields { before: from, after: to } = fields;
        let layout = Layout { dims: 1, extents: [1, 1, self.nx] };
        Plane::check_pair(from, to, layout, size_of::<u16>());
        let call = self.kernel.with((from.origin(), to.origin_mut(), self.words.as_ptr(), self.nx));
        let Config { threads, overlap, .. } = self.config;
        let extents = Extents { blocks: self.blocks, threads, shared_bytes: 0 };
        let order = if overlap { StartOrder::Overlapping } else { StartOrder::After };
        // As the kernel's contract demands: two different planes of one size, in their layout, and the operand.
        device.launch(&Launch { call: &call, extents, order })
    }

    /// Of units of a warp, of warps, and of blocks.
    fn seams(&self) -> Seams {
        let warp = UNIT * UNITS;
        let sizes = [UNIT, warp, warp * (self.config.threads / 32)].map(|size| size as usize);
        sizes.into_iter().fold(Seams::none(), |seams, size| seams.every(2, size, self.nx as usize))
    }
}

/// The kernels for stencils of 1D.
pub struct Line1dFamily;

impl Family for Line1dFamily {
    fn name(&self) -> &'static str {
        "line1d"
    }

    fn about(&self) -> &'static str {
        "1D, up to 7 columns to either side"
    }

    fn unit(&self) -> Unit {
        Unit::SparseTensorCores
    }

    fn dims(&self) -> RangeInclusive<usize> {
        1..=1
    }

    fn fused(&self) -> RangeInclusive<usize> {
        1..=7
    }

    fn propose(&self, asked: &LaunchRequest) -> Result<FamilyKernel, Refusal> {
        let element = asked.element(self)?;
        let operand = row_operand(asked.fused, 0, element).map_err(Refusal::no_layout)?;
        let kernel = line1d::kernel(element).ok_or_else(|| Refusal::no_kernel(self, element))?;
        let [.., nx] = asked.extents();
        Ok(FamilyKernel::new(kernel.name(), move |device| {
            Line1d::new(device, &operand, nx, Config::tuned())
        }))
    }

    fn samples(&self) -> Vec<Sample> {
        let of = |dtype| [Sample::of(dtype, [0, 0, 7]), Sample::of(dtype, [0, 0, 1]).fused(4)];
        [Dtype::F16, Dtype::Bf16].into_iter().flat_map(of).collect()
    }
}
