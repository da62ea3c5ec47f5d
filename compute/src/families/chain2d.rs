// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches of chained sweeps (`kernels_gpu::chain2d`).

use super::occupancy::resident_blocks;
use super::{Family, FamilyKernel, Fields, LaunchRequest, Pass, Refusal, Sample, Unit};
use crate::device::{Chip, Device, Launch, Memory, Plane, Sharing, StartOrder};
use cuda_driver::{Entry, Extents};
use cuda_mma::fragment::Element;
use kernels_gpu::boundary::Range;
use kernels_gpu::chain2d;
use kernels_gpu::chain2d::{Inner, Stages};
use kernels_gpu::layout::{CHUNK, Layout};
use kernels_gpu::product::Form;
use problem::check::seams::Seams;
use problem::region::Region;
use problem::{Dtype, Error};
use std::ops::RangeInclusive;
use transform::window::{Window, window};

/// How a launch is spread over the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Stages of the rings.
    pub stages: Stages,
    /// The most blocks on each multiprocessor; there are as many as fit.
    pub blocks_per_multiprocessor: u32,
}

impl Config {
    /// What was fastest on an H200 (`docs/developers/notebook.md`): rings of few enough stages to leave room for a
    /// rim.
    #[must_use]
    pub const fn tuned(element: Element) -> Self {
        let ring = if matches!(element, Element::Tf32) { 2 } else { 3 };
        Self { stages: Stages { input: 4, ring }, blocks_per_multiprocessor: u32::MAX }
    }
}

/// One stencil on one size of grid, so many steps in a launch.
pub struct Chain2d {
    kernel: Entry<chain2d::Parameters>,
    element: Element,
    radius: u32,
    chain: u32,
    shared_bytes: u32,
    fragments: Memory,
    stages: Stages,
    nx: u32,
    ny: u32,
    blocks: u32,
}

impl Chain2d {
    /// As [`Chain2d::of`], of sparse products.
    ///
    /// # Errors
    /// There is no such kernel, the device refuses, or a block would not fit a multiprocessor.
    pub fn new(
        device: &dyn Device,
        element: Element,
        window: &Window,
        chain: usize,
        extents: [u32; 2],
        config: Config,
    ) -> Result<Self, Error> {
        Self::of(Form::Sparse, device, element, window, chain, extents, config)
    }

    /// Uploads the operand for products of a form, in the type of the planes, and checks that the launch fits the
    /// GPU.
    ///
    /// # Errors
    /// There is no such kernel, the device refuses, or a block would not fit a multiprocessor.
    pub fn of(
        form: Form,
        device: &dyn Device,
        element: Element,
        window: &Window,
        chain: usize,
        [ny, nx]: [u32; 2],
        config: Config,
    ) -> Result<Self, Error> {
        let Config { stages, blocks_per_multiprocessor: most } = config;
        let (radius, chain) = (window.radius as u32, chain as u32);
        let bytes = chain2d::shared_bytes(element.bytes() as u32, radius, chain, stages);
        if device.chip() == Some(Chip::Sm80) {
            let reason = "chains need sm_90 or later, and the kernels in use are for sm_80".into();
            return Err(Error::Driver { action: "chain sweeps".into(), reason });
        }
        let Some(kernel) = chain2d::kernel(form, element, radius, chain) else {
            let reason = format!("no kernel chains {chain} steps of radius {radius} in {element}");
            return Err(Error::Driver { action: "chain sweeps".into(), reason });
        };
        let blocks = resident_blocks(device, &kernel, chain2d::threads(chain), bytes, most)?;
        // A rim is to find room beside it.
        device.load(kernel.name(), Sharing::Beside)?;
        let operand = window.encode_chained(element);
        let words = if form == Form::Dense { operand.dense() } else { operand.words };
        let fragments = device.constants("weights", &words)?;
        let shared_bytes = bytes;
        Ok(Self { kernel, element, radius, chain, shared_bytes, fragments, stages, nx, ny, blocks })
    }

    /// The blocks of a launch.
    #[must_use]
    pub fn blocks(&self) -> u32 {
        self.blocks
    }
}

/// What a launch is to write of a grid: the whole chunks of columns in a region, whose first one begins it. Columns at
/// its end that fill no chunk are left to the rim.
fn inner(region: Region) -> Inner {
    let range =
        |axis: usize| Range { low: region.low[axis] as i32, high: region.high[axis] as i32 };
    let (rows, mut columns) = (range(1), range(2));
    if rows.is_empty() || columns.is_empty() {
        return Inner::all(0, 0);
    }
    assert!(columns.low % CHUNK as i32 == 0, "the region begins with a chunk");
    columns.high -= columns.high % CHUNK as i32;
    Inner { rows, columns }
}

