// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many steps a jump takes.

use super::torus::{self, Rim, Slab};
use problem::{Depth, Job};

/// Seconds of a point of the torus in a jump, on one core, for each time that the number of points can be halved.
const TRANSFORM: f64 = 2.5e-9;
/// By how much lengths with large prime factors take longer.
const ROUGH: f64 = 3.0;
/// Seconds of a step of a point in f64, on one core: for the point, and for each neighbour.
const STEP: [f64; 2] = [0.6e-9, 0.15e-9];

/// Steps of a jump: as many as the run has, or as are asked for; where the boundary has to be stepped, so many that
/// the rim takes about as long as the transforms.
pub fn of(job: &Job) -> usize {
    let most = job.steps.max(1);
    match job.jump {
        Depth::Steps(steps) => steps.min(most),
        Depth::Auto if torus::is_exact(job) => most,
        Depth::Auto => fastest(job, most),
    }
}

/// About how many seconds a jump of so many steps takes on one core.
pub fn seconds(job: &Job, steps: usize) -> f64 {
    let axes = torus::axes(job, steps);
    let step = STEP[0] + STEP[1] * job.stencil.taps().len() as f64;
    let stepped = |points: f64| points * steps as f64 * step;
    // Slabs become thinner in four parts.
    let mean =
        |slab: &Slab| 0.625 * slab.from.points() as f64 + 0.375 * slab.points.points() as f64;
    match torus::rim(job, &axes, torus::left_out(job, steps, f64::EPSILON / 2.0)) {
        Rim::Whole => stepped(job.shape.points() as f64),
        Rim::Slabs(slabs) => {
            let rim: f64 = slabs.iter().map(|slab| stepped(mean(slab))).sum();
            of_transforms(axes.each_ref().map(|axis| axis.length)) + rim
        }
    }
}

/// About how many seconds a torus of these lengths takes to be transformed, multiplied and transformed back on one core.
pub fn of_transforms(lengths: [usize; 3]) -> f64 {
    let points: f64 = lengths.into_iter().map(|length| length as f64).product();
    let rough = lengths.into_iter().any(is_rough);
    TRANSFORM * points * points.max(2.0).log2() * if rough { ROUGH } else { 1.0 }
}

/// Whether a length has a prime factor that no transform is made for.
fn is_rough(length: usize) -> bool {
    const MOST: usize = 31;
    let rest = (2..=MOST).fold(length.max(1), |mut rest, factor| {
        while rest.is_multiple_of(factor) {
            rest /= factor;
        }
        rest
    });
    rest > 1
}

/// The number of steps with the least time for each.
fn fastest(job: &Job, most: usize) -> usize {
    let mut tried = vec![most];
    let mut steps = 1.0f64;
    while (steps as usize) < most.min(1 << 24) {
        tried.push(steps as usize);
        steps = (steps * 1.15).max(steps + 1.0);
    }
    let per_step = |steps: &usize| seconds(job, *steps) / *steps as f64;
    tried.into_iter().min_by(|a, b| per_step(a).total_cmp(&per_step(b))).unwrap_or(1)
}
