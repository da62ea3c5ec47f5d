// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches of temporal blocking in 2D on CUDA cores (`kernels_gpu::temporal::plane`).

use super::domain::dense;
use super::occupancy::resident;
use super::temporal::{forms, kept, range, sample};
use super::{
    Family, FamilyKernel, Fields, HaloSupport, LaunchRequest, Pass, Refusal, Sample, Unit,
};
use crate::device::{Chip, Device, Launch, Plane, Sharing, StartOrder};
use cuda_driver::Extents;
use kernels_gpu::layout::Layout;
use kernels_gpu::temporal::plane::{self, KERNELS, THREADS};
use kernels_gpu::temporal::strips::Strips;
use problem::check::seams::Seams;
use problem::region::Region;
use problem::{Dtype, Error};
use std::ops::RangeInclusive;
use transform::Stencil;

/// Rounds of blocks, at most: with more, what blocks take longer than others is evened out, and more is computed twice.
const MOST_ROUNDS: u32 = 2;

/// The kernel for a stencil that takes so many steps at once.
fn kernel(stencil: &Stencil, dtype: Dtype, steps: usize) -> Option<&'static plane::Kernel> {
    let (element, radius) = (dtype.stored().to_string(), stencil.radius());
    let fits = |kernel: &&plane::Kernel, form| {
        (kernel.element, kernel.steps, kernel.form) == (&*element, steps, form)
            && kernel.radius >= radius
    };
    let of = |form| KERNELS.iter().filter(|kernel| fits(kernel, form)).min_by_key(|one| one.radius);
    forms(stencil).find_map(of)
}

/// One stencil on one size of grid, so many steps in a launch.
struct Temporal {
    kernel: &'static plane::Kernel,
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
        kernel: &'static plane::Kernel,
        weights: Vec<f64>,
        layout: Layout,
    ) -> Result<Self, Error> {
        device.load(kernel.name, Sharing::Any)?;
        let (name, registers) = (kernel.name, Some(kernel.registers));
        let resident = resident(device, name, registers, THREADS, kernel.shared_bytes())?;
        Ok(Self { kernel, weights, layout, resident })
    }

    /// How a region is cut into what warps compute. The first column is rounded down to one at which 16 bytes start.
    fn strips(&self, region: Region) -> Strips {
        let (rows, mut columns) = (range(region, 1), range(region, 2));
        columns.low -= columns.low % self.kernel.strip().piece;
        let [_, ny, nx] = self.layout.extents.map(|extent| extent as i32);
        let pitch = self.layout.pitch().into();
        let beside = (self.kernel.radius * self.kernel.steps) as i32;
        let mut strips = Strips { ny, nx, rows, columns, segment: rows.len(), pitch };
        let across = strips.across(self.kernel.strip());
        let length = |rounds: &u32| {
            let segments = (rounds * self.resident / across).max(1);
            (rows.len() as u32).div_ceil(segments) as i32
        };
        // In rows: a warp also computes those above and below that the steps reach.
        let takes = |rounds: &u32| *rounds as i32 * (length(rounds) + 2 * beside);
        let rounds = (1..=MOST_ROUNDS).min_by_key(takes).expect("one at least");
        strips.segment = length(&rounds).max(beside).min(rows.len()).max(1);
        strips
    }
}

impl Pass for Temporal {
    fn launch(&self, device: &dyn Device, fields: Fields, region: Region) -> Result<(), Error> {
        let Fields { before: from, after: to } = fields;
        Plane::check_pair(from, to, self.layout, self.kernel.bytes as usize);
        let strips = self.strips(kept(region, 1));
        let call = (self.kernel.call)(from.origin(), to.origin_mut(), strips, &self.weights);
        let extents = Extents {
            blocks: strips.blocks(self.kernel.strip()).max(1),
            threads: THREADS,
            shared_bytes: self.kernel.shared_bytes(),
        };
        // As the kernel's contract demands: two different planes of one size, in their layout; rows and columns of the
        // grid; the blocks, threads and shared memory that it states.
        device.launch(&Launch { call: &*call, extents, order: StartOrder::Overlapping })
    }

    /// Of strips and of what warps compute of them.
    fn seams(&self) -> Seams {
        let [_, ny, nx] = self.layout.extents.map(|extent| extent as usize);
        let whole = Region { low: [0; 3], high: [1, ny as isize, nx as isize] };
        let segment = self.strips(whole).segment as usize;
        let width = self.kernel.strip();
        let [margin, inner] = [width.margin, width.inner()].map(|columns| columns as usize);
        Seams::none().every(1, segment, ny).spaced(2, margin + inner, inner, nx)
    }
}

/// Several steps of any stencil of 2D up to radius 4, on CUDA cores.
pub struct Temporal2dFamily;

impl Family for Temporal2dFamily {
    fn name(&self) -> &'static str {
        "temporal2d"
    }

    fn about(&self) -> &'static str {
        "2D, radius up to 4, up to 9 time steps in registers, on CUDA cores"
    }

    fn unit(&self) -> Unit {
        Unit::CudaCores
    }

    fn dims(&self) -> RangeInclusive<usize> {
        2..=2
    }

    fn chained(&self) -> RangeInclusive<usize> {
        1..=9
    }

    fn propose(&self, asked: &LaunchRequest) -> Result<FamilyKernel, Refusal> {
        let LaunchRequest { job, fused, chain, .. } = *asked;
        let kernel = kernel(fused, job.dtype, chain).ok_or_else(|| asked.no_chain())?;
        let [_, ny, nx] = asked.extents();
        let (weights, layout) = (dense(fused, kernel.radius), Layout::plane_2d(ny, nx));
        let prepare =
            move |device: &dyn Device| Temporal::new(device, kernel, weights.clone(), layout);
        // As the kernel demands where it is to know of the zeros around the grid.
        let ends_with_lanes = kernel.strip().ends_with(nx as i32);
        let ragged =
            || format!("{} takes rows of whole 16 bytes; {nx} columns are not", kernel.name);
        Ok(FamilyKernel {
            grid: (!kernel.takes(nx)).then(ragged),
            chip: if kernel.stores_by_engine() { Chip::Sm90 } else { Chip::Sm80 },
            shared_bytes: kernel.shared_bytes(),
            around: if ends_with_lanes { HaloSupport::Zeros } else { HaloSupport::FirstZeros },
            ..FamilyKernel::new(kernel.name, prepare)
        })
    }

    fn samples(&self) -> Vec<Sample> {
        let of = |kernel: &plane::Kernel| {
            sample(kernel.element, kernel.form, [0, kernel.radius, kernel.radius], kernel.steps)
        };
        KERNELS.iter().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use transform::catalogue;

    #[test]
    fn a_stencil_takes_the_kernel_that_knows_the_most_of_it() {
        let name = |stencil: &str, dtype, steps| {
            kernel(&catalogue::find(stencil).unwrap(), dtype, steps).map(|kernel| kernel.name)
        };
        assert_eq!(name("star2d1r", Dtype::F64, 8), Some("temporal2d_f64_star1_t8"));
        assert_eq!(name("box2d1r", Dtype::F64, 8), Some("temporal2d_f64_mirrored1_t8"));
        assert_eq!(name("star2d3r", Dtype::F32, 3), Some("temporal2d_f32_star3_t3"));
        assert_eq!(name("star2d1r", Dtype::F64, 11), None);
        // No star of this radius: a box is one, too.
        assert_eq!(name("star2d2r", Dtype::F16, 3), Some("temporal2d_f16_box2_t3"));
    }
}
