// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches of several steps of a 1D stencil as one dense product (`kernels_gpu::toeplitz1d`).

use super::dense_f64::{MMA, operand};
use super::occupancy::{exclusive_bytes, resident_blocks};
use super::{Family, FamilyKernel, Fields, LaunchRequest, Pass, Refusal, Sample, Unit};
use crate::device::{Device, Launch, Memory, Plane, StartOrder};
use cuda_driver::{Entry, Extents};
use cuda_mma::fragment::LANES;
use kernels_gpu::layout::Layout;
use kernels_gpu::ring::MAX_STAGES;
use kernels_gpu::toeplitz1d::{
    self, LineCut, MOST_PRODUCTS, MOST_WARPS, TILE, halo, input_of_slot, output_of_row, products,
};
use problem::check::seams::Seams;
use problem::region::Region;
use problem::{Dtype, Error};
use std::ops::RangeInclusive;
use transform::Stencil;

/// The widest sum that there is a kernel for, in columns to either side.
const MOST_RADIUS: usize = halo(MOST_PRODUCTS) as usize;

/// The fewest stages of a ring: one that is read, one that is filled.
const LEAST_STAGES: u32 = 2;

/// How a launch is spread over the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Warps of a block that multiply.
    pub warps: u32,
    /// The most stages of a block's ring; there are as many as fit.
    pub stages: u32,
    /// Blocks on each multiprocessor.
    pub blocks_per_multiprocessor: u32,
}

impl Config {
    /// The widest stages of which every multiprocessor still has one: the wider, the less of a stage is halo.
    #[must_use]
    pub fn new(nx: u32, products: usize, multiprocessors: u32) -> Self {
        let cut = |warps: &u32| LineCut::new(nx, *warps, products);
        let wide = |warps: &u32| cut(warps).fits() && cut(warps).count >= multiprocessors;
        let widths = [MOST_WARPS, MOST_WARPS / 2, MOST_WARPS / 4];
        let warps = widths.into_iter().find(wide).unwrap_or(1);
        let blocks_per_multiprocessor = MOST_WARPS / warps;
        Self { warps, stages: MAX_STAGES, blocks_per_multiprocessor }
    }
}

/// The Toeplitz matrix of a sum, as lanes hold it.
fn weights(sum: &Stencil, products: usize) -> Vec<u32> {
    let halo = halo(products) as i32;
    operand(products, |row, k| {
        let (product, slot) = (k / MMA.k, k % MMA.k);
        let input = TILE as usize * product + input_of_slot(slot);
        sum.weight([0, 0, input as i32 - halo - output_of_row(row) as i32])
    })
}

/// A sum on one size of grid, ready to be launched.
pub struct Toeplitz {
    kernel: Entry<toeplitz1d::Parameters>,
    operand: Memory,
    cut: LineCut,
    stages: u32,
    shared_bytes: u32,
    blocks: u32,
}

impl Toeplitz {
    /// Uploads the operand of a sum, which reaches up to `MOST_RADIUS` columns to either side.
    ///
    /// # Errors
    /// The device refuses, or a block would not fit a multiprocessor.
    ///
    /// # Panics
    /// Where the sum reaches farther.
    pub fn new(device: &dyn Device, sum: &Stencil, nx: u32, config: Config) -> Result<Self, Error> {
        let products = products(sum.radius() as u32);
        let kernel = toeplitz1d::kernel(products).expect("a sum that reaches no farther");
        let Config { warps, stages, blocks_per_multiprocessor: most } = config;
        let cut = LineCut::new(nx, warps, products);
        let exclusive = exclusive_bytes(device, most);
        // Bytes with which as many blocks fit.
        let room = exclusive_bytes(device, most - 1).min(device.shared_bytes()) - 1024;
        let fits = |stages: &u32| cut.shared_bytes(*stages) <= room;
        let stages = (LEAST_STAGES..=stages).rev().find(fits).unwrap_or(LEAST_STAGES);
        let shared_bytes = cut.shared_bytes(stages).max(exclusive);
        let threads = LANES as u32 * (warps + 1);
        let places = resident_blocks(device, &kernel, threads, shared_bytes, most)?;
        let blocks = places.min(cut.count);
        let operand = device.constants("weights", &weights(sum, products))?;
        Ok(Self { kernel, operand, cut, stages, shared_bytes, blocks })
    }
}

