// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which points are compared with the reference, and over which steps.
//!
//! A point depends on more and more of the grid the more steps there are, so after many steps only a few
//! points can be compared, or none; and what rounding can cause after many steps hides mistakes. So long
//! runs are also compared a few steps at a time: from the run's own grid after some step, patches are
//! advanced by the reference and compared with the run's grid a launch or two later. Where the end of a run is not
//! known before, the spans follow each other at growing distances.

use crate::Job;
use crate::check::verify::Verify;
use crate::region::Region;

mod cost;
mod facts;
mod patches;
mod slabs;
mod spans;

pub use facts::Facts;
pub use patches::patches;
pub use slabs::full_bytes;
pub use spans::Span;

use cost::{BUDGET, POINT_BYTES, bytes, is_within_budget};
use patches::CHOICES;

/// The points and steps that are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplePlan {
    /// After all steps, from the input on; regions may overlap. None, if that takes too long.
    pub whole: Vec<Region>,
    /// A few steps at a time, in order.
    pub spans: Vec<Span>,
}

/// Whether every point is to be compared after all steps: if that is asked for, or if nothing is and it
/// takes about a second.
#[must_use]
pub fn wants_full(job: &Job, request: Option<Verify>) -> bool {
    match request {
        None => is_within_budget(job, &[Region::whole(job.shape)], job.steps, BUDGET),
        Some(request) => request == Verify::Full,
    }
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
pub fn plan(job: &Job, full: bool, facts: &Facts) -> SamplePlan {
    let whole = match (full, facts.keeps_input) {
        (true, _) => slabs::slabs(job, facts.most_bytes),
        (false, true) => sample(job, facts),
        (false, false) => Vec::new(),
    };
    let wanted = whole.is_empty() || facts.always_spans || explains_anything(job);
    let jumps = facts.jumps;
    let spans = if facts.open_ended {
        spans::growing(job, facts)
    } else if jumps && wanted {
        spans::ends(job, facts)
    } else if wanted || (!jumps && spans::are_worth_it(job, facts.launch)) {
        spans::spans(job, facts)
    } else {
        Vec::new()
    };
    SamplePlan { whole, spans }
}

/// Whether rounding can explain any difference after all steps: what it causes grows by Σ|w| in each.
fn explains_anything(job: &Job) -> bool {
    /// Beyond that few of f32's digits are certain.
    const MOST_GROWTH: f64 = 1e3;
    job.stencil.gain().powf(job.steps as f64) > MOST_GROWTH
}

/// Patches, or all points, as large and many as the budget allows; none if it allows none.
fn sample(job: &Job, facts: &Facts) -> Vec<Region> {
    let fits = |region: &Region| bytes(job, *region, job.steps) <= facts.most_bytes;
    let chosen = CHOICES.into_iter().find_map(|(extent, share)| {
        let regions = patches(job.shape, &facts.seams, extent);
        let regions: Vec<Region> = regions.into_iter().step_by(share).collect();
        let good = regions.iter().all(fits) && is_within_budget(job, &regions, job.steps, BUDGET);
        good.then_some(regions)
    });
    chosen.unwrap_or_else(|| {
        // After many steps a point depends on the whole grid, which then costs no more.
        let whole = Region::whole(job.shape);
        let good = fits(&whole) && is_within_budget(job, &[whole], job.steps, BUDGET);
        if good { vec![whole] } else { Vec::new() }
    })
}

#[cfg(test)]
mod tests {
    use super::cost::cost;
    use super::spans::{MOST_SPANS, SPAN_BUDGET, SPANS, STEPS};
    use super::*;
    use crate::Dtype;
    use crate::check::seams::Seams;
    use transform::catalogue;

    fn job(size: &str, steps: usize) -> Job {
        let stencil = catalogue::find("star2d1r").unwrap();
        let shape = size.parse().unwrap();
        Job::new(stencil, shape, Dtype::F32, steps)
    }

    fn facts(launch: usize) -> Facts {
        let (jumps, seams) = (false, Seams::none());
        Facts {
            launch,
            jumps,
            seams,
            keeps_input: true,
            always_spans: false,
            open_ended: false,
            most_bytes: u128::MAX,
        }
    }

    /// A step whose weights have both signs, such as one upwind of third order: after 100 steps rounding could have caused
    /// anything, after a few it could not.
    #[test]
    fn where_the_bound_grows_a_few_steps_at_a_time_are_compared_as_well() {
        let stencil = catalogue::find("strang5-2d").unwrap();
        assert!(stencil.gain() > 1.05, "{}", stencil.gain());
        let of = |steps| Job { steps, stencil: stencil.clone(), ..job("100x100", 1) };
        let few = auto(&of(2), &facts(1));
        assert!(!few.whole.is_empty() && few.spans.is_empty(), "{few:?}");
        let many = auto(&of(200), &facts(1));
        assert!(!many.whole.is_empty() && !many.spans.is_empty(), "{many:?}");
    }

    /// What is compared without a request.
    fn auto(job: &Job, facts: &Facts) -> SamplePlan {
        plan(job, wants_full(job, None), facts)
    }

    #[test]
    fn small_runs_are_compared_at_every_point() {
        let job = job("1000x1000", 10);
        let whole = vec![Region::whole(job.shape)];
        assert_eq!(auto(&job, &facts(1)), SamplePlan { whole, spans: vec![] });
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
                let SamplePlan { whole, spans } = plan(&job, false, &facts(launch));
                assert!(is_within_budget(&job, &whole, steps, BUDGET), "{steps}");
                assert_eq!(whole.is_empty(), steps > 1000, "{steps}");
                let of_spans = spans
                    .iter()
                    .map(|span| cost(&job, &span.regions, span.to_step - span.from_step, BUDGET));
                assert!(of_spans.sum::<f64>() <= SPAN_BUDGET, "{steps}");
                assert_eq!(spans.is_empty(), steps < 3 * STEPS, "{steps}");
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
    fn jumps_are_compared_over_the_first_and_the_last_steps() {
        let facts = Facts { jumps: true, ..facts(20_000) };
        let plan = auto(&job("300x300", 20_000), &facts);
        let steps: Vec<_> = plan.spans.iter().map(|span| (span.from_step, span.to_step)).collect();
        assert_eq!(steps, [(0, STEPS), (20_000 - STEPS, 20_000)]);
        assert!(plan.whole.is_empty());
        let plan = auto(&job("300x300", 500), &facts);
        assert!(!plan.whole.is_empty() && plan.spans.is_empty());
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
