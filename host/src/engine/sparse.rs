// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine on sparse tensor cores: the stencil as a 2:4-sparse matrix product (SparStencil),
//! swept by the register-window kernels.

use super::{Engine, Job, Session};
use crate::device::sweep2d::{Config, Sweep};
use crate::device::{Gpu, Plane, device_compiler, embedded_ptx, probe};
use crate::{Dtype, Error, Grid, Shape, Values};
use std::time::Duration;
use transform::window::{self, Window};

/// Sparse tensor cores of an NVIDIA GPU.
pub struct Sparse;

/// The stencil in the layout of the kernels, or why it has none.
pub(super) fn window(engine: &'static str, job: &Job) -> Result<Window, Error> {
    let unsupported = |reason| Error::Unsupported { engine, reason };
    if job.dtype != Dtype::F16 {
        return Err(unsupported(format!("it stores f16, not {}", job.dtype)));
    }
    window::window(&job.stencil).map_err(|reason| unsupported(reason.to_string()))
}

fn extents(shape: Shape) -> Result<(u32, u32), Error> {
    // Positions in a launch are 32-bit and signed.
    const LARGEST: usize = 1 << 30;
    let [_, ny, nx] = shape.extents();
    if ny.max(nx) > LARGEST {
        let reason = format!("an axis of {shape} is longer than {LARGEST}");
        return Err(Error::Unsupported { engine: Sparse.name(), reason });
    }
    Ok((ny as u32, nx as u32))
}

impl Engine for Sparse {
    fn name(&self) -> &'static str {
        "sparse"
    }

    fn reject(&self, job: &Job) -> Option<Error> {
        if embedded_ptx().is_none() {
            return Some(Error::NoDeviceCode { reason: device_compiler().into() });
        }
        let possible =
            probe().and_then(|_| window(self.name(), job)).and_then(|_| extents(job.shape));
        possible.err()
    }

    fn prepare(&self, job: &Job) -> Result<Box<dyn Session>, Error> {
        let window = window(self.name(), job)?;
        let (ny, nx) = extents(job.shape)?;
        let gpu = Gpu::open()?;
        let config = Config::tuned(window.radius);
        let sweep = Sweep::new(&gpu, window.radius, &window.encode_f16(), ny, nx, config)?;
        let plane = || Plane::new(&gpu, ny, nx);
        let (planes, saved) = ([plane()?, plane()?], plane()?);
        Ok(Box::new(OnGpu {
            shape: job.shape,
            sweep,
            planes,
            saved,
            scratch: None,
            current: 0,
            gpu,
        }))
    }
}

struct OnGpu {
    shape: Shape,
    sweep: Sweep,
    planes: [Plane; 2],
    /// The input, for [`Session::restart`].
    saved: Plane,
    /// For [`Session::copy`].
    scratch: Option<[Plane; 2]>,
    /// The plane that holds the grid.
    current: usize,
    // Dropped last: everything else lives on it.
    gpu: Gpu,
}

impl Session for OnGpu {
    fn device(&self) -> String {
        let info = self.gpu.info();
        format!("{}, CUDA {}", info.name, info.driver_version)
    }

    fn arithmetic(&self) -> &'static str {
        "f16 storage, f16 products, f32 sums"
    }

    fn load(&mut self, input: &Grid) -> Result<(), Error> {
        let Values::F16(values) = &input.values else {
            let reason = format!("it was given {} values", input.dtype());
            return Err(Error::Unsupported { engine: Sparse.name(), reason });
        };
        self.saved.upload(values)?;
        self.planes[1].poison()?;
        self.restart()
    }

    fn restart(&mut self) -> Result<(), Error> {
        self.planes[0].clone_from(&self.gpu, &self.saved)?;
        self.current = 0;
        self.gpu.wait()
    }

    fn advance(&mut self, steps: usize) -> Result<Duration, Error> {
        let [first, second] = &self.planes;
        let planes = if self.current == 0 { [first, second] } else { [second, first] };
        let time = self.gpu.time(|| self.sweep.launch(&self.gpu, planes, steps))?;
        self.current = (self.current + steps) % 2;
        Ok(time)
    }

    fn store(&mut self) -> Result<Grid, Error> {
        let values = self.planes[self.current].download()?;
        Ok(Grid { shape: self.shape, values: Values::F16(values) })
    }

    fn copy(&mut self, count: usize) -> Result<Duration, Error> {
        if self.scratch.is_none() {
            let (ny, nx) = extents(self.shape)?;
            let plane = || Plane::new(&self.gpu, ny, nx);
            let mut first = plane()?;
            first.clone_from(&self.gpu, &self.saved)?;
            self.scratch = Some([first, plane()?]);
        }
        let [first, second] = self.scratch.as_ref().expect("set above");
        let time = self.gpu.time(|| {
            (0..count).try_for_each(|turn| {
                let (from, to) = if turn % 2 == 0 { (first, second) } else { (second, first) };
                Plane::copy_points(&self.gpu, from, to)
            })
        })?;
        Ok(time / count as u32)
    }
}
