// SPDX-License-Identifier: MIT OR Apache-2.0
//! Comparing a few steps at a time.

use std::iter;

use super::cost::{BUDGET, bytes, cost};
use super::facts::Facts;
use super::patches::{CHOICES, patches};
use crate::Job;
use crate::region::Region;

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

/// Of the budget, what spans of a long run may take besides.
pub const SPAN_BUDGET: f64 = BUDGET / 2.0;
/// Steps of a span, unless a launch takes more: enough for every launch to follow another, few enough for
/// what rounding can cause to stay small.
pub const STEPS: usize = 8;
/// Spans of a run, and the most where they are cheap.
pub const SPANS: usize = 5;
pub const MOST_SPANS: usize = 16;
/// Runs of up to so many times the steps of a span are compared as a whole only.
const SHORT: usize = 4;

/// Whether spans tell more of a run than a comparison of all its steps.
pub fn are_worth_it(job: &Job, launch: usize) -> bool {
    job.steps > SHORT * STEPS.next_multiple_of(launch)
}

/// Spans of whole launches, the first from the input on, the last to the end; as many of the grid's points
/// as the budget and memory allow.
pub fn spans(job: &Job, facts: &Facts) -> Vec<Span> {
    let launch = facts.launch;
    let lengths = iter::successors(Some(STEPS.div_ceil(launch)), |launches| {
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

/// Of spans of a few steps the first and the last one.
pub fn ends(job: &Job, facts: &Facts) -> Vec<Span> {
    let mut all = spans(job, &Facts { launch: 1, ..facts.clone() });
    if all.len() > 2 {
        all.drain(1..all.len() - 1);
    }
    all
}

/// Spans of whole launches of a run that may end at any step: the first from the input on, each other one after four times
/// as many steps as the one before.
pub fn growing(job: &Job, facts: &Facts) -> Vec<Span> {
    let launch = if facts.jumps { 1 } else { facts.launch };
    // Values of the last steps are held beside them.
    let most_bytes = facts.most_bytes / 2;
    let all = spans(job, &Facts { launch, most_bytes, ..facts.clone() });
    let Some(first) = all.into_iter().next() else { return Vec::new() };
    let steps = first.to_step;
    let starts = iter::successors(Some(0), |from: &usize| Some((4 * from).max(4 * steps)));
    let within = starts.take_while(|from| from + steps <= job.steps);
    let spans: Vec<Span> = within
        .map(|from_step| Span { from_step, to_step: from_step + steps, ..first.clone() })
        .collect();
    if spans.is_empty() { vec![first] } else { spans }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_of_whole_launches_from_the_first_to_the_last_step() {
        for (steps, launch) in
            [(20_000, 1), (20_001, 12), (97, 12), (100, 3), (1_000_007, 64), (65, 64), (9, 12)]
        {
            let spans = spread(steps, STEPS.next_multiple_of(launch), launch, 5, &[]);
            let (first, last) = (spans.first().unwrap(), spans.last().unwrap());
            assert_eq!((first.from_step, last.to_step), (0, steps));
            assert!(spans.iter().all(|span| span.from_step.is_multiple_of(launch)), "{spans:?}");
            let (inner, lasts) = (&spans[..spans.len() - 1], last.to_step - last.from_step);
            assert!(
                inner.iter().all(|span| (span.to_step - span.from_step).is_multiple_of(launch))
            );
            assert!(lasts <= STEPS.next_multiple_of(launch) + launch, "{steps}: {spans:?}");
            assert!(spans.windows(2).all(|pair| pair[0].to_step <= pair[1].from_step), "{spans:?}");
        }
        assert_eq!(spread(20_000, 8, 1, 5, &[]).len(), 5);
        assert_eq!(spread(0, 8, 1, 5, &[]), []);
    }

    #[test]
    fn spans_of_a_run_that_may_end_at_any_step_grow_with_it() {
        let stencil = transform::catalogue::find("star2d1r").unwrap();
        for (size, steps, launch, jumps) in [
            ("64x64", 1_000_000, 1, false),
            ("64x64", 1_000_000, 12, false),
            ("3000x3000", 100_000, 4, false),
            ("64x64", 1_000_000, 1_000_000, true),
            ("64x64", 5, 1, false),
            ("64x64", 0, 1, false),
        ] {
            let job = Job::new(stencil.clone(), size.parse().unwrap(), crate::Dtype::F32, steps);
            let facts = Facts {
                launch,
                jumps,
                seams: crate::check::seams::Seams::none(),
                keeps_input: true,
                always_spans: false,
                open_ended: true,
                most_bytes: 1 << 30,
            };
            let spans = growing(&job, &facts);
            assert_eq!(spans.is_empty(), steps == 0);
            assert!(spans.iter().all(|span| span.to_step <= steps && !span.regions.is_empty()));
            let whole = |step: usize| jumps || step.is_multiple_of(launch);
            assert!(spans.iter().all(|span| whole(span.from_step)), "{size}: {spans:?}");
            let starts: Vec<usize> = spans.iter().map(|span| span.from_step).collect();
            assert_eq!(starts.first().copied().unwrap_or_default(), 0);
            let grows = |pair: &[usize]| pair[1] > pair[0] && pair[1] <= (4 * pair[0]).max(100);
            assert!(starts.windows(2).all(grows), "{starts:?}");
            // Wherever it ends, a step of its last three quarters was compared.
            assert!(steps < 100 || 4 * starts.last().unwrap() + 100 > steps, "{starts:?}");
        }
    }
}
