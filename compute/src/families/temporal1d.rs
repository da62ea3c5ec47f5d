// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches of temporal blocking in 1D on CUDA cores (`kernels_gpu::temporal::line`).

use super::domain::dense;
use super::occupancy::resident;
use super::temporal::range;
use super::{
    Family, FamilyKernel, Fields, HaloSupport, LaunchRequest, Pass, Refusal, Sample, Unit,
};
use crate::device::{Device, Launch, Plane, Sharing, StartOrder};
use cuda_driver::Extents;
use kernels_gpu::layout::Layout;
use kernels_gpu::temporal::line::{self, KERNELS, LineCut, THREADS};
use problem::check::seams::Seams;
use problem::region::Region;
use problem::{Dtype, Error};
use std::ops::RangeInclusive;
use transform::Stencil;

/// Pieces of a warp with which a second round of blocks, which evens out what some take longer, should cost less than it
/// gains: each block waits for its first piece.
const LONG: u32 = 16;

/// Time steps of a launch. Kernels take any number; these divide many others, and are few enough to be compared. With the
/// most of them a fifth of the pieces is computed twice in f64, where these are the shortest.
pub const STEPS: [usize; 12] = [1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32];

/// The kernel for a stencil that takes so many steps at once: that of the least radius, with which pieces overlap least.
fn kernel(stencil: &Stencil, dtype: Dtype, steps: usize) -> Option<&'static line::Kernel> {
    let (element, radius) = (dtype.stored().to_string(), stencil.radius());
    let fits = |kernel: &&line::Kernel| {
        STEPS.contains(&steps)
            && kernel.element == element
            && kernel.radius >= radius
            && kernel.most_steps() >= steps
    };
    KERNELS.iter().filter(fits).min_by_key(|kernel| kernel.radius)
}

/// One stencil on one size of grid, so many steps in a launch.
pub struct Temporal {
    kernel: &'static line::Kernel,
    steps: usize,
    weights: Vec<f64>,
    nx: u32,
    /// Blocks that run at once.
    resident: u32,
}

impl Temporal {
    /// By a kernel that takes the radius of the stencil and so many steps, and whose pieces fit the grid.
    ///
    /// # Errors
    /// The device refuses.
    pub fn new(
        device: &dyn Device,
        kernel: &'static line::Kernel,
        stencil: &Stencil,
        steps: usize,
        nx: u32,
    ) -> Result<Self, Error> {
        device.load(kernel.name, Sharing::Any)?;
        let (name, registers) = (kernel.name, Some(kernel.registers));
        let resident = resident(device, name, registers, THREADS, kernel.shared_bytes())?;
        let weights = dense(stencil, kernel.radius);
        Ok(Self { kernel, steps, weights, nx, resident })
    }

    /// As if no more than so many blocks ran at once.
    #[must_use]
    pub fn with_resident(self, resident: u32) -> Self {
        Self { resident, ..self }
    }

    /// How a region is cut into what warps compute.
    fn cut(&self, region: Region) -> LineCut {
        let cut = self.kernel.cut(self.nx, range(region, 2), self.steps);
        let rounds = if cut.count() > 2 * LONG * self.resident { 2 } else { 1 };
        cut.spread(rounds * self.resident)
    }
}

impl Pass for Temporal {
    fn launch(&self, device: &dyn Device, fields: Fields, region: Region) -> Result<(), Error> {
        let Fields { before: from, after: to } = fields;
        let layout = Layout { dims: 1, extents: [1, 1, self.nx] };
        Plane::check_pair(from, to, layout, self.kernel.bytes as usize);
        let cut = self.cut(region);
        let call = (self.kernel.call)(from.origin(), to.origin_mut(), cut, &self.weights);
        let extents = Extents {
            // Of a region without points one block that does nothing: the rim's launch relies on there being one.
            blocks: cut.blocks().max(1),
            threads: THREADS,
            shared_bytes: self.kernel.shared_bytes(),
        };
        // As the kernel's contract demands: two different planes of one size, in their layout; a cut of it; the blocks,
        // threads and shared memory that it states.
        device.launch(&Launch { call: &*call, extents, order: StartOrder::Overlapping })
    }

    /// Of pieces.
    fn seams(&self) -> Seams {
        let nx = self.nx as usize;
        let cut = self.cut(Region { low: [0; 3], high: [1, 1, nx as isize] });
        Seams::none().every(2, cut.outputs() as usize, nx)
    }
}

/// Several steps of any stencil of 1D up to radius 4, on CUDA cores.
pub struct Temporal1dFamily;

impl Family for Temporal1dFamily {
    fn name(&self) -> &'static str {
        "temporal1d"
    }

    fn about(&self) -> &'static str {
        "1D, radius up to 4, up to 32 time steps in registers, on CUDA cores"
    }

    fn unit(&self) -> Unit {
        Unit::CudaCores
    }

    fn dims(&self) -> RangeInclusive<usize> {
        1..=1
    }

    fn chained(&self) -> RangeInclusive<usize> {
        1..=STEPS[STEPS.len() - 1]
    }

    fn propose(&self, asked: &LaunchRequest) -> Result<FamilyKernel, Refusal> {
        let LaunchRequest { job, fused, chain, .. } = *asked;
        let kernel = kernel(fused, job.dtype, chain).ok_or_else(|| asked.no_chain())?;
        let [.., nx] = asked.extents();
        let stencil = fused.clone();
        let prepare = move |device: &dyn Device| Temporal::new(device, kernel, &stencil, chain, nx);
        let too_short = || {
            let (least, dtype) = (kernel.least_columns(), job.dtype);
            format!(
                "temporal1d takes grids of at least {least} points in {dtype}; this one has {nx}"
            )
        };
        Ok(FamilyKernel {
            // Steps of an output, with those of columns that are another's.
            work: chain as f64 * f64::from(kernel.width()) / f64::from(kernel.outputs(chain)),
            shared_bytes: kernel.shared_bytes(),
            around: HaloSupport::Zeros,
            grid: (!kernel.fits(nx)).then(too_short),
            ..FamilyKernel::new(kernel.name, prepare)
        })
    }

    /// Of each kernel one launch of one step and one of the most.
    fn samples(&self) -> Vec<Sample> {
        let of = |kernel: &line::Kernel, steps| {
            let dtype = kernel.element.parse().expect("a type of grids");
            Sample::of(dtype, [0, 0, kernel.radius]).chained(steps)
        };
        let most = |kernel: &line::Kernel| {
            STEPS.into_iter().filter(|steps| *steps <= kernel.most_steps()).max().unwrap_or(1)
        };
        let both = |kernel| [of(kernel, 1), of(kernel, most(kernel))];
        KERNELS.iter().flat_map(both).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use transform::catalogue;

    #[test]
    fn a_stencil_takes_the_least_radius_that_it_fits() {
        let name = |stencil: &str, dtype, steps| {
            kernel(&catalogue::find(stencil).unwrap(), dtype, steps).map(|kernel| kernel.name)
        };
        assert_eq!(name("star1d1r", Dtype::F64, 32), Some("temporal1d_f64_r1"));
        assert_eq!(name("star1d3r", Dtype::F32, 20), Some("temporal1d_f32_r3"));
        assert_eq!(name("star1d3r", Dtype::F32, 24), None);
        assert_eq!(name("star1d4r", Dtype::Bf16, 16), Some("temporal1d_bf16_r4"));
        assert_eq!(name("star1d5r", Dtype::F64, 1), None);
    }
}
