// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which points are compared with the reference, and over which steps.
//!
//! A point depends on more and more of the grid the more steps there are, so after many steps only a few
//! points can be compared, or none; and what rounding can cause after many steps hides mistakes. So long
//! runs are also compared a few steps at a time: from the run's own grid after some step, patches are
//! advanced by the reference and compared with the run's grid a launch or two later.

use std::iter;

use crate::engine::Job;
use crate::patches::patches;
use crate::reference;
use crate::region::Region;
use crate::seams::Seams;
use crate::verify::Verify;

/// Multiplications of the reference that nobody has to ask for: about a second.
const BUDGET: f64 = 1e9;
/// Of these, what short spans of a long run may take besides.
const SPAN_BUDGET: f64 = BUDGET / 2.0;
/// Besides multiplications, each point costs about as much as so many.
const POINT: f64 = 4.0;
/// And each step of a region, where one thread takes it and where all do.
const STEP: [f64; 2] = [300.0, 20_000.0];
/// Points from which on all threads are taken to compute a step.
const MANY: usize = 1 << 13;
/// Bytes of the reference for each point that a region depends on: two grids of f64 that take turns,
/// and the values that they come from.
const POINT_BYTES: u128 = 24;

/// Steps of a span, unless a launch takes more: enough for every launch to follow another, few enough for
/// what rounding can cause to stay small.
const SPAN_STEPS: usize = 8;
/// Spans of a run, and the most where they are cheap.
const SPANS: usize = 5;
const MOST_SPANS: usize = 16;
/// Runs of up to so many times the steps of a span are compared as a whole only.
const SHORT: usize = 4;

/// What to compare.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// After all steps, from the input on; regions may overlap. None, if that takes too long.
    pub whole: Vec<Region>,
    /// A few steps at a time, in order.
    pub spans: Vec<Span>,
}

/// A comparison of a few steps in the middle of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// The step after which the reference takes over the run's grid.
    pub from_step: usize,
    /// The step after which both are compared.
    pub to_step: usize,
    /// The points; regions may overlap.
    pub regions: Vec<Region>,
}

/// What a plan has to know of a run besides the job.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Steps of the launch that most steps are taken with.
    pub launch: usize,
    /// Where the kernels' tiles meet.
    pub seams: Seams,
    /// Whether the input is there after the run.
    pub keeps_input: bool,
    /// Memory for the reference.
    pub most_bytes: u128,
}

/// Whether every point is to be compared after all steps: if that is asked for, or if nothing is and it
/// takes about a second.
#[must_use]
pub fn wants_full(job: &Job, request: Option<Verify>) -> bool {
    match request {
        None => affordable(job, &[Region::whole(job.shape)], job.steps, BUDGET),
        Some(request) => request == Verify::Full,
    }
}

/// Memory that comparing every point after all steps takes at least.
#[must_use]
pub fn full_bytes(job: &Job) -> u128 {
    bytes_of_slabs(job, slab_sizes(job)[0])
}

/// Memory that a sample takes at least.
#[must_use]
pub fn sample_bytes(job: &Job) -> u128 {
    /// Enough for patches that see their neighbours.
    const ENOUGH: u128 = 16 << 20;
    ENOUGH.min(POINT_BYTES * job.shape.points() as u128)
}

/// Decides what to compare; `full` says whether that is every point after all steps, of which the caller
/// knows that there is memory for it.
#[must_use]
pub fn plan(job: &Job, full: bool, facts: &Facts) -> Plan {
    let whole = match (full, facts.keeps_input) {
        (true, _) => slabs(job, facts.most_bytes),
        (false, true) => sample(job, facts),
        (false, false) => Vec::new(),
    };
    let span = SPAN_STEPS.next_multiple_of(facts.launch);
    let spans =
        if whole.is_empty() || job.steps > SHORT * span { spans(job, facts) } else { Vec::new() };
    Plan { whole, spans }
}

