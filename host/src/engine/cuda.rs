// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine on CUDA cores: one time step a launch, of any stencil, boundary and element type. The
//! baseline of all others.

use super::on_gpu::{Advance, OnGpu, check_grid};
use super::sparse::schedule;
use super::{Arithmetic, Engine, Job, Session, reject_depths};
use crate::device::frame::{self, Frame, Room};
use crate::device::plain::{self, Plain};
use crate::device::{DeviceInfo, Gpu, Pass, probe};
use crate::{Dtype, Error};
use transform::Stencil;

/// CUDA cores of an NVIDIA GPU.
pub struct Cuda;

impl Engine for Cuda {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn takes_single_steps(&self) -> bool {
        true
    }

    fn reject(&self, job: &Job) -> Option<Error> {
        let possible = probe().and_then(|gpu| {
            check_grid(self.name(), &gpu, job)?;
            check_frame(self.name(), &gpu, job)
        });
        possible.err().or_else(|| reject_depths(self.name(), job))
    }

    fn prepare(&self, job: &Job) -> Result<Box<dyn Session>, Error> {
        let Job { boundary, shape, dtype, .. } = job;
        let stencil = &dtype.round_weights(&job.stencil);
        let gpu = Gpu::open()?;
        check_grid(self.name(), gpu.info(), job)?;
        let plan = plain::Plan::new(stencil, boundary, *shape, *dtype);
        let plain = Plain::new(&gpu, plan, *shape, *dtype)?;
        let needs_frame = plain.needs_frame();
        let mut passes: Vec<Box<dyn Pass>> = vec![Box::new(plain)];
        if needs_frame {
            let room = Room::after(gpu.info().shared_bytes_per_block);
            let plan = frame::Plan::new(stencil, boundary, *shape, *dtype, 1, room)
                .map_err(|reason| Error::Unsupported { engine: self.name(), reason })?;
            if let Some(plan) = plan {
                passes.push(Box::new(Frame::new(&gpu, plan, *shape, *dtype)?));
            }
        }
        let advances = vec![Advance { steps: 1, passes }];
        Ok(Box::new(OnGpu::new(gpu, *shape, Arithmetic::on_cores(*dtype), advances)?))
    }
}

/// Points per second of a step of 4-byte values on an H200, where it was measured and may be faster than
/// sparse tensor cores: in 1D of radius 1 and 2, and in 2D of radius 1 to 3, by whether the stencil has
/// neighbours off the axes (`docs/decisions/tiles.md`).
fn speed(stencil: &Stencil) -> Option<f64> {
    match (stencil.dims(), stencil.radius().max(1), plain::is_star(stencil)) {
        (1, 1..=2, _) => Some(520e9),
        (2, 1, _) | (2, 2, true) => Some(515e9),
        (2, 2, false) => Some(460e9),
        (2, 3, true) => Some(455e9),
        (2, 3, false) => Some(390e9),
        _ => None,
    }
}

/// Whether it advances a grid faster than sparse tensor cores, whose kernels are ahead or even wherever
/// this is not looked at: f32 in 2D costs them six products for one, and tf32 in 1D and 3D runs by a table
/// only, which paid in 3D at radius 2 and not at 4 (`docs/decisions/gather.md`).
pub fn is_faster(job: &Job) -> bool {
    let (stencil, radius) = (&job.stencil, job.stencil.radius().max(1));
    match (job.dtype, stencil.dims()) {
        (Dtype::Tf32, 3) => matches!(radius, 1 | 4..),
        (Dtype::F32, 2) | (Dtype::Tf32, 1) => {
            let Some(speed) = speed(stencil) else { return false };
            let Ok(schedules) = schedule::schedules("sparse", job) else { return false };
            let seconds = schedule::LAUNCH + job.shape.points() as f64 / speed;
            seconds < schedules[0].seconds(job)
        }
        _ => false,
    }
}

/// Checks that the points near the boundary, where they need a launch of their own, fit the GPU.
fn check_frame(engine: &'static str, gpu: &DeviceInfo, job: &Job) -> Result<(), Error> {
    let Job { boundary, shape, dtype, .. } = job;
    let stencil = &dtype.round_weights(&job.stencil);
    if !plain::Plan::new(stencil, boundary, *shape, *dtype).needs_frame() {
        return Ok(());
    }
    let room = Room::after(gpu.shared_bytes_per_block);
    frame::Plan::check(stencil, boundary, *shape, *dtype, 1, room)
        .map_err(|reason| Error::Unsupported { engine, reason })
}