impl Pass for Toeplitz {
    fn launch(&self, device: &dyn Device, fields: Fields, _: Region) -> Result<(), Error> {
        let Fields { before: from, after: to } = fields;
        let &Self { cut, stages, shared_bytes, blocks, .. } = self;
        let layout = Layout { dims: 1, extents: [1, 1, cut.nx] };
        Plane::check_pair(from, to, layout, size_of::<f64>());
        let parameters = (from.origin(), to.origin_mut(), self.operand.as_ptr(), cut, stages);
        let call = self.kernel.with(parameters);
        let extents = Extents { blocks, threads: LANES as u32 * (cut.warps + 1), shared_bytes };
        // As the kernel's contract demands: two different planes of one size, in their layout; the operand of so
        // many products; shared memory and threads as it states.
        device.launch(&Launch { call: &call, extents, order: StartOrder::Overlapping })
    }

    /// Of tiles, of segments, and of stages.
    fn seams(&self) -> Seams {
        let (cut, nx) = (&self.cut, self.cut.nx as usize);
        let sizes = [TILE, cut.segment, cut.columns].map(|size| size as usize);
        sizes.into_iter().fold(Seams::none(), |seams, size| seams.every(2, size, nx))
    }
}

/// Stencils of 1D in f64, many steps in one sum.
pub struct Toeplitz1dFamily;

impl Family for Toeplitz1dFamily {
    fn name(&self) -> &'static str {
        "toeplitz1d"
    }

    fn about(&self) -> &'static str {
        "1D, f64: steps that reach up to 32 columns to either side as one dense product"
    }

    fn unit(&self) -> Unit {
        Unit::DenseTensorCores
    }

    fn dims(&self) -> RangeInclusive<usize> {
        1..=1
    }

    fn fused(&self) -> RangeInclusive<usize> {
        1..=MOST_RADIUS
    }

    fn propose(&self, asked: &LaunchRequest) -> Result<FamilyKernel, Refusal> {
        let (dtype, radius) = (asked.job.dtype, asked.fused.radius());
        if dtype != Dtype::F64 {
            return Err(Refusal::Type(format!("toeplitz1d multiplies f64, not {dtype}")));
        }
        let products = products(radius as u32);
        let Some(kernel) = toeplitz1d::kernel(products) else {
            return Err(Refusal::Fuse(format!(
                "toeplitz1d takes sums of up to {MOST_RADIUS} columns to either side; {} steps of \
                 this stencil reach {radius}",
                asked.fuse
            )));
        };
        let ([.., nx], sum) = (asked.extents(), asked.fused.clone());
        let least = LineCut::new(nx, 1, products);
        let prepare = move |device: &dyn Device| {
            let config = Config::new(nx, products, device.multiprocessors());
            Toeplitz::new(device, &sum, nx, config)
        };
        Ok(FamilyKernel {
            shared_bytes: least.shared_bytes(LEAST_STAGES),
            ..FamilyKernel::new(kernel.name(), prepare)
        })
    }

    fn samples(&self) -> Vec<Sample> {
        let of = |radius, fuse| Sample::of(Dtype::F64, [0, 0, radius]).fused(fuse);
        vec![of(1, 1), of(5, 1), of(1, 13), of(3, 8), of(1, 32), of(2, 16), of(16, 2)]
    }
}

#[cfg(test)]
mod tests {
    use super::super::dense_f64::matrix;
    use super::*;
    use transform::catalogue;

    #[test]
    fn the_operand_is_a_toeplitz_matrix() {
        let sum = transform::fuse::fuse(&catalogue::find("star1d2r").unwrap(), 5).unwrap();
        let products = products(10);
        let halo = halo(products) as usize;
        assert_eq!((products, halo), (3, 16));
        let rows = matrix(&weights(&sum, products), products);
        for (row, weights) in rows.iter().enumerate() {
            let output = output_of_row(row);
            for (k, value) in weights.iter().enumerate() {
                let input = TILE as usize * (k / MMA.k) + input_of_slot(k % MMA.k);
                let offset = input as i32 - (halo + output) as i32;
                assert_eq!(*value, sum.weight([0, 0, offset]), "{output}, {input}");
            }
        }
    }

    #[test]
    fn stages_are_narrow_where_the_grid_is_small() {
        let of = |nx| Config::new(nx, MOST_PRODUCTS, 132);
        assert_eq!(of(1).warps, 1);
        assert_eq!((of(200_000).warps, of(200_000).blocks_per_multiprocessor), (2, 4));
        assert_eq!((of(100_000_000).warps, of(100_000_000).blocks_per_multiprocessor), (8, 1));
    }
}
