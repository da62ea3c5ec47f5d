// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine on sparse tensor cores: the stencil as a 2:4-sparse matrix product (SparStencil),
//! swept by the register-window kernels.

use super::on_gpu::{Advance, OnGpu, check_extents};
use super::{Engine, Job, Session};
use crate::device::sweep2d::{Config, Sweep};
use crate::device::{Gpu, device_compiler, embedded_ptx, probe};
use crate::{Dtype, Error};
use transform::window::{self, Window};

/// Sparse tensor cores of an NVIDIA GPU.
pub struct Sparse;

/// The stencil in the layout of the kernels, or why it has none.
pub(super) fn window(engine: &'static str, job: &Job) -> Result<Window, Error> {
    let unsupported = |reason| Error::Unsupported { engine, reason };
    if job.dtype != Dtype::F16 {
        return Err(unsupported(format!("it stores f16, not {}", job.dtype)));
    }
    if !job.boundary.is_zero() {
        return Err(unsupported(format!(
            "its boundary is zero, not {}",
            job.boundary.describe(job.shape.dims())
        )));
    }
    window::window(&job.stencil).map_err(|reason| unsupported(reason.to_string()))
}

impl Engine for Sparse {
    fn name(&self) -> &'static str {
        "sparse"
    }

    fn reject(&self, job: &Job) -> Option<Error> {
        if embedded_ptx().is_none() {
            return Some(Error::NoDeviceCode { reason: device_compiler().into() });
        }
        let possible = probe()
            .and_then(|_| window(self.name(), job))
            .and_then(|_| check_extents(self.name(), job.shape));
        possible.err()
    }

    fn prepare(&self, job: &Job) -> Result<Box<dyn Session>, Error> {
        let window = window(self.name(), job)?;
        check_extents(self.name(), job.shape)?;
        let [_, ny, nx] = job.shape.extents().map(|extent| extent as u32);
        let gpu = Gpu::open()?;
        let config = Config::tuned(window.radius);
        let sweep = Sweep::new(&gpu, window.radius, &window.encode_f16(), ny, nx, config)?;
        let advances = vec![Advance { steps: 1, passes: vec![Box::new(sweep)] }];
        let arithmetic = "f16 storage, f16 products, f32 sums";
        Ok(Box::new(OnGpu::new(gpu, job.shape, job.dtype, arithmetic, advances)?))
    }
}