/// The grid, cut along its slowest axis into as few slabs as memory allows, but not so few that they
/// take much more memory than needed.
fn slabs(job: &Job, most_bytes: u128) -> Vec<Region> {
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

fn bytes(job: &Job, region: Region, steps: usize) -> u128 {
    let extents = reference::before(region, steps, job).extents();
    POINT_BYTES * extents.into_iter().map(|extent| extent as u128).product::<u128>()
}

/// Extents of patches to try, and of how many only one is taken.
const CHOICES: [(usize, usize); 10] =
    [(64, 1), (32, 1), (16, 1), (8, 1), (4, 1), (2, 1), (1, 1), (1, 2), (1, 4), (1, 8)];

/// Patches, or all points, as large and many as the budget allows; none if it allows none.
fn sample(job: &Job, facts: &Facts) -> Vec<Region> {
    let fits = |region: &Region| bytes(job, *region, job.steps) <= facts.most_bytes;
    let chosen = CHOICES.into_iter().find_map(|(extent, share)| {
        let regions = patches(job.shape, &facts.seams, extent);
        let regions: Vec<Region> = regions.into_iter().step_by(share).collect();
        let good = regions.iter().all(fits) && affordable(job, &regions, job.steps, BUDGET);
        good.then_some(regions)
    });
    chosen.unwrap_or_else(|| {
        // After many steps a point depends on the whole grid, which then costs no more.
        let whole = Region::whole(job.shape);
        let good = fits(&whole) && affordable(job, &[whole], job.steps, BUDGET);
        if good { vec![whole] } else { Vec::new() }
    })
}

/// Spans of whole launches, the first from the input on, the last to the end; as many of the grid's points
/// as the budget and memory allow.
fn spans(job: &Job, facts: &Facts) -> Vec<Span> {
    let launch = facts.launch;
    let lengths = iter::successors(Some(SPAN_STEPS.div_ceil(launch)), |launches| {
        (*launches > 1).then_some(launches / 2)
    });
    let patches = |(extent, share): (usize, usize)| -> Vec<Region> {
        patches(job.shape, &facts.seams, extent).into_iter().step_by(share).collect()
    };
    for steps in lengths.map(|launches| launches * launch) {
        // The last span has what is left of a launch, too.
        let most_steps = steps + launch - 1;
        // Shorter spans are better than fewer places.
        let (all, fewer) = CHOICES.split_at(CHOICES.len() - 3);
        let fewer = if steps == launch { fewer } else { &[] };
        let places = all.iter().chain(fewer).map(|&choice| patches(choice));
        for regions in iter::once(vec![Region::whole(job.shape)]).chain(places) {
            // All of them are read before the steps.
            let need: u128 = regions.iter().map(|region| bytes(job, *region, most_steps)).sum();
            let cost = cost(job, &regions, most_steps, SPAN_BUDGET);
            let most = (SPAN_BUDGET / cost) as usize;
            if need <= facts.most_bytes && most >= SPANS {
                return spread(job.steps, steps, launch, most.min(MOST_SPANS), &regions);
            }
        }
    }
    let fewest = patches(CHOICES[CHOICES.len() - 1]);
    spread(job.steps, launch, launch, SPANS, &fewest)
}

/// Spans of so many steps, in equal parts of all steps at places that do not repeat, which begin with a
/// launch.
fn spread(all: usize, steps: usize, launch: usize, count: usize, regions: &[Region]) -> Vec<Span> {
    let span = |from_step, to_step| Span { from_step, to_step, regions: regions.to_vec() };
    if all <= steps {
        return if all == 0 { Vec::new() } else { vec![span(0, all)] };
    }
    let count = count.min(all / steps).max(2);
    let last = (all - steps) / launch * launch;
    let mut spans = vec![span(0, steps)];
    for index in 1..count - 1 {
        // Multiples of the golden ratio leave no pattern.
        let within = (index as f64 * 0.618_034).fract();
        let part = last as f64 / (count - 1) as f64;
        let from = ((index as f64 - 0.5 + within) * part) as usize / launch * launch;
        let free = spans.last().map_or(0, |before| before.to_step);
        if from >= free && from + steps <= last {
            spans.push(span(from, from + steps));
        }
    }
    // What is left of the last launch belongs to the last span.
    let from = last.max(spans.last().map_or(0, |before| before.to_step));
    spans.extend((from < all).then(|| span(from, all)));
    spans
}

/// Whether the reference of these regions takes at most so many multiplications.
fn affordable(job: &Job, regions: &[Region], steps: usize, budget: f64) -> bool {
    cost(job, regions, steps, budget) <= budget
}

/// About how many multiplications the reference of these regions takes the time of; infinitely many if
/// that is more than `most`.
fn cost(job: &Job, regions: &[Region], steps: usize, most: f64) -> f64 {
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

    fn facts(launch: usize) -> Facts {
        Facts { launch, seams: Seams::none(), keeps_input: true, most_bytes: u128::MAX }
    }

    /// What is compared without a request.
    fn auto(job: &Job, facts: &Facts) -> Plan {
        plan(job, wants_full(job, None), facts)
    }

    #[test]
    fn small_runs_are_compared_at_every_point() {
        let job = job("1000x1000", 10);
        let whole = vec![Region::whole(job.shape)];
        assert_eq!(auto(&job, &facts(1)), Plan { whole, spans: vec![] });
    }

    #[test]
    fn large_runs_are_compared_at_patches() {
        let job = job("20000x30000", 3);
        let plan = auto(&job, &facts(1));
        assert!(plan.whole.len() > 16 && plan.spans.is_empty());
        assert!(plan.whole.iter().all(|region| region.points() == 64 * 64));
    }

    #[test]
    fn the_budget_holds_for_any_number_of_steps() {
        for steps in [0, 1, 100, 3000, 1_000_000_000] {
            for launch in [1, 12] {
                let job = job("10240x10240", steps);
                let Plan { whole, spans } = plan(&job, false, &facts(launch));
                assert!(affordable(&job, &whole, steps, BUDGET), "{steps}");
                assert_eq!(whole.is_empty(), steps > 1000, "{steps}");
                let of_spans = spans
                    .iter()
                    .map(|span| cost(&job, &span.regions, span.to_step - span.from_step, BUDGET));
                assert!(of_spans.sum::<f64>() <= SPAN_BUDGET, "{steps}");
                assert_eq!(spans.is_empty(), steps < 3 * SPAN_STEPS, "{steps}");
            }
        }
    }

    #[test]
    fn every_step_of_a_small_grid_counts_though_its_points_are_few() {
        let job = job("3x3", 10_000_000);
        let plan = auto(&job, &facts(1));
        assert!(plan.whole.is_empty());
        assert_eq!(plan.spans.len(), MOST_SPANS);
        assert!(plan.spans.iter().all(|span| span.regions == [Region::whole(job.shape)]));
        assert!(wants_full(&self::job("3x3", 100_000), None));
    }

    #[test]
    fn spans_are_of_whole_launches_from_the_first_to_the_last_step() {
        for (steps, launch) in
            [(20_000, 1), (20_001, 12), (97, 12), (100, 3), (1_000_007, 64), (65, 64), (9, 12)]
        {
            let spans = spread(steps, SPAN_STEPS.next_multiple_of(launch), launch, 5, &[]);
            let (first, last) = (spans.first().unwrap(), spans.last().unwrap());
            assert_eq!((first.from_step, last.to_step), (0, steps));
            assert!(spans.iter().all(|span| span.from_step.is_multiple_of(launch)), "{spans:?}");
            let (inner, lasts) = (&spans[..spans.len() - 1], last.to_step - last.from_step);
            assert!(
                inner.iter().all(|span| (span.to_step - span.from_step).is_multiple_of(launch))
            );
            assert!(lasts <= SPAN_STEPS.next_multiple_of(launch) + launch, "{steps}: {spans:?}");
            assert!(spans.windows(2).all(|pair| pair[0].to_step <= pair[1].from_step), "{spans:?}");
        }
        assert_eq!(spread(20_000, 8, 1, 5, &[]).len(), 5);
        assert_eq!(spread(0, 8, 1, 5, &[]), []);
    }

    #[test]
    fn long_runs_are_compared_a_few_steps_at_a_time_besides_where_they_can_be_as_a_whole() {
        let long = job("300x300", 20_000);
        let plan = auto(&long, &facts(1));
        assert!(plan.whole.is_empty() && plan.spans.len() >= SPANS);
        let medium = job("300x300", 500);
        let plan = auto(&medium, &facts(1));
        assert_eq!(plan.whole, [Region::whole(medium.shape)]);
        assert!(plan.spans.len() >= SPANS);
    }

    #[test]
    fn wide_stencils_in_3d_have_spans_of_single_launches() {
        let stencil = catalogue::find("box3d8r").unwrap();
        let job = Job::new(stencil, "500x500x500".parse().unwrap(), Dtype::F16, 1000);
        let plan = auto(&job, &facts(1));
        assert!(plan.whole.is_empty() && plan.spans.len() >= SPANS, "{plan:?}");
        let is_short = |span: &Span| span.to_step == span.from_step + 1;
        assert!(plan.spans.iter().all(|span| is_short(span) && span.regions.len() > 16));
    }

    #[test]
    fn full_means_every_point_once_in_as_much_memory_as_there_is() {
        assert!(wants_full(&job("10240x10240", 9), Some(Verify::Full)));
        assert!(!wants_full(&job("8", 1), Some(Verify::Sample)));
        for (size, steps) in [("10240x10240", 9), ("100000000", 3), ("1x9000x1000", 2), ("1x1", 5)]
        {
            let mut job = job(size, steps);
            if job.shape.dims() == 1 {
                job.stencil = catalogue::find("star1d1r").unwrap();
            } else if job.shape.dims() == 3 {
                job.stencil = catalogue::find("star3d1r").unwrap();
            }
            for most_bytes in [u128::MAX, 64 << 20, full_bytes(&job)] {
                let regions = plan(&job, true, &Facts { most_bytes, ..facts(1) }).whole;
                let points: usize = regions.iter().map(Region::points).sum();
                assert_eq!(points, job.shape.points());
                let most = regions.iter().map(|region| bytes(&job, *region, steps)).max().unwrap();
                assert!(most <= most_bytes, "{size}: {most} of {most_bytes}");
            }
        }
    }

    #[test]
    fn patches_shrink_to_the_memory_there_is() {
        let job = job("20000x30000", 100_000);
        for most_bytes in [1 << 30, 16 << 20, 1 << 20] {
            let spans = plan(&job, false, &Facts { most_bytes, ..facts(4) }).spans;
            let span = &spans[1];
            let steps = span.to_step - span.from_step;
            let need: u128 = span.regions.iter().map(|region| bytes(&job, *region, steps)).sum();
            assert!(need <= most_bytes, "{need} of {most_bytes}");
        }
    }
}
