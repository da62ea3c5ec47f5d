// SPDX-License-Identifier: MIT OR Apache-2.0
//! The launches of a schedule in the emulator.

use crate::device::Limits;
use crate::device::frame::Plan;
use crate::device::gather;
use crate::device::plane::layout;
use crate::device::sweep2d::Config;
use crate::device::wide2d::best_tile_rows;
use crate::device::{chain3d, sweep3d};
use crate::engine::Job;
use crate::engine::sparse::kernels::{Kernel, chain_stages};
use crate::engine::sparse::schedule::Schedule;
use crate::{Dtype, Error};
use cuda_sim::{Buffer, Memory};
use kernels_gpu::chain3d::emulated::Chain3d;
use kernels_gpu::emulated::frame::{self, kernel_bf16, kernel_f16, kernel_f32};
use kernels_gpu::emulated::rows::{Line1d, Wide2d};
use kernels_gpu::emulated::{Chain2d, Steps, Sweep2d};
use kernels_gpu::gather::emulated as gather_emulated;
use kernels_gpu::sweep3d::emulated::Sweep3d;
use kernels_gpu::sweep3d::kernel;

/// Blocks of a launch: few, so that each takes several tiles even of a small grid.
const BLOCKS: u32 = 4;

/// Threads of a block of the 1D sweep.
const THREADS: u32 = 64;

/// Stages of the ring of a wide sweep.
const STAGES: u32 = 4;

/// What advances the grid by some time steps: a product, and the points that it gets wrong.
pub struct Advance {
    /// Time steps.
    pub steps: usize,
    kernel: Kernel,
    fragments: Buffer<u32>,
    /// Of a launch of a sweep.
    one_step: Steps,
    frame: Option<Frame>,
}

struct Frame {
    plan: Plan,
    boxes: Buffer<u32>,
    taps: Buffer<u32>,
}

impl Advance {
    /// Puts the tables into the emulated GPU's memory.
    ///
    /// # Errors
    /// The frame does not fit shared memory.
    ///
    /// # Panics
    /// With a schedule that is not one of the job's.
    pub fn new(memory: &mut Memory, job: &Job, schedule: &Schedule) -> Result<Self, Error> {
        let fused = transform::fuse::fuse(&job.stencil, schedule.fuse).expect("was fused before");
        let words = schedule.kernel.words(&job.dtype.round_weights(&fused), job.shape);
        let steps = schedule.steps();
        let stencil = job.dtype.round_weights(&job.stencil);
        let room = schedule.kernel.room(job.shape, Limits::H200.shared_bytes);
        let plan = schedule
            .frame(&stencil, job, room)
            .map_err(|reason| Error::Unsupported { engine: "emulate", reason })?;
        let frame = plan.map(|plan| {
            let boxes = memory.input("boxes", &plan.boxes);
            let taps = memory.input("neighbours", &plan.taps);
            Frame { plan, boxes, taps }
        });
        let fragments = memory.input("fragments", &words);
        let one_step = Steps::one(memory);
        Ok(Self { steps, kernel: schedule.kernel, fragments, one_step, frame })
    }

