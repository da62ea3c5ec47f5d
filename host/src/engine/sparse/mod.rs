// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine on sparse tensor cores: the stencil as a 2:4-sparse matrix product (SparStencil), of one
//! time step or of several fused, swept over the grid once or several times on chip.

use super::on_gpu::{Advance, OnGpu, check_grid};
use super::{Arithmetic, Engine, Job, Session};
use crate::Error;
use crate::device::frame::Frame;
use crate::device::{Device, Gpu, probe};
use crate::plan::Target;

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
        let target = Target::of(gpu.info())?;
        session(self.name(), Box::new(gpu), &target, job)
    }
}

/// A job on a device, which is as the target says.
///
/// # Errors
/// No kernel takes the job, or the device refuses.
pub fn session(
    engine: &'static str,
    device: Box<dyn Device>,
    Target { machine, limits }: &Target,
    job: &Job,
) -> Result<Box<dyn Session>, Error> {
    let schedules = schedules_for(*limits, machine, engine, job)?;
    let advances: Result<Vec<Advance>, Error> =
        schedules.iter().map(|schedule| advance(&*device, engine, job, schedule)).collect();
    let Schedule { fuse, chain, kernel, .. } = schedules[0];
    let arithmetic = Arithmetic::on_tensor_cores(job.dtype, fuse);
    let session = OnGpu::new(device, job.shape, arithmetic, advances?)?;
    Ok(Box::new(session.by(kernel.to_string(), chain)))
}

/// The launches of a schedule: the product, and what it cannot know of the boundary.
fn advance(
    device: &dyn Device,
    engine: &'static str,
    job: &Job,
    schedule: &Schedule,
) -> Result<Advance, Error> {
    let fused = transform::fuse::fuse(&job.stencil, schedule.fuse).expect("was fused before");
    let fused = job.dtype.round_weights(&fused);
    let stencil = job.dtype.round_weights(&job.stencil);
    let room = schedule.kernel.room(job.shape, device.shared_bytes());
    let plan = schedule.frame(&stencil, job, room);
    let plan = plan.map_err(|reason| Error::Unsupported { engine, reason })?;
    let mut passes = vec![schedule.kernel.pass(device, &fused, job.shape, plan.as_ref())?];
    if let Some(plan) = plan {
        passes.push(Box::new(Frame::new(device, plan, job.shape, job.dtype)?));
    }
    Ok(Advance { steps: schedule.steps(), passes })
}
