// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine on CUDA cores: one time step a launch, of any stencil, boundary and element type. The
//! baseline of all others.

use super::on_gpu::{Advance, OnGpu, check_grid};
use super::sparse::schedule;
use super::{Engine, Job, Session, reject_depths};
use crate::device::frame::{self, Frame};
use crate::device::plain::{self, Plain};
use crate::device::{DeviceInfo, Gpu, Pass, probe};
use crate::{Dtype, Error};

/// CUDA cores of an NVIDIA GPU.
pub struct Cuda;

impl Engine for Cuda {
    fn name(&self) -> &'static str {
        "cuda"
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
        let plain = Plain::new(&gpu, stencil, boundary, *shape, *dtype)?;
        let frame = match plain.needs_frame() {
            true => Frame::new(&gpu, self.name(), stencil, boundary, *shape, *dtype, 1)?,
            false => None,
        };
        let mut passes: Vec<Box<dyn Pass>> = vec![Box::new(plain)];
        if let Some(frame) = frame {
            passes.push(Box::new(frame));
        }
        let advances = vec![Advance { steps: 1, passes }];
        Ok(Box::new(OnGpu::new(gpu, *shape, *dtype, arithmetic(*dtype), advances)?))
    }
}

/// Points per second of a step of f32 in 2D, of radius 1 to 3, on an H200 (`docs/performance.md`): of stencils
/// in which most neighbours have weights.
const F32_SPEED: [f64; 3] = [465e9, 456e9, 356e9];

/// Whether it advances a grid faster than sparse tensor cores, whose kernels are ahead or even wherever
/// this is not looked at: f32 in 2D costs them six products for one, and tf32 in 3D runs by a table only,
/// which paid at radius 2 and not at 4 (`docs/decisions/gather.md`).
pub fn is_faster(job: &Job) -> bool {
    let (stencil, radius) = (&job.stencil, job.stencil.radius().max(1));
    if job.dtype == Dtype::Tf32 && stencil.dims() == 3 && matches!(radius, 1 | 4..) {
        return true;
    }
    if job.dtype != Dtype::F32 || stencil.dims() != 2 || radius > F32_SPEED.len() {
        return false;
    }
    let dense = radius == 1 || 2 * stencil.taps().len() >= (2 * radius + 1).pow(2);
    let Ok(schedules) = schedule::schedules("sparse", job) else { return false };
    let seconds = schedule::LAUNCH + job.shape.points() as f64 / F32_SPEED[radius - 1];
    dense && seconds < schedules[0].seconds(job)
}

/// Checks that the points near the boundary, where they need a launch of their own, fit the GPU.
fn check_frame(engine: &'static str, gpu: &DeviceInfo, job: &Job) -> Result<(), Error> {
    let Job { boundary, shape, dtype, .. } = job;
    let stencil = &dtype.round_weights(&job.stencil);
    if !plain::Plan::new(stencil, boundary, *shape, *dtype).needs_frame() {
        return Ok(());
    }
    frame::Plan::check(stencil, boundary, *shape, *dtype, 1, gpu.shared_bytes_per_block)
        .map_err(|reason| Error::Unsupported { engine, reason })
}

fn arithmetic(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F16 => "f16 storage, f32 products, f32 sums",
        Dtype::Bf16 => "bf16 storage, f32 products, f32 sums",
        Dtype::Tf32 | Dtype::F32 => "f32 storage, f32 products, f32 sums",
        Dtype::F64 => "f64 storage, f64 products, f64 sums",
    }
}