impl Pass for Chain2d {
    fn launch(&self, device: &dyn Device, fields: Fields, region: Region) -> Result<(), Error> {
        let Fields { before: from, after: to } = fields;
        let layout = Layout::plane_2d(self.ny, self.nx);
        Plane::check_pair(from, to, layout, self.element.bytes());
        let extents = Extents {
            blocks: self.blocks,
            threads: chain2d::threads(self.chain),
            shared_bytes: self.shared_bytes,
        };
        let (stages, inner) = (self.stages, inner(region));
        let launch = chain2d::Chain2dLaunch { grid: from.layout().grid_2d(), stages, inner };
        let fragments = self.fragments.as_ptr();
        let call = self.kernel.with((from.origin(), to.origin_mut(), fragments, launch));
        // As the kernel's contract demands: two different planes of one size, in their layout; the operand of
        // this radius; shared memory and threads as it states.
        device.launch(&Launch { call: &call, extents, order: StartOrder::Overlapping })
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

/// Several steps of small stencils of 2D in one launch.
pub struct Chain2dFamily(
    /// Of which products: dense ones are there to be compared with.
    pub Form,
);

impl Family for Chain2dFamily {
    fn name(&self) -> &'static str {
        match self.0 {
            Form::Sparse => "chain2d",
            Form::Dense => "dense_chain2d",
        }
    }

    fn about(&self) -> &'static str {
        match self.0 {
            Form::Sparse => "2D, radius up to 3, 2 to 4 sweeps chained on chip",
            Form::Dense => {
                "2D, radius up to 3, chained: chain2d of dense products, to compare with"
            }
        }
    }

    fn unit(&self) -> Unit {
        Unit::of(self.0)
    }

    fn only_if_asked(&self) -> bool {
        self.0 == Form::Dense
    }

    fn dims(&self) -> RangeInclusive<usize> {
        2..=2
    }

    fn fused(&self) -> RangeInclusive<usize> {
        1..=7
    }

    fn chained(&self) -> RangeInclusive<usize> {
        2..=4
    }

    fn propose(&self, asked: &LaunchRequest) -> Result<FamilyKernel, Refusal> {
        let (form, element) = (self.0, asked.element(self)?);
        let window = window(asked.fused).map_err(Refusal::no_layout)?;
        let (radius, chain) = (window.radius as u32, asked.chain);
        let kernel = chain2d::kernel(form, element, radius, chain as u32);
        let kernel = kernel.ok_or_else(|| asked.no_chain())?;
        let ([_, ny, nx], config) = (asked.extents(), Config::tuned(element));
        let prepare = move |device: &dyn Device| {
            Chain2d::of(form, device, element, &window, chain, [ny, nx], config)
        };
        let bytes = element.bytes() as u32;
        Ok(FamilyKernel {
            chip: Chip::Sm90,
            shared_bytes: chain2d::shared_bytes(bytes, radius, chain as u32, config.stages),
            // As many blocks of few steps as registers leave room for.
            beside: Some(if chain > 2 { 1 } else { 2 }),
            ..FamilyKernel::new(kernel.name(), prepare)
        })
    }

    fn samples(&self) -> Vec<Sample> {
        let mut samples = Vec::new();
        for (dtype, element) in
            [(Dtype::F16, Element::F16), (Dtype::Bf16, Element::Bf16), (Dtype::Tf32, Element::Tf32)]
        {
            for (radius, chain) in
                (1..=3).flat_map(|radius| self.chained().map(move |n| (radius, n)))
            {
                if chain2d::kernel(self.0, element, radius as u32, chain as u32).is_some() {
                    samples.push(Sample::of(dtype, [0, radius, radius]).chained(chain));
                }
            }
        }
        samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_writes_its_region_in_whole_chunks() {
        let region = |low, high| Region { low, high };
        let Inner { rows, columns } = inner(region([0, 0, 0], [1, 33, 65]));
        assert_eq!(([rows.low, rows.high], [columns.low, columns.high]), ([0, 33], [0, 64]));
        let Inner { columns, .. } = inner(region([0, 4, 8], [1, 20, 48]));
        assert_eq!([columns.low, columns.high], [8, 48]);
        assert!(inner(region([0, 4, 8], [1, 4, 48])).rows.is_empty());
    }

    #[test]
    fn seams_are_those_of_columns_and_of_what_blocks_do() {
        let seams = seams(1, 4, [10240, 10240], 132);
        assert_eq!(seams.along(2), [488, 4880, 9760]);
        // 21 columns of 2562 stages of 4 rows, of which 2 are ahead: 407.6 for each block.
        assert_eq!(seams.along(1), [4 * (407 - 2), 4 * (1281 - 2), 4 * (2154 - 2)]);
        assert_eq!(super::seams(3, 2, [7, 9], 1), Seams::none());
    }
}
