// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rim of a jump on a device: slabs of the grid in f64, stepped by what the planner takes for them, in parts of thinner
//! and thinner ones.

use cuda_driver::Extents;
use kernels_gpu::spectral::boxes::{self, BoxLaunch as Points};

use super::super::torus::Slab;
use super::Abilities;
use crate::device::{Device, Launch, Plane, StartOrder};
use crate::engine::gpu::advances;
use crate::engine::on_gpu::{Advance, advance};
use crate::families::refusal::Refusal;
use problem::region::Region;
use problem::{Depth, Dtype, Error, Job, Shape};

/// In how many parts steps of a slab are taken, and the fewest of a part.
const PARTS: usize = 4;
const FEWEST: usize = 4;

/// Threads of a block that copies a row.
const THREADS: u32 = 128;

/// A slab, ready on a device.
pub struct Stepped {
    points: Region,
    parts: Vec<Part>,
}

/// Some steps of a slab.
struct Part {
    /// Where it lies in the grid.
    from: Region,
    steps: usize,
    planes: [Plane; 2],
    advances: Vec<Advance>,
}

/// The job of a part of a grid, in f64.
pub fn job_of(job: &Job, slab: &Slab, from: Region, steps: usize) -> Result<Job, Error> {
    let shape = Shape::new(&from.extents()[3 - job.shape.dims()..])?;
    let [fuse, chain, jump] = [Depth::Auto; 3];
    let (boundary, dtype) = (slab.boundary(&job.boundary), Dtype::F64);
    Ok(Job { shape, dtype, boundary, steps, fuse, chain, jump, kernel: None, ..job.clone() })
}

impl Stepped {
    /// For so many steps of a slab of a job's grid.
    ///
    /// # Errors
    /// [`Error::Unsupported`], or the device refuses.
    pub fn new(
        device: &dyn Device,
        abilities: &Abilities,
        job: &Job,
        slab: &Slab,
        steps: usize,
    ) -> Result<Self, Error> {
        let part = steps.div_ceil(PARTS).max(FEWEST);
        let (mut from, mut left, mut parts) = (slab.from, steps, Vec::new());
        while left > 0 {
            let count = part.min(left);
            left -= count;
            let own = job_of(job, slab, from, count)?;
            let stepping = (abilities.step)(&own).ok_or_else(|| none().error("fft"))?;
            let plane = || Plane::new(device, own.shape, Dtype::F64);
            let planes = [plane()?, plane()?];
            let advances = advances(device, &stepping.launches, &own)?;
            parts.push(Part { from, steps: count, planes, advances });
            from = slab.right(job, left, from);
        }
        Ok(Self { points: slab.points, parts })
    }

    /// Queues the steps of the points of a plane, and puts them into another one.
    ///
    /// # Errors
    /// The device refuses.
    pub fn launch<E: boxes::BoxKernels>(
        &self,
        device: &dyn Device,
        [before, after]: [&Plane; 2],
    ) -> Result<(), Error> {
        for (number, Part { from, steps, planes, advances }) in self.parts.iter().enumerate() {
            if number == 0 {
                let (points, at) = place(before, &planes[0], from.extents());
                let call = E::OUT.with((before.point(from.low), planes[0].origin_mut(), points));
                queue(device, &call, at)?;
            }
            let now = &planes[advance(device, advances, [&planes[0], &planes[1]], *steps)?];
            // What comes out right, in coordinates of this part.
            let low =
                |region: &Region| std::array::from_fn(|axis| region.low[axis] - from.low[axis]);
            if let Some(next) = self.parts.get(number + 1) {
                let (points, at) = place(now, &next.planes[0], next.from.extents());
                let to = next.planes[0].origin_mut();
                let call = boxes::COPY.with((now.point(low(&next.from)), to, points));
                queue(device, &call, at)?;
            } else {
                let (points, at) = place(now, after, self.points.extents());
                let to = after.point_mut(self.points.low);
                let call = E::BACK.with((now.point(low(&self.points)), to, points));
                queue(device, &call, at)?;
            }
        }
        Ok(())
    }
}

/// Why nothing steps a rim.
pub fn none() -> Refusal {
    let reason = "no f64 kernel computes the points near a side that transforms cannot imitate";
    Refusal::Boundary(reason.into())
}

/// A box of these extents in two planes, and its rows.
fn place(from: &Plane, to: &Plane, [planes, rows, columns]: [usize; 3]) -> (Points, u32) {
    let layouts = [from.layout(), to.layout()];
    let pitches = layouts.map(|layout| layout.pitch());
    let plane_rows = layouts.map(|layout| layout.plane_rows());
    let points = Points { rows: rows as u32, columns: columns as u32, pitches, plane_rows };
    (points, (planes * rows) as u32)
}

fn queue(device: &dyn Device, call: &dyn cuda_driver::AnyCall, blocks: u32) -> Result<(), Error> {
    let extents = Extents { blocks, threads: THREADS, shared_bytes: 0 };
    // As the kernel's contract demands: boxes that lie in both planes.
    device.launch(&Launch { call, extents, order: StartOrder::Overlapping })
}
