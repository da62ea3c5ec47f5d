// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches of the sweep of wide 2D stencils (`kernels_gpu::wide2d`).

use super::occupancy::{exclusive_bytes, resident_blocks};
use super::{Family, FamilyKernel, Fields, LaunchRequest, Pass, Refusal, Sample, Unit};
use crate::device::{Device, Launch, Memory, Plane, StartOrder};
use cuda_driver::{Entry, Extents};
use cuda_mma::fragment::Element;
use kernels_gpu::layout::Layout;
use kernels_gpu::product::Form;
use kernels_gpu::row_window::UNIT;
use kernels_gpu::wide2d::{self, MOST_RADIUS, STAGE_ROWS, TILE_COLUMNS};
use problem::check::seams::Seams;
use problem::region::Region;
use problem::{Dtype, Error};
use std::ops::RangeInclusive;
use transform::Stencil;
use transform::row_operand::{NoRowOperand, RowOperand, row_operand};

/// How a sweep is spread over the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Stages of the ring in shared memory; each holds [`STAGE_ROWS`] rows, 8.4 KB.
    pub stages: u32,
    /// Blocks on each multiprocessor; only up to radius 1 do two fit.
    pub blocks_per_multiprocessor: u32,
    /// Rows of a tile; [`best_tile_rows`] where none are given.
    pub tile_rows: Option<u32>,
}

impl Config {
    /// What was fastest on an H200 (`docs/developers/notebook.md`): one block with a ring of 50 KB on each
    /// multiprocessor.
    #[must_use]
    pub fn tuned() -> Self {
        Self { stages: 6, blocks_per_multiprocessor: 1, tile_rows: None }
    }
}

/// The height of a tile that lets the busiest block finish first. Besides its own rows, a tile costs
/// those of the halo above and below, and is copied in whole stages.
#[must_use]
pub fn best_tile_rows(radius: u32, ny: u32, nx: u32, blocks: u32) -> u32 {
    let across = nx.div_ceil(TILE_COLUMNS);
    let stages = |rows: u32| (rows + 2 * radius).div_ceil(STAGE_ROWS);
    let cost = |rows: u32| (across * ny.div_ceil(rows)).div_ceil(blocks) * stages(rows);
    // Of tiles that cost the same, the tallest.
    (1..=ny).rev().min_by_key(|&rows| cost(rows)).unwrap_or(1)
}

/// The operand of a 2D stencil for these kernels.
///
/// # Errors
/// A stencil that reaches too far, or is of another dimension.
pub fn operand(stencil: &Stencil, element: Element) -> Result<RowOperand, NoRowOperand> {
    let [_, rows, _] = stencil.radii();
    let radius = rows.clamp(1, MOST_RADIUS as usize);
    row_operand(stencil, radius, element)
}

/// One stencil on one size of grid, ready to be launched.
pub struct Wide {
    kernel: Entry<wide2d::Parameters>,
    words: Memory,
    stages: u32,
    tile_rows: u32,
    shared_bytes: u32,
    threads: u32,
    nx: u32,
    ny: u32,
    blocks: u32,
}

impl Wide {
    /// As [`Wide::of`], of sparse products.
    ///
    /// # Errors
    /// The device refuses, or a block would not fit a multiprocessor.
    ///
    /// # Panics
    /// Where there is no kernel for the operand.
    pub fn new(
        device: &dyn Device,
        operand: &RowOperand,
        ny: u32,
        nx: u32,
        config: Config,
    ) -> Result<Self, Error> {
        Self::of(Form::Sparse, device, operand, [ny, nx], config)
    }

    /// Uploads the operand for products of a form and checks that the launch fits the GPU.
    ///
    /// # Errors
    /// The device refuses, or a block would not fit a multiprocessor.
    ///
    /// # Panics
    /// Where there is no kernel for the form and the operand.
    pub fn of(
        form: Form,
        device: &dyn Device,
        operand: &RowOperand,
        [ny, nx]: [u32; 2],
        config: Config,
    ) -> Result<Self, Error> {
        let radius = operand.steps as u32 / 2;
        let element = operand.element;
        let Some(kernel) = wide2d::kernel(form, element, radius) else {
            panic!("there is no {form:?} kernel of radius {radius} in {element}");
        };
        let Config { stages, blocks_per_multiprocessor: blocks, tile_rows } = config;
        let threads = wide2d::threads(form, radius);
        let needed = wide2d::shared_bytes(stages);
        let bytes = needed.max(exclusive_bytes(device, blocks));
        let blocks = resident_blocks(device, &kernel, threads, bytes, blocks)?;
        let tile_rows = tile_rows.unwrap_or_else(|| best_tile_rows(radius, ny, nx, blocks));
        let words = match form {
            Form::Sparse => device.constants("weights", &operand.words)?,
            Form::Dense => device.constants("weights", &operand.dense())?,
        };
        Ok(Self { kernel, words, stages, tile_rows, shared_bytes: bytes, threads, nx, ny, blocks })
    }
}

