// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plans of the whole catalogue: valid, consistent, fast, and clear about what they refuse.

use cuda_mma::fragment::Element;
use std::time::{Duration, Instant};
use transform::catalogue;
use transform::encode::encode;
use transform::explore::{Candidate, Layout, Request};
use transform::fuse::fuse;
use transform::machine::Machine;
use transform::model::Bound;
use transform::plan::{LayoutPlan, PlanError, plan};
use transform::roofline::Scenario;
use transform::sparsify::{Granularity, Sparse24};
use transform::stencil::Stencil;

fn extents(dims: usize) -> [usize; 3] {
    [[1, 1, 100_000_000], [1, 10240, 10240], [512, 512, 512]][dims - 1]
}

fn planned(
    stencil: &Stencil,
    element: Element,
    most_steps: usize,
) -> Result<LayoutPlan, PlanError> {
    let machine = Machine::h200();
    let extents = extents(stencil.dims());
    plan(&Request { stencil, extents, element, machine: &machine, most_steps })
}

fn named(name: &str) -> Stencil {
    catalogue::find(name).unwrap()
}

#[test]
fn every_kernel_of_the_catalogue_has_a_sparse_plan() {
    for entry in catalogue::entries() {
        for element in [Element::F16, Element::Tf32] {
            let plan = planned(&entry.stencil(), element, 1).unwrap();
            let name = entry.name;
            let again = Sparse24::with(
                Granularity::of(element),
                &plan.morphed.matrix,
                plan.permutation.clone(),
            );
            assert_eq!(again.unwrap(), plan.sparse, "{name}");
            assert_eq!(plan.permutation.len(), plan.layout.slots, "{name}");
            assert_eq!(plan.permutation.iter().flatten().count(), plan.layout.columns, "{name}");
            assert_eq!(plan.layout.slots, plan.layout.work.instructions * plan.layout.work.mma.k);
            let encoded = encode(&plan.sparse, plan.layout.work.mma, 0);
            assert_eq!(encoded.steps, plan.layout.work.instructions, "{name}");
            assert!(plan.seconds >= plan.memory_limit_seconds, "{name}");
            assert!(plan.macs_per_output >= plan.points as f64, "{name}");
            assert!(plan.rooflines.sparse.sparsity <= 1.0, "{name}");
            for pair in plan.exploration.ranked.windows(2) {
                assert!(pair[0].seconds_per_step() <= pair[1].seconds_per_step(), "{name}");
            }
        }
    }
}

/// Fused steps share a sweep: where memory is the limit, the deeper the faster.
#[test]
fn candidates_are_ranked_by_the_time_of_a_step() {
    let plan = planned(&named("star1d1r"), Element::F16, 4).unwrap();
    let ranked = &plan.exploration.ranked;
    for candidate in ranked {
        let sweep = candidate.seconds_per_step() * candidate.steps as f64;
        assert!((sweep / candidate.time.total() - 1.0).abs() < 1e-12);
    }
    assert!(ranked.is_sorted_by_key(Candidate::seconds_per_step));
    let depth = |candidate: &Candidate| candidate.steps;
    assert_eq!((depth(&ranked[0]), ranked.iter().map(depth).min()), (4, Some(1)));
}

/// The register-window layout is what the 2D kernels run.
#[test]
fn small_2d_stencils_take_the_register_window() {
    for name in ["star2d1r", "star2d2r", "star2d3r", "box2d1r", "box2d2r", "box2d3r"] {
        // tf32 takes twice the instructions and loads: its elements are twice as wide.
        for (element, factor) in [(Element::F16, 1), (Element::Bf16, 1), (Element::Tf32, 2)] {
            let plan = planned(&named(name), element, 1).unwrap();
            assert_eq!(plan.layout.layout, Layout::RegisterWindow, "{name} in {element}");
            let instructions = (factor * (plan.radius + 1)) as f64;
            assert_eq!(plan.instructions_per_128_outputs, instructions, "{name} in {element}");
            let wavefronts = plan.layout.load.wavefronts;
            assert_eq!(wavefronts, 4 * factor, "{name} in {element}: without a bank conflict");
            assert_eq!(plan.seconds, plan.memory_limit_seconds, "{name} in {element}");
        }
    }
}

