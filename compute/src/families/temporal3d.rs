// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches of temporal blocking in 3D on CUDA cores (`kernels_gpu::temporal::volume`).

use super::domain::dense;
use super::occupancy::resident;
use super::temporal::{forms, kept, range, sample};
use super::{
    Family, FamilyKernel, Fields, HaloSupport, LaunchRequest, Pass, Refusal, Sample, Unit,
};
use crate::device::{Device, Launch, Plane, Sharing, StartOrder};
use cuda_driver::Extents;
use kernels_gpu::layout::Layout;
use kernels_gpu::temporal::volume::{self, KERNELS, Tiles};
use problem::check::seams::Seams;
use problem::region::Region;
use problem::{Dtype, Error};
use std::ops::RangeInclusive;
use transform::Stencil;

/// The kernel for a stencil that takes so many steps at once.
fn kernel(stencil: &Stencil, dtype: Dtype, steps: usize) -> Option<&'static volume::Kernel> {
    let (element, radius) = (dtype.stored().to_string(), stencil.radius());
    let fits = |kernel: &&volume::Kernel, form| {
        (kernel.element, kernel.steps, kernel.form) == (&*element, steps, form)
            && kernel.radius >= radius
    };
    forms(stencil).find_map(|form| KERNELS.iter().find(|kernel| fits(kernel, form)))
}

/// One stencil on one size of grid, so many steps in a launch.
struct Temporal {
    kernel: &'static volume::Kernel,
    weights: Vec<f64>,
    layout: Layout,
    /// Blocks that run at once.
    resident: u32,
}

impl Temporal {
    /// # Errors
    /// The device refuses.
    fn new(
        device: &dyn Device,
        kernel: &'static volume::Kernel,
        weights: Vec<f64>,
        layout: Layout,
    ) -> Result<Self, Error> {
        device.load(kernel.name, Sharing::Any)?;
        let (threads, bytes) = (kernel.threads(), kernel.shared_bytes());
        let resident = resident(device, kernel.name, Some(kernel.registers), threads, bytes)?;
        Ok(Self { kernel, weights, layout, resident })
    }

    /// How a region is cut into what blocks compute: into as many segments of planes as keep all of the GPU busy to the
    /// end. The first column is rounded down to one at which a thread's begin.
    fn tiles(&self, region: Region) -> Tiles {
        let [planes, rows, mut columns] = [0, 1, 2].map(|axis| range(region, axis));
        columns.low -= columns.low % self.kernel.vector as i32;
        let pitch = i64::from(self.layout.pitch());
        let mut tiles = Tiles {
            extents: self.layout.extents.map(|extent| extent as i32),
            planes,
            rows,
            columns,
            segment: planes.len(),
            pitch,
            plane: pitch * i64::from(self.layout.plane_rows()),
        };
        // A block takes as long as its planes and those before and after them.
        let beside = 2 * self.kernel.radius * self.kernel.steps + self.kernel.steps;
        let seconds = |segment: i32| {
            let blocks = Tiles { segment, ..tiles }.blocks(self.kernel.tile(), self.kernel.reach());
            u64::from(blocks.div_ceil(self.resident)) * (segment as u64 + beside as u64)
        };
        let segments = (1..=planes.len().min(MOST_SEGMENTS))
            .map(|count| (planes.len() as u32).div_ceil(count as u32) as i32);
        tiles.segment = segments.min_by_key(|&segment| seconds(segment)).unwrap_or(1);
        tiles
    }
}

/// Into so many segments planes are cut at most: with more, blocks do little but what others do, too.
const MOST_SEGMENTS: i32 = 64;

impl Pass for Temporal {
    fn launch(&self, device: &dyn Device, fields: Fields, region: Region) -> Result<(), Error> {
        let Fields { before: from, after: to } = fields;
        Plane::check_pair(from, to, self.layout, self.kernel.bytes as usize);
        let tiles = self.tiles(kept(region, 0));
        let call = (self.kernel.call)(from.origin(), to.origin_mut(), tiles, &self.weights);
        let extents = Extents {
            blocks: tiles.blocks(self.kernel.tile(), self.kernel.reach()).max(1),
            threads: self.kernel.threads(),
            shared_bytes: self.kernel.shared_bytes(),
        };
        // As the kernel's contract demands: two different planes of one size, in their layout; planes, rows and
        // columns of the grid; the blocks, threads and shared memory that it states.
        device.launch(&Launch { call: &*call, extents, order: StartOrder::Overlapping })
    }

    /// Of tiles and of what blocks compute of them.
    fn seams(&self) -> Seams {
        let extents = self.layout.extents.map(|extent| extent as usize);
        let whole = Region { low: [0; 3], high: extents.map(|extent| extent as isize) };
        let segment = self.tiles(whole).segment as usize;
        let [rows, columns] = self.kernel.tile().map(|size| size as usize);
        let [nz, ny, nx] = extents;
        let seams = Seams::none().every(0, segment, nz).every(2, columns, nx);
        seams.spaced(1, rows + self.kernel.reach() as usize, rows, ny)
    }
}

/// Several steps of small stencils of 3D, on CUDA cores.
pub struct Temporal3dFamily;

impl Family for Temporal3dFamily {
    fn name(&self) -> &'static str {
        "temporal3d"
    }

    fn about(&self) -> &'static str {
        "3D, radius 1, 2 to 4 time steps on chip, on CUDA cores"
    }

    fn unit(&self) -> Unit {
        Unit::CudaCores
    }

    fn dims(&self) -> RangeInclusive<usize> {
        3..=3
    }

    fn chained(&self) -> RangeInclusive<usize> {
        2..=4
    }

    fn propose(&self, asked: &LaunchRequest) -> Result<FamilyKernel, Refusal> {
        let LaunchRequest { job, fused, chain, .. } = *asked;
        let kernel = kernel(fused, job.dtype, chain).ok_or_else(|| asked.no_chain())?;
        let [_, ny, nx] = asked.extents();
        // As the kernel demands where it is to know of the zeros around the grid.
        let ends_with_tiles = nx % kernel.vector == 0 && ny >= kernel.height();
        let (weights, layout) =
            (dense(fused, kernel.radius), Layout { dims: 3, extents: asked.extents() });
        let prepare =
            move |device: &dyn Device| Temporal::new(device, kernel, weights.clone(), layout);
        Ok(FamilyKernel {
            shared_bytes: kernel.shared_bytes(),
            around: if ends_with_tiles { HaloSupport::Zeros } else { HaloSupport::FirstZeros },
            ..FamilyKernel::new(kernel.name, prepare)
        })
    }

    fn samples(&self) -> Vec<Sample> {
        let of = |kernel: &volume::Kernel| {
            sample(kernel.element, kernel.form, [kernel.radius; 3], kernel.steps)
        };
        KERNELS.iter().map(of).collect()
    }
}
