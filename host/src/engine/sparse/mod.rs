// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine on sparse tensor cores: the stencil as a 2:4-sparse matrix product (SparStencil), of one
//! time step or of several fused, swept over the grid once or several times on chip.

use super::on_gpu::{Advance, OnGpu, check_grid};
use super::{Arithmetic, Engine, Job, Session};
use crate::Error;
use crate::device::frame::Frame;
use crate::device::{Device, Gpu};

pub(super) mod kernels;
pub(crate) mod schedule;

use schedule::Schedule;

/// Sparse tensor cores of an NVIDIA GPU, with the launches that were planned for a job.
pub struct Sparse {
    /// The one that most steps take, and those for what remains, the last of one step.
    launches: Vec<Schedule>,
}

impl Sparse {
    /// To compute by these launches, as the planner made them.
    pub(crate) fn new(launches: Vec<Schedule>) -> Self {
        Self { launches }
    }
}

impl Engine for Sparse {
    fn name(&self) -> &'static str {
        "sparse"
    }

    fn prepare(&self, job: &Job) -> Result<Box<dyn Session>, Error> {
        let gpu = Gpu::open()?;
        check_grid(self.name(), gpu.info(), job)?;
        session(self.name(), Box::new(gpu), &self.launches, job)
    }
}

/// A job on a device, by the launches that were planned for one of its kind.
///
/// # Errors
/// The device refuses.
pub(crate) fn session(
    engine: &'static str,
    device: Box<dyn Device>,
    launches: &[Schedule],
    job: &Job,
) -> Result<Box<dyn Session>, Error> {
    let advances = launches.iter().map(|launch| advance(&*device, engine, job, launch));
    let advances: Result<Vec<Advance>, Error> = advances.collect();
    let Schedule { fuse, chain, kernel, .. } = launches[0];
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
