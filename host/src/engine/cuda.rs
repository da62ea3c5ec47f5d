// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine on CUDA cores: one time step a launch, of any stencil, boundary and element type. The
//! baseline of all others.

use super::cost::Cost;
use super::on_gpu::{Advance, OnGpu, check_grid};
use super::refusal::{Refusal, check_depths};
use super::sparse::schedule;
use super::{Arithmetic, Engine, Job, Session};
use crate::device::frame::{self, Frame, Room};
use crate::device::plain::{self, Plain};
use crate::device::{Device, Gpu, Limits, Pass};

use crate::Error;

/// CUDA cores of an NVIDIA GPU.
pub struct Cuda;

impl Engine for Cuda {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn takes_single_steps(&self) -> bool {
        true
    }

    fn prepare(&self, job: &Job) -> Result<Box<dyn Session>, Error> {
        let gpu = Gpu::open()?;
        check_grid(self.name(), gpu.info(), job)?;
        session(self.name(), Box::new(gpu), job)
    }
}

/// A job on a device that takes it.
///
/// # Errors
/// The points near the boundary do not fit the device, or it refuses.
pub fn session(
    engine: &'static str,
    device: Box<dyn Device>,
    job: &Job,
) -> Result<Box<dyn Session>, Error> {
    let Job { boundary, shape, dtype, .. } = job;
    let stencil = &dtype.round_weights(&job.stencil);
    let plan = plain::Plan::new(stencil, boundary, *shape, *dtype);
    let plain = Plain::new(&*device, plan, *shape, *dtype)?;
    let needs_frame = plain.needs_frame();
    let mut passes: Vec<Box<dyn Pass>> = vec![Box::new(plain)];
    if needs_frame {
        let room = Room::after(device.shared_bytes());
        let plan = frame::Plan::new(stencil, boundary, *shape, *dtype, 1, room)
            .map_err(|reason| Error::Unsupported { engine, reason })?;
        if let Some(plan) = plan {
            passes.push(Box::new(Frame::new(&*device, plan, *shape, *dtype)?));
        }
    }
    let advances = vec![Advance { steps: 1, passes }];
    Ok(Box::new(OnGpu::new(device, *shape, Arithmetic::on_cores(*dtype), advances)?))
}

/// What a step takes.
#[must_use]
pub fn cost(job: &Job) -> Cost {
    let stencil = &job.dtype.round_weights(&job.stencil);
    let plan = plain::Plan::new(stencil, &job.boundary, job.shape, job.dtype);
    let points = job.shape.points() as f64;
    // Zeros around the grid are what its kernels read.
    let near = if plan.needs_frame() { schedule::frame_points(job, 1) } else { 0 };
    Cost {
        kernel: plan.kernel().into(),
        class: plan.kernel().into(),
        dims: job.shape.dims(),
        steps: 1,
        points,
        bytes: 2.0 * job.dtype.bytes() as f64 * points,
        work: plan.work() as f64,
        launches: if near > 0 { 2.0 } else { 1.0 },
        rim: (near > 0).then(|| schedule::rim(job, near, 1, false)),
    }
}

/// Checks that the engine takes what was asked for, and that the points near the boundary, where they need
/// a launch of their own, fit the GPU.
///
/// # Errors
/// What it does not take.
pub fn check(limits: Limits, job: &Job) -> Result<(), Refusal> {
    check_depths(job)?;
    let Job { boundary, shape, dtype, .. } = job;
    let stencil = &dtype.round_weights(&job.stencil);
    if !plain::Plan::new(stencil, boundary, *shape, *dtype).needs_frame() {
        return Ok(());
    }
    let room = Room::after(limits.shared_bytes);
    frame::Plan::check(stencil, boundary, *shape, *dtype, 1, room).map_err(Refusal::Boundary)
}
