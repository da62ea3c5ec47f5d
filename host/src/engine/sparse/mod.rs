// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine on sparse tensor cores: the stencil as a 2:4-sparse matrix product (SparStencil), of one
//! time step or of several fused, swept over the grid once or several times on chip.

use super::on_gpu::{Advance, OnGpu, check_grid};
use super::{Arithmetic, Engine, Job, Session};
use crate::Error;
use crate::device::frame::Frame;
use crate::device::{Gpu, probe};

pub(super) mod kernels;
mod refusal;
pub(crate) mod schedule;

use schedule::{Schedule, schedules_for};

/// Sparse tensor cores of an NVIDIA GPU.
pub struct Sparse;

impl Engine for Sparse {
    fn name(&self) -> &'static str {
        "sparse"
    }

    fn reject(&self, job: &Job) -> Option<Error> {
        let possible = probe().and_then(|gpu| {
            check_grid(self.name(), &gpu, job)?;
            schedules_for(gpu.limits()?, &gpu.machine(), self.name(), job)
        });
        possible.err()
    }

    fn prepare(&self, job: &Job) -> Result<Box<dyn Session>, Error> {
        let gpu = Gpu::open()?;
        check_grid(self.name(), gpu.info(), job)?;
        let info = gpu.info();
        let schedules = schedules_for(info.limits()?, &info.machine(), self.name(), job)?;
        let advances: Result<Vec<Advance>, Error> =
            schedules.iter().map(|schedule| advance(&gpu, self.name(), job, schedule)).collect();
        let Schedule { fuse, chain, kernel, .. } = schedules[0];
        let arithmetic = Arithmetic::on_tensor_cores(job.dtype, fuse);
        let session = OnGpu::new(gpu, job.shape, arithmetic, advances?)?;
        Ok(Box::new(session.by(kernel.to_string(), chain)))
    }
}

/// The launches of a schedule: the product, and what it cannot know of the boundary.
fn advance(
    gpu: &Gpu,
    engine: &'static str,
    job: &Job,
    schedule: &Schedule,
) -> Result<Advance, Error> {
    let fused = transform::fuse::fuse(&job.stencil, schedule.fuse).expect("was fused before");
    let fused = job.dtype.round_weights(&fused);
    let stencil = job.dtype.round_weights(&job.stencil);
    let room = schedule.kernel.room(job.shape, gpu.info().shared_bytes_per_block);
    let plan = schedule.frame(&stencil, job, room);
    let plan = plan.map_err(|reason| Error::Unsupported { engine, reason })?;
    let mut passes = vec![schedule.kernel.pass(gpu, &fused, job.shape, plan.as_ref())?];
    if let Some(plan) = plan {
        passes.push(Box::new(Frame::new(gpu, plan, job.shape, job.dtype)?));
    }
    Ok(Advance { steps: schedule.steps(), passes })
}
