// SPDX-License-Identifier: MIT OR Apache-2.0
//! Comparing every point, part by part.

use super::cost::bytes;
use crate::Job;
use crate::region::Region;

/// Memory that comparing every point after all steps takes at least.
#[must_use]
pub fn full_bytes(job: &Job) -> u128 {
    bytes_of_slabs(job, slab_sizes(job)[0])
}

/// The grid, cut along its slowest axis into as few slabs as memory allows, but not so few that they
/// take much more memory than needed.
pub fn slabs(job: &Job, most_bytes: u128) -> Vec<Region> {
    let (axis, _) = slowest(job);
    let [least, mut size] = slab_sizes(job);
    while size > least && bytes_of_slabs(job, size) > most_bytes {
        size = size.div_ceil(2).max(least);
    }
    Region::whole(job.shape).cut(axis, size).collect()
}

/// The least and the best number of points of a slab along the slowest axis. Slabs overlap by what they
/// depend on: at most by about as much as they are thick, at best by an eighth of it.
fn slab_sizes(job: &Job) -> [usize; 2] {
    /// Points of a slab that are worth the threads.
    const ENOUGH: [usize; 2] = [1 << 16, 1 << 21];
    let (axis, extent) = slowest(job);
    let layer = job.shape.points() / extent;
    let reach = job.stencil.radii()[axis].saturating_mul(job.steps);
    let size = |times: usize, enough: usize| {
        reach.saturating_mul(times).max(enough.div_ceil(layer)).min(extent)
    };
    [size(1, ENOUGH[0]), size(8, ENOUGH[1])]
}

/// The slowest axis with more than one point, and its extent.
fn slowest(job: &Job) -> (usize, usize) {
    let extents = job.shape.extents();
    let axis = (0..3).find(|&axis| extents[axis] > 1).unwrap_or(2);
    (axis, extents[axis])
}

/// Memory for slabs of so many points along the slowest axis.
fn bytes_of_slabs(job: &Job, size: usize) -> u128 {
    let (axis, extent) = slowest(job);
    let mut slab = Region::whole(job.shape);
    // One in the middle depends on the most.
    slab.low[axis] = (extent.saturating_sub(size) / 2) as isize;
    slab.high[axis] = slab.low[axis] + size.min(extent) as isize;
    bytes(job, slab, job.steps)
}
