// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches of a 2D sum as one dense product (`kernels_gpu::toeplitz2d`).

use super::dense_f64::operand;
use super::occupancy::resident;
use super::{Family, FamilyKernel, Fields, LaunchRequest, Pass, Refusal, Sample, Unit};
use crate::device::{Device, Launch, Memory, Plane, StartOrder};
use cuda_driver::{Entry, Extents};
use kernels_gpu::layout::Layout;
use kernels_gpu::toeplitz2d::{
    self, MOST_RADIUS, SIDE, Strips, THREADS, WIDTH, depth, input, output, shared_bytes,
};
use problem::check::seams::Seams;
use problem::region::Region;
use problem::{Dtype, Error};
use std::ops::RangeInclusive;
use transform::Stencil;

/// The fewest rows of outputs of a warp, in rows that it reads beside them.
const LONG: u32 = 8;

/// The matrix of weights, as lanes hold it.
fn weights(sum: &Stencil, radius: usize) -> Vec<u32> {
    operand(depth(radius), |row, k| {
        let Some((y, x)) = input(radius, k) else { return 0.0 };
        let (down, across) = output(row);
        let beside = |input: usize, output: usize| input as i32 - (radius + output) as i32;
        sum.weight([0, beside(y, down), beside(x, across)])
    })
}

/// A sum on one size of grid, ready to be launched.
struct Toeplitz {
    kernel: Entry<toeplitz2d::Parameters>,
    radius: usize,
    operand: Memory,
    layout: Layout,
    strips: Strips,
}

impl Toeplitz {
    /// # Errors
    /// The device refuses.
    fn new(
        device: &dyn Device,
        sum: &Stencil,
        radius: usize,
        layout: Layout,
    ) -> Result<Self, Error> {
        let (kernel, registers) = toeplitz2d::kernel(radius).expect("a radius that it has");
        let [_, ny, nx] = layout.extents;
        let shared = shared_bytes(radius);
        let resident = resident(device, kernel.name(), Some(registers), THREADS, shared)?;
        let (ny, nx, pitch) = (ny as i32, nx as i32, layout.pitch().into());
        let mut strips = Strips { ny, nx, segment: SIDE as i32, pitch };
        let length = |rounds: u32| {
            let segments = (rounds * resident / strips.across()).max(1);
            (ny as u32).div_ceil(segments).next_multiple_of(SIDE as u32)
        };
        let least = LONG * 2 * radius as u32;
        let segment = if length(2) > least { length(2) } else { length(1) };
        strips.segment = segment.max(least.min(ny as u32).next_multiple_of(SIDE as u32)) as i32;
        let operand = device.constants("weights", &weights(sum, radius))?;
        Ok(Self { kernel, radius, operand, layout, strips })
    }
}

impl Pass for Toeplitz {
    fn launch(&self, device: &dyn Device, fields: Fields, _: Region) -> Result<(), Error> {
        let Fields { before: from, after: to } = fields;
        Plane::check_pair(from, to, self.layout, size_of::<f64>());
        let parameters = (from.origin(), to.origin_mut(), self.operand.as_ptr(), self.strips);
        let call = self.kernel.with(parameters);
        let extents = Extents {
            blocks: self.strips.blocks(),
            threads: THREADS,
            shared_bytes: shared_bytes(self.radius),
        };
        // As the kernel's contract demands: two different planes of one size, in their layout; the operand of so many
        // products; the blocks, threads and shared memory that it states.
        device.launch(&Launch { call: &call, extents, order: StartOrder::Overlapping })
    }

    /// Of tiles, of strips, and of what warps compute of them.
    fn seams(&self) -> Seams {
        let [_, ny, nx] = self.layout.extents.map(|extent| extent as usize);
        Seams::none()
            .every(1, SIDE, ny)
            .every(1, self.strips.segment as usize, ny)
            .every(2, SIDE, nx)
            .every(2, WIDTH as usize, nx)
    }
}

/// Stencils of 2D in f64 up to radius 4, and steps that reach no farther, in one sum.
pub struct Toeplitz2dFamily;

impl Family for Toeplitz2dFamily {
    fn name(&self) -> &'static str {
        "toeplitz2d"
    }

    fn about(&self) -> &'static str {
        "2D, f64: steps that reach up to 4 points as one dense product for 4 × 4 outputs"
    }

    fn unit(&self) -> Unit {
        Unit::DenseTensorCores
    }

    fn dims(&self) -> RangeInclusive<usize> {
        2..=2
    }

    fn fused(&self) -> RangeInclusive<usize> {
        1..=MOST_RADIUS
    }

    fn propose(&self, asked: &LaunchRequest) -> Result<FamilyKernel, Refusal> {
        let (dtype, radius) = (asked.job.dtype, asked.fused.radius().max(1));
        if dtype != Dtype::F64 {
            return Err(Refusal::Type(format!("toeplitz2d multiplies f64, not {dtype}")));
        }
        let Some((kernel, _)) = toeplitz2d::kernel(radius) else {
            return Err(Refusal::Fuse(format!(
                "toeplitz2d takes sums that reach up to {MOST_RADIUS} points; {} steps of this \
                 stencil reach {radius}",
                asked.fuse
            )));
        };
        let ([_, ny, nx], sum) = (asked.extents(), asked.fused.clone());
        let layout = Layout::plane_2d(ny, nx);
        let prepare = move |device: &dyn Device| Toeplitz::new(device, &sum, radius, layout);
        Ok(FamilyKernel {
            shared_bytes: shared_bytes(radius),
            ..FamilyKernel::new(kernel.name(), prepare)
        })
    }

    fn samples(&self) -> Vec<Sample> {
        let of = |radii, fuse| Sample::of(Dtype::F64, radii).fused(fuse);
        vec![
            of([0, 1, 1], 1),
            of([0, 2, 1], 1),
            of([0, 1, 3], 1),
            of([0, 4, 4], 1),
            of([0, 1, 1], 3),
            of([0, 2, 2], 2),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::dense_f64::matrix;
    use super::*;
    use transform::catalogue;

    #[test]
    fn an_output_has_the_weight_of_each_of_its_neighbours_once() {
        for name in ["star2d1r", "box2d2r", "box2d3r", "star2d4r"] {
            let stencil = catalogue::find(name).unwrap();
            let radius = stencil.radius();
            let rows = matrix(&weights(&stencil, radius), depth(radius));
            for (row, weights) in rows.iter().enumerate() {
                let (down, across) = output(row);
                let mut found = 0;
                for (k, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight != 0.0)
                {
                    let (y, x) = input(radius, k).unwrap();
                    let offset = [y as i32 - down as i32, x as i32 - across as i32];
                    let [dy, dx] = offset.map(|offset| offset - radius as i32);
                    assert_eq!(*weight, stencil.weight([0, dy, dx]), "{name} {row} {k}");
                    found += 1;
                }
                assert_eq!(found, stencil.taps().len(), "{name} {row}");
            }
        }
    }
}
