// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches of the sweep before all that makes it fast (`kernels_gpu::sweep2d::naive`), to be read and compared
//! with.

use super::{Family, FamilyKernel, Fields, LaunchRequest, Pass, Refusal, Sample, Unit};
use crate::device::{Device, Launch, Memory, Plane, Sharing, StartOrder};
use cuda_driver::{Entry, Extents};
use cuda_mma::fragment::Element;
use kernels_gpu::layout::{Layout, STRIP};
use kernels_gpu::sweep2d::naive::{self, Parameters, ROWS};
use problem::check::seams::Seams;
use problem::region::Region;
use problem::{Dtype, Error};
use std::ops::RangeInclusive;
use transform::factors::Factors;
use transform::window::{Window, window};

/// Small stencils of 2D in f16, without any of what makes them fast.
pub struct Naive2dFamily;

impl Family for Naive2dFamily {
    fn name(&self) -> &'static str {
        "naive2d"
    }

    fn about(&self) -> &'static str {
        "2D, radius up to 3, f16: sweep2d before it was made fast, to be read first"
    }

    fn unit(&self) -> Unit {
        Unit::SparseTensorCores
    }

    fn dims(&self) -> RangeInclusive<usize> {
        2..=2
    }

    fn only_if_asked(&self) -> bool {
        true
    }

    fn propose(&self, asked: &LaunchRequest) -> Result<FamilyKernel, Refusal> {
        if asked.job.dtype != Dtype::F16 {
            return Err(Refusal::Type(format!("naive2d multiplies f16, not {}", asked.job.dtype)));
        }
        let window = window(asked.fused).map_err(Refusal::no_layout)?;
        let kernel = naive::kernel(window.radius).expect("windows have radius 1 to 3");
        let [_, ny, nx] = asked.extents();
        let prepare = move |device: &dyn Device| Naive::new(device, kernel, &window, [ny, nx]);
        Ok(FamilyKernel::new(kernel.name(), prepare))
    }

    fn samples(&self) -> Vec<Sample> {
        (1..=3).map(|radius| Sample::of(Dtype::F16, [0, radius, radius])).collect()
    }
}

/// One stencil on one size of grid, ready to be launched.
struct Naive {
    kernel: Entry<Parameters>,
    fragments: Memory,
    ny: u32,
    nx: u32,
}

impl Naive {
    /// Uploads the operand.
    ///
    /// # Errors
    /// The device refuses.
    fn new(
        device: &dyn Device,
        kernel: Entry<Parameters>,
        window: &Window,
        [ny, nx]: [u32; 2],
    ) -> Result<Self, Error> {
        device.load(kernel.name(), Sharing::Any)?;
        let words = window.operand(Factors::One(Element::F16));
        Ok(Self { kernel, fragments: device.constants("weights", &words)?, ny, nx })
    }
}

impl Pass for Naive {
    fn launch(&self, device: &dyn Device, fields: Fields, _: Region) -> Result<(), Error> {
        let Fields { before: from, after: to } = fields;
        Plane::check_pair(from, to, Layout::plane_2d(self.ny, self.nx), size_of::<u16>());
        let (input, output) = (from.origin(), to.origin_mut());
        let pitch = from.layout().pitch();
        let call =
            self.kernel.with((input, output, self.fragments.as_ptr(), self.nx, self.ny, pitch));
        let blocks = self.ny.div_ceil(ROWS) * self.nx.div_ceil(STRIP);
        let extents = Extents { blocks, threads: 32, shared_bytes: 0 };
        // As the kernel's contract demands: two different planes of one size, in their layout; the operand of
        // this radius; a warp for each part of the grid.
        device.launch(&Launch { call: &call, extents, order: StartOrder::After })
    }

    /// Of warps.
    fn seams(&self) -> Seams {
        let [ny, nx] = [self.ny, self.nx].map(|extent| extent as usize);
        Seams::none().every(1, ROWS as usize, ny).every(2, STRIP as usize, nx)
    }
}