/// Where rows are longer, or there are three dimensions, the row window holds them in registers.
#[test]
fn larger_stencils_take_the_row_window() {
    for (name, steps) in [("box2d7r", 15), ("star2d4r", 9), ("box3d2r", 25)] {
        let plan = planned(&named(name), Element::F16, 1).unwrap();
        assert_eq!(plan.layout.layout, Layout::RowWindow, "{name}");
        assert_eq!(plan.instructions_per_128_outputs, f64::from(steps), "{name}");
    }
    let large = planned(&named("box2d7r"), Element::F16, 1).unwrap();
    assert_eq!(large.layout.time.bound(), Bound::Compute);
    assert_eq!(large.rooflines.sparse.sparsity, 15.0 / 32.0, "SPIDER's S");
    assert_eq!(large.macs_per_output, 15.0 * 16.0);
}

/// Stars have few chunks of inputs; whatever else there is, chunks have a layout up to radius 8.
#[test]
fn chunks_are_weighed_for_every_stencil_and_taken_for_small_3d_stars() {
    let best = planned(&named("star3d1r"), Element::F16, 1).unwrap().layout;
    assert_eq!((best.layout, best.factors), (Layout::Chunks, [1, 1, 16]));
    for (name, steps) in [("star3d1r", 3), ("star3d4r", 8), ("star2d8r", 6), ("box2d8r", 26)] {
        let plan = planned(&named(name), Element::F16, 1).unwrap();
        let chunks = |candidate: &&Candidate| candidate.layout == Layout::Chunks;
        let candidates = plan.exploration.ranked.iter().filter(chunks);
        let fewest = candidates.min_by_key(|candidate| candidate.work.instructions).unwrap();
        assert_eq!(fewest.work.instructions, steps, "{name}");
        assert_eq!(fewest.load.loads, steps, "{name}: a load for each product");
        assert_eq!(fewest.slots, 32 * steps, "{name}");
    }
    let far = planned(&named("star1d9r"), Element::F16, 1).unwrap();
    let refused = far.exploration.rejected.iter().find(|r| r.layout == Some(Layout::Chunks));
    assert!(refused.unwrap().reason.ends_with("this stencil has 9"));
}

/// Fusing pays where a single step is at the memory limit.
#[test]
fn fusing_gains_at_the_memory_limit() {
    let single = planned(&named("box2d1r"), Element::F16, 1).unwrap();
    let fused = planned(&named("box2d1r"), Element::F16, 4).unwrap();
    assert!(fused.layout.steps > 1);
    assert!(fused.gstencils_per_s > 1.5 * single.gstencils_per_s);
    let alpha = fused.rooflines.sparse.alpha;
    let steps = fused.layout.steps;
    let points = (2 * steps + 1) * (2 * steps + 1);
    assert_eq!(fused.fused_points, points);
    assert_eq!(alpha, points as f64 / (9 * steps) as f64);
}

/// Each unit has its own best number of steps, and is compared with the stencil that does as many.
#[test]
fn units_are_compared_at_their_own_steps() {
    let stencil = named("star2d2r");
    let plan = planned(&stencil, Element::F16, 6).unwrap();
    let dense = plan.exploration.dense.unwrap();
    assert_ne!(plan.layout.steps, dense.steps, "the case tells the units apart");
    let work = [&plan.layout.work, &dense.work];
    for (steps, work, roofline) in [
        (plan.layout.steps, work[0], plan.rooflines.sparse),
        (dense.steps, work[1], plan.rooflines.dense),
    ] {
        let fused = fuse(&stencil, steps).unwrap().taps().len() as f64;
        let stepped = (9 * steps) as f64;
        assert_eq!(roofline.alpha, fused / stepped, "{steps} steps");
        assert_eq!(roofline.cuda.demand.flop, 2.0 * stepped, "{steps} steps");
        let depth = if work.sparse { work.mma.k } else { work.mma.k / 2 };
        let multiplied = (16 * depth * work.instructions) as f64 / (work.outputs() / 8) as f64;
        assert!((roofline.sparsity - fused / multiplied).abs() < 1e-12, "{steps} steps");
    }
}

