// SPDX-License-Identifier: MIT OR Apache-2.0
//! The torus on which so many steps of a job are taken, and what is left to be stepped.

use std::f64::consts::PI;

use transform::spectral::{Axis, End, Side, TruncationLimit, ends, spread};

use problem::boundary::SideSource;
use problem::region::Region;
use problem::{Boundary, Job, boundary};

/// What the torus has beyond the ends of the axes (z, y, x) of a job's grid.
pub fn ends_of(job: &Job) -> [[End; 2]; 3] {
    std::array::from_fn(|axis| {
        let sides = job.boundary.sides[axis].map(|side| match side {
            boundary::Side::Periodic => Side::Periodic,
            boundary::Side::Reflect => Side::Reflect,
            boundary::Side::Symmetric => Side::Symmetric,
            boundary::Side::Edge | boundary::Side::Flux(0.0) => Side::Edge,
            boundary::Side::Flux(_) | boundary::Side::VaryingFlux(_) => Side::Other,
            boundary::Side::Odd | boundary::Side::OddReflect => Side::Other,
            boundary::Side::Robin(_) | boundary::Side::Varying(_) => Side::Other,
            boundary::Side::Zero | boundary::Side::Constant(_) => Side::Fixed,
            boundary::Side::Open => Side::Unwanted,
        });
        ends(&job.stencil, axis, sides)
    })
}

/// Whether all of the boundary is imitated exactly, for any number of steps.
pub fn is_exact(job: &Job) -> bool {
    ends_of(job).iter().flatten().all(|end| end.is_exact())
}

/// What a jump of so many steps may leave out, by transforms in numbers of this unit roundoff.
pub fn left_out(job: &Job, steps: usize, unit: f64) -> TruncationLimit {
    let extents = job.shape.extents();
    // Half a wave between two sides whose values are given, a quarter where one is; none anywhere else. A part of a grid may
    // lie between such sides: waves as long as itself fade more than those of all of it.
    let slowest = std::array::from_fn(|axis| {
        let given = |side: &boundary::Side| {
            use boundary::Side::{Constant, Open, Zero};
            matches!(side, Zero | Constant(_) | Open)
        };
        let given = job.boundary.sides[axis].iter().filter(|side| given(side)).count();
        given as f64 * PI / (2.0 * (extents[axis] + 1) as f64)
    });
    TruncationLimit::below(unit, &job.stencil, slowest, steps)
}

/// How far so many steps read on each axis (z, y, x), but for what may be left out.
pub fn reach(job: &Job, steps: usize) -> [usize; 3] {
    let left_out = left_out(job, steps, f64::EPSILON / 2.0);
    std::array::from_fn(|axis| {
        let [before, after] = spread(&job.stencil, axis, steps, left_out);
        before.max(after)
    })
}

/// The axes (z, y, x) of the torus for so many steps, in f64.
pub fn axes(job: &Job, steps: usize) -> [Axis; 3] {
    let (ends, extents) = (ends_of(job), job.shape.extents());
    let left_out = left_out(job, steps, f64::EPSILON / 2.0);
    std::array::from_fn(|axis| {
        Axis::new(extents[axis], spread(&job.stencil, axis, steps, left_out), ends[axis])
    })
}

/// How many points beside those that have to be right at an open end come out wrong, where steps reach so far.
fn spoilt(sides: [boundary::Side; 2], side: usize, far: [usize; 2]) -> usize {
    // What lies at the inner side of a slab spoils what reads it; mirrors are read the other way round.
    match sides[side].source() {
        SideSource::Mirror | SideSource::HalfMirror => far[0].max(far[1]),
        SideSource::Nowhere | SideSource::OtherEnd | SideSource::Nearest => far[1 - side],
    }
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
    /// What may be left out of it.
    left_out: TruncationLimit,
}

impl Slab {
    /// Of the points that are right now those that have to be right while so many steps are left. What was enough for
    /// more steps is enough: bounds are searched for, and only the search makes them grow with the steps.
    pub fn right(&self, job: &Job, left: usize, now: Region) -> Region {
        let (axis, inner) = self.inner;
        let far = spread(&job.stencil, axis, left, self.left_out);
        let more = spoilt(job.boundary.sides[axis], 1 - inner, far) as isize;
        let mut region = self.points;
        if inner == 1 {
            region.high[axis] = (region.high[axis] + more).min(now.high[axis]);
        } else {
            region.low[axis] = (region.low[axis] - more).max(now.low[axis]);
        }
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

/// The rim of a jump of a job with these axes, from whose points so much may be left out.
pub fn rim(job: &Job, axes: &[Axis; 3], left_out: TruncationLimit) -> Rim {
    let mut slabs = Vec::new();
    let high = axes.each_ref().map(|axis| axis.points as isize);
    let whole = Region { low: [0; 3], high };
    for (axis, Axis { points, rim, far, .. }) in axes.iter().enumerate() {
        let spoilt = |side: usize| spoilt(job.boundary.sides[axis], side, *far);
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
            slabs.push(Slab { points: own, from, inner: (axis, 1 - side), left_out });
        }
    }
    Rim::Slabs(slabs)
}
