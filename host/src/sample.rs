// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which points are compared with the reference, and after how many steps.
//!
//! A point depends on more and more of the grid the more steps there are. So as the number of steps
//! grows, patches shrink, then become fewer, and at last only the first steps are checked.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::engine::Job;
use crate::reference::Region;
use crate::verify::Verify;

/// Multiplications of the reference that nobody has to ask for: about a second.
const BUDGET: f64 = 1e9;
/// Patches at random places.
const RANDOM: usize = 16;
/// Multiples of these are where the engines' tiles meet, on the x axis and on the others.
const SEAMS: ([usize; 4], [usize; 2]) = ([64, 512, 1024, 4096], [16, 32]);

/// What to compare.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The points; regions may overlap.
    pub regions: Vec<Region>,
    /// After this many steps; at most the job's.
    pub steps: usize,
}

/// Decides what to compare; nothing, if verification is off. Without a request: every point if that
/// takes about a second, else a sample.
#[must_use]
pub fn plan(job: &Job, request: Option<Verify>) -> Option<Plan> {
    let whole = Region::whole(job.shape);
    let full = Plan { regions: vec![whole], steps: job.steps };
    match request {
        Some(Verify::Off) => None,
        Some(Verify::Full) => Some(full),
        None if affordable(job, &[whole], job.steps) => Some(full),
        Some(Verify::Sample) | None => Some(sample(job)),
    }
}

/// Patches as large as the budget allows, then fewer of them. Where even a few points are too
/// expensive after all steps, the number of steps is halved until they are not.
fn sample(job: &Job) -> Plan {
    let sizes = [64, 32, 16, 8, 4, 2, 1].map(|extent| (extent, 1));
    let choices = sizes.into_iter().chain([(1, 2), (1, 4), (1, 8)]);
    let mut steps = job.steps;
    loop {
        for (extent, share) in choices.clone() {
            let regions: Vec<Region> = patches(job, extent).into_iter().step_by(share).collect();
            if affordable(job, &regions, steps) || steps == 0 {
                return Plan { regions, steps };
            }
        }
        steps /= 2;
        // After many steps a point depends on the whole grid, which then costs no more.
        let whole = vec![Region::whole(job.shape)];
        if affordable(job, &whole, steps) {
            return Plan { regions: whole, steps };
        }
    }
}

/// Whether the reference of these regions takes at most [`BUDGET`] multiplications.
fn affordable(job: &Job, regions: &[Region], steps: usize) -> bool {
    let (radii, extents) = (job.stencil.radii(), job.shape.extents());
    // Past this many steps the whole grid is needed, at the same cost for each.
    let reached = (0..3).filter(|&axis| radii[axis] > 0).map(|a| extents[a].div_ceil(radii[a]));
    let growing = reached.max().unwrap_or(0).min(steps);
    let mut left = BUDGET / job.stencil.taps().len() as f64;
    for region in regions {
        let domain = |step| region.before(step, job).points() as f64;
        left -= (steps - growing) as f64 * domain(growing);
        // The most expensive step first, so that the answer comes soon.
        for step in (0..growing).rev() {
            if left < 0.0 {
                return false;
            }
            left -= domain(step);
        }
    }
    left >= 0.0
}

/// Patches of that extent at every corner, edge and face, in the middle, around seams of tiles, and
/// at random places.
fn patches(job: &Job, extent: usize) -> Vec<Region> {
    let extents = job.shape.extents();
    // A patch centred there, moved so that it lies in the grid.
    let around = |centre: [usize; 3]| {
        let size = extents.map(|n| n.min(extent));
        let low = |axis: usize| {
            centre[axis].saturating_sub(size[axis] / 2).min(extents[axis] - size[axis])
        };
        let low: [isize; 3] = std::array::from_fn(|axis| low(axis) as isize);
        Region { low, high: std::array::from_fn(|axis| low[axis] + size[axis] as isize) }
    };
    let ends = |n: usize| [0, n / 2, n - 1];
    let [z, y, x] = extents.map(ends);
    let corners = z.iter().flat_map(|&z| y.iter().map(move |&y| [z, y]));
    let mut centres: Vec<[usize; 3]> =
        corners.flat_map(|[z, y]| x.iter().map(move |&x| [z, y, x])).collect();
    for (column, row) in SEAMS.0.into_iter().flat_map(|c| SEAMS.1.map(|r| (c, r))) {
        centres.push([extents[0] / 3, row.min(extents[1] - 1), column.min(extents[2] - 1)]);
    }
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    centres.extend((0..RANDOM).map(|_| extents.map(|n| rng.random_range(0..n))));
    let mut regions: Vec<Region> = centres.into_iter().map(around).collect();
    regions.sort_by_key(|region| region.low);
    regions.dedup();
    regions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dtype;
    use transform::catalogue;

    fn job(size: &str, steps: usize) -> Job {
        let stencil = catalogue::find("star2d1r").unwrap();
        let shape = size.parse().unwrap();
        Job::new(stencil, shape, Dtype::F32, steps)
    }

    fn contains(regions: &[Region], at: [isize; 3]) -> bool {
        let inside =
            |region: &Region| (0..3).all(|a| (region.low[a]..region.high[a]).contains(&at[a]));
        regions.iter().any(inside)
    }

    #[test]
    fn small_runs_are_compared_at_every_point() {
        let plan = plan(&job("1000x1000", 10), None).unwrap();
        assert_eq!(
            plan,
            Plan { regions: vec![Region::whole("1000x1000".parse().unwrap())], steps: 10 }
        );
    }

    #[test]
    fn samples_hold_corners_edges_and_seams() {
        let plan = plan(&job("20000x30000", 3), None).unwrap();
        assert_eq!(plan.steps, 3);
        for at in [[0, 0, 0], [0, 0, 29999], [0, 19999, 0], [0, 19999, 29999], [0, 10000, 0]] {
            assert!(contains(&plan.regions, at), "{at:?}");
        }
        for seam in [64, 512, 1024, 4096] {
            assert!(
                contains(&plan.regions, [0, 32, seam - 1])
                    && contains(&plan.regions, [0, 32, seam])
            );
        }
    }

    #[test]
    fn the_budget_holds_for_any_number_of_steps() {
        for steps in [0, 1, 100, 3000, 1_000_000_000] {
            let job = job("10240x10240", steps);
            let plan = plan(&job, Some(Verify::Sample)).unwrap();
            assert!(affordable(&job, &plan.regions, plan.steps), "{steps}");
            assert!(plan.steps == steps || steps > 100, "{steps}: {}", plan.steps);
            assert!(plan.steps >= steps.min(100) && plan.regions.len() >= 4);
        }
    }

    #[test]
    fn long_runs_on_small_grids_are_compared_everywhere_for_a_while() {
        let job = job("300x300", 20_000);
        let plan = plan(&job, None).unwrap();
        assert_eq!(plan, Plan { regions: vec![Region::whole(job.shape)], steps: 1250 });
    }

    #[test]
    fn off_means_nothing_and_full_means_everything() {
        assert_eq!(plan(&job("8", 1), Some(Verify::Off)), None);
        let plan = plan(&job("10240x10240", 9), Some(Verify::Full)).unwrap();
        assert_eq!((plan.regions[0].points(), plan.steps), (10240 * 10240, 9));
    }
}
