// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time and memory of the reference.

use crate::Job;
use crate::check::reference;
use crate::region::Region;

/// Multiplications that nobody has to ask for: about a second.
pub const BUDGET: f64 = 1e9;
/// Besides multiplications, each point costs about as much as so many.
const POINT: f64 = 4.0;
/// And each step of a region, where one thread takes it and where all do.
const STEP: [f64; 2] = [300.0, 20_000.0];
/// Points from which on all threads are taken to compute a step.
const MANY: usize = 1 << 13;
/// Bytes for each point that a region depends on: two grids of f64 that take turns, and the values that
/// they come from.
pub const POINT_BYTES: u128 = 24;

/// Memory for the reference of a region.
pub fn bytes(job: &Job, region: Region, steps: usize) -> u128 {
    let extents = reference::before(region, steps, job).extents();
    POINT_BYTES * extents.into_iter().map(|extent| extent as u128).product::<u128>()
}

/// Whether the reference of these regions takes at most so many multiplications.
pub fn is_within_budget(job: &Job, regions: &[Region], steps: usize, budget: f64) -> bool {
    cost(job, regions, steps, budget) <= budget
}

/// About how many multiplications the reference of these regions takes the time of; infinitely many if
/// that is more than `most`.
pub fn cost(job: &Job, regions: &[Region], steps: usize, most: f64) -> f64 {
    let (radii, extents) = (job.stencil.radii(), job.shape.extents());
    let per_point = job.stencil.taps().len() as f64 + POINT;
    // Past this many steps the whole grid is needed, at the same cost for each.
    let reached = (0..3).filter(|&axis| radii[axis] > 0).map(|a| extents[a].div_ceil(radii[a]));
    let growing = reached.max().unwrap_or(0).min(steps);
    let mut cost = 0.0;
    for region in regions {
        let of = |step| {
            let points = reference::before(*region, step, job).points();
            points as f64 * per_point + STEP[usize::from(points >= MANY)]
        };
        cost += (steps - growing) as f64 * of(growing);
        // The most expensive step first, so that the answer comes soon.
        for step in (0..growing).rev() {
            if cost > most {
                return f64::INFINITY;
            }
            cost += of(step);
        }
    }
    if cost > most { f64::INFINITY } else { cost }
}
