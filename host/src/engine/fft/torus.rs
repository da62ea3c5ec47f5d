// SPDX-License-Identifier: MIT OR Apache-2.0
//! The torus on which so many steps of a job are taken, and what is left to be stepped.

use transform::spectral::axis::reach;
use transform::spectral::{Axis, End, Side, ends};

use crate::problem::boundary;
use crate::problem::region::Region;
use crate::{Boundary, Job};

/// What the torus has beyond the ends of the axes (z, y, x) of a job's grid.
pub fn ends_of(job: &Job) -> [[End; 2]; 3] {
    std::array::from_fn(|axis| {
        let sides = job.boundary.sides[axis].map(|side| match side {
            boundary::Side::Periodic => Side::Periodic,
            boundary::Side::Reflect => Side::Reflect,
            boundary::Side::Zero | boundary::Side::Constant(_) => Side::Fixed,
        });
        ends(&job.stencil, axis, sides)
    })
}

/// Whether all of the boundary is imitated exactly, for any number of steps.
pub fn is_exact(job: &Job) -> bool {
    ends_of(job).iter().flatten().all(|end| end.is_exact())
}

/// The axes (z, y, x) of the torus for so many steps.
pub fn axes(job: &Job, steps: usize) -> [Axis; 3] {
    let (ends, extents) = (ends_of(job), job.shape.extents());
    std::array::from_fn(|axis| {
        Axis::new(extents[axis], reach(&job.stencil, axis), ends[axis], steps)
    })
}

/// A part of the grid at an open end, which is stepped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slab {
    /// The points that come out right.
    pub points: Region,
    /// Those that they depend on; the boundary of the grid holds at its sides, but for the inner one.
    pub from: Region,
    /// The axis, and the inner side.
    inner: (usize, usize),
}

impl Slab {
    /// The points that have to be right while so many of all steps are left.
    pub fn right(&self, left: usize, steps: usize) -> Region {
        let (axis, _) = self.inner;
        let between = |right: isize, from: isize| {
            let (more, left, steps) = ((from - right) as i128, left as i128, steps as i128);
            right + (more * left / steps) as isize
        };
        let mut region = self.points;
        region.low[axis] = between(self.points.low[axis], self.from.low[axis]);
        region.high[axis] = between(self.points.high[axis], self.from.high[axis]);
        region
    }

    /// What lies around it: at the inner side anything, because it comes out wrong there.
    pub fn boundary(&self, boundary: &Boundary) -> Boundary {
        let mut own = *boundary;
        let (axis, side) = self.inner;
        own.sides[axis][side] = boundary::Side::Zero;
        own
    }
}

/// What is stepped of a grid, instead of or besides a jump on a torus.
#[derive(Clone, Debug, PartialEq)]
pub enum Rim {
    /// Slabs at its open ends; none where there are no such ends.
    Slabs(Vec<Slab>),
    /// All of it, which costs no more than slabs would.
    Whole,
}

/// The rim of a jump of a job with these axes.
pub fn rim(job: &Job, axes: &[Axis; 3]) -> Rim {
    let mut slabs = Vec::new();
    let high = axes.each_ref().map(|axis| axis.points as isize);
    let whole = Region { low: [0; 3], high };
    for (axis, Axis { points, rim, far, .. }) in axes.iter().enumerate() {
        // What lies at the inner side of a slab spoils what reads it; mirrors are read the other way round.
        let spoilt = |side: usize| match job.boundary.sides[axis][side] {
            boundary::Side::Reflect => far[0].max(far[1]),
            _ => far[1 - side],
        };
        let thick = [0, 1].map(|side| if rim[side] > 0 { rim[side] + spoilt(side) } else { 0 });
        if thick[0] + thick[1] >= *points && rim[0] + rim[1] > 0 {
            return Rim::Whole;
        }
        for side in (0..2).filter(|&side| rim[side] > 0) {
            let (right, thick) = (rim[side] as isize, thick[side] as isize);
            let [mut own, mut from] = [whole; 2];
            if side == 0 {
                (own.high[axis], from.high[axis]) = (right, thick);
            } else {
                (own.low[axis], from.low[axis]) = (high[axis] - right, high[axis] - thick);
            }
            slabs.push(Slab { points: own, from, inner: (axis, 1 - side) });
        }
    }
    Rim::Slabs(slabs)
}