#[test]
fn rooflines_follow_the_scenarios() {
    let scenario = |name| planned(&named(name), Element::F16, 1).unwrap().rooflines.sparse.scenario;
    assert_eq!(scenario("star2d1r"), Scenario::NoGain);
    assert_eq!(scenario("box2d3r"), Scenario::Wins);
}

#[test]
fn what_cannot_be_planned_is_refused_with_the_reason() {
    let error = planned(&named("box3d16r"), Element::F16, 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no layout for box3d16r: a tile's bounding box has 35937 inputs (33x33x33); at most 16384 \
         are planned for"
    );
    let stencil = named("star2d1r");
    let machine = Machine { half: Machine::h200().double, ..Machine::h200() };
    let request = Request {
        stencil: &stencil,
        extents: [1, 64, 64],
        element: Element::F16,
        machine: &machine,
        most_steps: 1,
    };
    assert_eq!(
        plan(&request).unwrap_err().to_string(),
        "no layout for star2d1r: NVIDIA H200 has no sparse tensor cores for f16"
    );
    // Steps that cannot be fused are a rejected candidate, not an error.
    let plan = planned(&named("star2d8r"), Element::F16, 4).unwrap();
    let reasons: Vec<_> =
        plan.exploration.rejected.iter().filter(|r| r.factors.is_none()).collect();
    assert_eq!(reasons.len(), 1);
    assert!(reasons[0].reason.starts_with("fusing 3 steps of radius 8"), "{}", reasons[0].reason);
}

/// A release build plans the largest kernel in under 100 ms and the median one in under 5 ms; the
/// tests' own build, with its checks, gets four times as long. The best of three, as other work may
/// share the machine.
#[test]
fn plans_are_fast() {
    let slack = if cfg!(debug_assertions) { 4 } else { 1 };
    let mut times: Vec<Duration> = catalogue::entries()
        .iter()
        .map(|entry| {
            let stencil = entry.stencil();
            let once = |_| {
                let start = Instant::now();
                planned(&stencil, Element::F16, 1).unwrap();
                start.elapsed()
            };
            (0..3).map(once).min().unwrap()
        })
        .collect();
    times.sort_unstable();
    let (median, longest) = (times[times.len() / 2], times[times.len() - 1]);
    assert!(median < Duration::from_millis(5) * slack, "median {median:?}");
    assert!(longest < Duration::from_millis(100) * slack, "longest {longest:?}");
}

/// A tile is left out where its bound is slower than what was found, and only there.
#[test]
fn tiles_that_may_be_faster_are_tried_and_no_others() {
    let tried = |name| {
        let plan = planned(&named(name), Element::F16, 1).unwrap();
        let layouts = plan.exploration.ranked.iter().map(|candidate| candidate.layout);
        layouts.filter(|layout| matches!(layout, Layout::Table(_))).count()
    };
    // Nothing is as fast as the window that holds 49 neighbours; rows of a star in 3D waste most of one.
    assert_eq!(tried("box2d3r"), 0);
    assert!(tried("star3d4r") > 50);
}

#[test]
fn what_is_left_out_says_of_which_tile() {
    let plan = planned(&named("star1d1r"), Element::F16, 1).unwrap();
    let chunks = plan.exploration.rejected.iter().filter(|one| one.layout == Some(Layout::Chunks));
    assert_eq!(chunks.map(|one| one.factors).collect::<Vec<_>>(), [Some([1, 2, 8])]);
}