    /// Advances the grid, in an interleaving of its own for every seed.
    ///
    /// # Errors
    /// A kernel's mistake.
    ///
    /// # Panics
    /// Where the planes are not of the job's type.
    pub fn launch<T>(
        &self,
        job: &Job,
        memory: &mut Memory,
        [input, output]: [Buffer<T>; 2],
        seed: u64,
    ) -> Result<(), Error> {
        let [_, ny, nx] = job.shape.extents().map(|extent| extent as u32);
        let blocks = BLOCKS;
        match self.kernel {
            Kernel::Line1d { element } => {
                let launch = Line1d { element, nx, blocks, threads: THREADS, seed };
                launch.launch(memory, input, output, self.fragments)?;
            }
            Kernel::Wide2d { element, radius } => {
                let radius = radius as u32;
                let (stages, tile_rows) = (STAGES, best_tile_rows(radius, ny, nx, BLOCKS));
                let launch = Wide2d { element, radius, ny, nx, blocks, stages, tile_rows, seed };
                launch.launch(memory, input, output, self.fragments)?;
            }
            Kernel::Sweep2d { factors, radius } => {
                let config = Config::tuned(factors, radius).for_grid(radius, ny, nx, BLOCKS);
                let Config { stages, tile_rows, .. } = config;
                let radius = radius as u32;
                let launch = Sweep2d { factors, radius, ny, nx, blocks, stages, tile_rows, seed };
                launch.launch(memory, input, output, self.fragments, self.one_step)?;
            }
            Kernel::Sweep3d { element, radius, reach } => {
                let extents = job.shape.extents().map(|extent| extent as u32);
                let config = sweep3d::Config::tuned(radius as u32).for_grid(extents);
                let march_planes = config.best_march(radius as u32, extents, BLOCKS);
                let sweep3d::Config { tile, stages, producers, .. } = config;
                let kernel = *kernel(&element.to_string(), radius as u32, reach)
                    .expect("the schedule has kernels that there are");
                // As on a GPU, up to the order in which the two grids lie.
                let upwards = false;
                let launch = Sweep3d {
                    kernel,
                    extents,
                    tile,
                    producers,
                    march_planes,
                    stages,
                    upwards,
                    seed,
                };
                launch.launch(memory, input, output, self.fragments)?;
            }
            Kernel::Gather { footprint, steps, .. } => {
                let config =
                    gather::Config::tuned(&footprint, steps, job.shape, Limits::H200.shared_bytes);
                let (element, tile, warps) = (footprint.element, footprint.tile, config.warps);
                let gather = config.launch(&footprint, steps, job.shape);
                let gather = gather::with_best_march(gather, &footprint, blocks);
                let layout = layout(job.shape);
                let launch =
                    gather_emulated::Launch { element, tile, gather, layout, warps, blocks, seed };
                launch.launch(memory, input, output, self.fragments)?;
            }
            Kernel::Chain3d { element, chain } => {
                let extents = job.shape.extents().map(|extent| extent as u32);
                let kernel = kernels_gpu::chain3d::kernel(&element.to_string(), chain as u32)
                    .expect("the schedule has kernels that there are");
                let config = chain3d::Config::tuned(kernel).for_grid(kernel, extents);
                let [whole, march_planes] = config.best_marches(kernel, extents, BLOCKS);
                let (kernel, tile) = (*kernel, config.tile);
                let launch = Chain3d { kernel, extents, tile, whole, march_planes, seed };
                launch.launch(memory, input, output, self.fragments)?;
            }
            Kernel::Chain2d { element, radius, chain } => {
                let (radius, chain) = (radius as u32, chain as u32);
                let stages = chain_stages(element);
                let inner = Plan::inner(self.frame.as_ref().map(|frame| &frame.plan), ny, nx);
                let launch =
                    Chain2d { element, radius, chain, ny, nx, blocks, stages, inner, seed };
                launch.launch(memory, input, output, self.fragments)?;
            }
        }
        if let Some(frame) = &self.frame {
            let planes = [input, output];
            match job.dtype {
                Dtype::F16 => {
                    let planes = planes.map(Buffer::cast);
                    frame.launch(job, memory, kernel_f16, planes, seed)
                }
                Dtype::Bf16 => {
                    let planes = planes.map(Buffer::cast);
                    frame.launch(job, memory, kernel_bf16, planes, seed)
                }
                _ => {
                    let planes = planes.map(Buffer::cast);
                    frame.launch(job, memory, kernel_f32, planes, seed)
                }
            }?;
        }
        Ok(())
    }
}

impl Frame {
    fn launch<S>(
        &self,
        job: &Job,
        memory: &mut Memory,
        kernel: impl Fn(Option<(usize, usize)>) -> (&'static str, frame::Kernel<S, f32>),
        planes: [Buffer<S>; 2],
        seed: u64,
    ) -> Result<(), Error> {
        let Self { plan, boxes, taps } = self;
        let frame = kernels_gpu::frame::Frame {
            domain: plan.frame.domain.map(|value| value as f32),
            steps: plan.frame.steps,
            taps: plan.frame.taps,
            again: plan.frame.again,
        };
        let kernel = kernel(plan.dense);
        let (layout, shared_bytes) = (layout(job.shape), plan.shared_bytes);
        let launch = frame::Launch { kernel, frame, layout, shared_bytes, seed };
        launch.launch(memory, planes, *boxes, *taps)?;
        Ok(())
    }
}