impl Pass for Wide {
    fn launch(&self, device: &dyn Device, fields: Fields, _: Region) -> Result<(), Error> {
        let Fields { before: from, after: to } = fields;
        Plane::check_pair(from, to, Layout::plane_2d(self.ny, self.nx), size_of::<u16>());
        let (blocks, shared_bytes) = (self.blocks, self.shared_bytes);
        let extents = Extents { blocks, threads: self.threads, shared_bytes };
        let (tile_rows, stages) = (self.tile_rows, self.stages);
        let launch = wide2d::Wide2dLaunch { grid: from.layout().grid_2d(), tile_rows, stages };
        let words = self.words.as_ptr();
        let call = self.kernel.with((from.origin(), to.origin_mut(), words, launch));
        // As the kernel's contract demands: two different planes of one size, in their layout; the operand of
        // this radius; shared memory and threads as it states.
        device.launch(&Launch { call: &call, extents, order: StartOrder::Overlapping })
    }

    /// Of tiles, and of their warps.
    fn seams(&self) -> Seams {
        let [ny, nx, tile_rows] = [self.ny, self.nx, self.tile_rows].map(|extent| extent as usize);
        let rows = Seams::none().every(1, tile_rows, ny).every(1, STAGE_ROWS as usize, ny);
        rows.every(2, TILE_COLUMNS as usize, nx).every(2, UNIT as usize, nx)
    }
}

/// Wide stencils of 2D.
pub struct Wide2dFamily(
    /// Of which products: dense ones are there to be compared with.
    pub Form,
);

impl Family for Wide2dFamily {
    fn name(&self) -> &'static str {
        match self.0 {
            Form::Sparse => "wide2d",
            Form::Dense => "dense_wide2d",
        }
    }

    fn about(&self) -> &'static str {
        match self.0 {
            Form::Sparse => "2D, up to 7 rows and columns to either side",
            Form::Dense => {
                "2D, up to 7 rows and columns to either side: wide2d of dense products, to compare with"
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

    fn propose(&self, asked: &LaunchRequest) -> Result<FamilyKernel, Refusal> {
        let (form, element) = (self.0, asked.element(self)?);
        let operand = operand(asked.fused, element).map_err(Refusal::no_layout)?;
        let radius = operand.steps as u32 / 2;
        let kernel = wide2d::kernel(form, element, radius).ok_or_else(|| {
            Refusal::Stencil(format!(
                "{} has no kernel for {element} of {radius} rows to either side",
                self.name()
            ))
        })?;
        let ([_, ny, nx], config) = (asked.extents(), Config::tuned());
        let prepare = move |device: &dyn Device| Wide::of(form, device, &operand, [ny, nx], config);
        let shared_bytes = wide2d::shared_bytes(config.stages);
        Ok(FamilyKernel { shared_bytes, ..FamilyKernel::new(kernel.name(), prepare) })
    }

    fn samples(&self) -> Vec<Sample> {
        let mut samples = Vec::new();
        for (dtype, element) in [(Dtype::F16, Element::F16), (Dtype::Bf16, Element::Bf16)] {
            let exists = |radius: &u32| wide2d::kernel(self.0, element, *radius).is_some();
            let of = |radius| Sample::of(dtype, [0, radius as usize, 7]);
            samples.extend((1..=MOST_RADIUS).filter(exists).map(of));
        }
        samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_keep_all_blocks_busy_with_the_least_halo() {
        // 10 tiles across, 13 down: 130 of 132 blocks, 201 stages each.
        assert_eq!(best_tile_rows(7, 10240, 10240, 132), 790);
        // A grid of one tile across is cut into as many as there are blocks.
        assert_eq!(best_tile_rows(4, 1024, 1024, 128), 8);
        assert_eq!(best_tile_rows(7, 1, 1, 132), 1);
    }

    #[test]
    fn a_kernel_is_chosen_by_the_rows() {
        let find = |name| transform::catalogue::find(name).unwrap();
        let steps = |name| operand(&find(name), Element::Bf16).map(|operand| operand.steps);
        assert_eq!(steps("box2d1r"), Ok(3));
        assert_eq!(steps("star2d7r"), Ok(15));
        assert!(operand(&find("box2d8r"), Element::F16).is_err());
    }
}
