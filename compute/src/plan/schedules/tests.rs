// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is taken, where, and why not.

use super::*;
use crate::device::Chip;
use problem::{Dtype, Error};
use transform::catalogue;

/// The launches for a job that are predicted to be the fastest on sparse tensor cores of a GPU with such limits
/// ([`Schedule`]). The extents are those of a grid that launches can address.
///
/// # Errors
/// No kernel takes the stencil, or as many steps at once as were asked for, within the limits.
fn launches_for(limits: Limits, job: &Job) -> Result<Vec<Proposal>, Error> {
    let machine = &Machine::h200();
    let search = ScheduleSearch { unit: Unit::SparseTensorCores, limits, machine };
    let Candidates { ranked, rejected } = search.candidates(job);
    let refusal = || DepthSchedules { found: vec![], rejected }.nearest().error("sparse");
    ranked.into_iter().next().map(|way| way.launches).ok_or_else(refusal)
}

/// [`launches_for`] an H200.
fn launches(job: &Job) -> Result<Vec<Proposal>, Error> {
    launches_for(Limits::H200, job)
}

fn job(name: &str, size: &str, steps: usize) -> Job {
    let stencil = catalogue::find(name).unwrap();
    Job::new(stencil, size.parse().unwrap(), Dtype::F16, steps)
}

fn depths(job: &Job) -> Vec<(usize, usize)> {
    launches(job).unwrap().iter().map(|launch| (launch.fuse, launch.chain)).collect()
}

#[test]
fn the_gather_is_taken_where_it_is_faster_or_nothing_else_fits() {
    let name = |stencil: &str, dtype| {
        let stencil = catalogue::find(stencil).unwrap();
        let size = ["100000000", "10240x10240", "512x512x512"][stencil.dims() - 1];
        let job = Job::new(stencil, size.parse().unwrap(), dtype, 1);
        launches(&job).unwrap()[0].kernel.name.clone()
    };
    for (stencil, taken) in [
        ("star1d7r", "line1d_f16"),
        ("star1d8r", "gather_f16_1x16"),
        ("box2d3r", "sweep2d_f16_r3"),
        ("star2d4r", "wide2d_f16_r4"),
        ("box2d7r", "wide2d_f16_r7"),
        ("box2d8r", "gather_f16_2x8"),
        ("star3d1r", "sweep3d_f16_r1"),
        ("star3d4r", "gather_f16_2x8_more"),
    ] {
        assert_eq!(name(stencil, Dtype::F16), taken, "{stencil}");
    }
    assert_eq!(name("star2d3r", Dtype::Tf32), "sweep2d_tf32_r3");
    assert_eq!(name("star2d4r", Dtype::Tf32), "gather_tf32_2x8_more");
}

#[test]
fn long_runs_are_fused_and_chained() {
    assert_eq!(depths(&job("box2d1r", "10240x10240", 1000)), [(3, 4), (3, 1), (1, 1)]);
    assert_eq!(depths(&job("box2d3r", "10240x10240", 1000)), [(1, 4), (1, 1)]);
    let of = |dtype| Job { dtype, ..job("box2d1r", "10240x10240", 1000) };
    assert_eq!(depths(&of(Dtype::Bf16)), [(3, 4), (3, 1), (1, 1)]);
    assert_eq!(depths(&of(Dtype::Tf32)), [(3, 3), (3, 1), (1, 1)]);
}

#[test]
fn stars_in_3d_are_chained_and_need_no_rim_beside_zeros() {
    let mut job = job("star3d1r", "1024x1024x1024", 24);
    assert_eq!(depths(&job), [(1, 3), (1, 1)]);
    let first = |job: &Job| launches(job).unwrap()[0].clone();
    assert_eq!(first(&job).rim_steps(&job), 1);
    assert!(first(&job).cost(&job).rim.is_none());
    job.boundary = problem::Boundary::parse("periodic", 3).unwrap();
    job.chain = Depth::Steps(3);
    assert_eq!(first(&job).rim_steps(&job), 3);
    // A tile has at least the rows of a warp.
    job.shape = "8x11x8".parse().unwrap();
    let refused = launches(&job).unwrap_err().to_string();
    assert!(refused.ends_with("at least 12 rows; this grid has 11"), "{refused}");
}

#[test]
fn chips_before_sm_90_fuse_but_do_not_chain() {
    let mut job = job("box2d1r", "10240x10240", 1000);
    let limits = Limits { chip: Chip::Sm80, ..Limits::H200 };
    let found = launches_for(limits, &job).unwrap();
    assert!(found[0].fuse > 1 && found.iter().all(|one| one.chain == 1), "{found:?}");
    job.chain = Depth::Steps(2);
    let refused = launches_for(limits, &job).unwrap_err().to_string();
    assert!(refused.ends_with("the kernel for it needs sm_90 or later"), "{refused}");
}

#[test]
fn chips_before_sm_90_gather_in_3d() {
    let job = job("star3d1r", "100x100x100", 1);
    let name = |limits| launches_for(limits, &job).unwrap()[0].kernel.name.clone();
    assert_eq!(name(Limits::H200), "sweep3d_f16_r1");
    assert_eq!(name(Limits { chip: Chip::Sm80, ..Limits::H200 }), "gather_f16_2x8");
}

#[test]
fn chains_take_no_more_shared_memory_than_a_block_can_have() {
    // What consumer GPUs have.
    let limits = Limits { shared_bytes: 99 << 10, ..Limits::H200 };
    let mut job = job("box2d3r", "10240x10240", 1000);
    assert_eq!(depths(&job)[0], (1, 4));
    let found = launches_for(limits, &job).unwrap();
    assert!(found.iter().all(|one| one.chain == 1), "{found:?}");
    for (name, chain, fits) in [("box2d1r", 4, true), ("box2d2r", 3, true), ("box2d3r", 4, false)] {
        job.stencil = catalogue::find(name).unwrap();
        (job.fuse, job.chain) = (Depth::Steps(1), Depth::Steps(chain));
        let found = launches_for(limits, &job);
        assert_eq!(found.is_ok(), fits, "{name} {chain}");
        let Err(refused) = found else { continue };
        assert!(matches!(refused, Error::Unsupported { engine: "sparse", .. }));
        let reason = "needs 136.6 KiB of shared memory; the GPU has 99.0 KiB";
        assert!(refused.to_string().ends_with(reason), "{refused}");
    }
}

#[test]
fn as_many_steps_are_fused_as_the_points_near_the_boundary_leave_room_for() {
    // The kernel for 1D needs no shared memory itself.
    let mut job = job("star1d1r", "100000", 700);
    job.boundary = problem::Boundary::parse("periodic", 1).unwrap();
    let fused = |shared_bytes| {
        let limits = Limits { shared_bytes, ..Limits::H200 };
        launches_for(limits, &job).map(|found| found[0].fuse)
    };
    let most = fused(Limits::H200.shared_bytes).unwrap();
    assert!(most > 1);
    let mut fits = (0..10_000).step_by(40).map(|shared_bytes| fused(shared_bytes).unwrap_or(0));
    assert!(fits.clone().is_sorted() && fits.any(|fuse| 0 < fuse && fuse < most));
    let refused = fused(0).unwrap_err().to_string();
    assert!(refused.ends_with("need do not fit into shared memory"), "{refused}");
}

#[test]
fn no_more_steps_are_taken_than_there_are() {
    for steps in 0..20 {
        let depths = depths(&job("box2d1r", "10240x10240", steps));
        let (fuse, chain) = depths[0];
        assert!(fuse * chain <= steps.max(1), "{steps}: {depths:?}");
        assert!(depths.last().is_some_and(|last| *last == (1, 1)));
    }
}

#[test]
fn what_was_asked_for_is_done_or_refused() {
    let mut job = job("box2d1r", "1000x1000", 7);
    (job.fuse, job.chain) = (Depth::Steps(2), Depth::Steps(4));
    assert_eq!(depths(&job), [(2, 4), (2, 1), (1, 1)]);
    job.chain = Depth::Steps(1);
    assert_eq!(depths(&job), [(2, 1), (1, 1)]);
    job.fuse = Depth::Steps(9);
    assert!(matches!(launches(&job), Err(Error::Unsupported { .. })));
}

#[test]
fn the_steps_that_remain_count() {
    let machine = Machine::h200();
    let search =
        ScheduleSearch { unit: Unit::SparseTensorCores, limits: Limits::H200, machine: &machine };
    let ranked = |steps| search.candidates(&job("box2d1r", "10240x10240", steps));
    for steps in [1, 5, 13, 23, 100_000] {
        for way in ranked(steps).ranked {
            let mut left = steps;
            let mut seconds = 0.0;
            for launch in &way.launches {
                let one = launch.steps() as f64
                    * search.seconds(&job("box2d1r", "10240x10240", steps), launch);
                seconds += (left / launch.steps()) as f64 * one;
                left %= launch.steps();
            }
            assert_eq!(left, 0, "{way:?}");
            assert!((way.seconds_per_step * steps as f64 / seconds - 1.0).abs() < 1e-9, "{way:?}");
        }
    }
    // A launch of 12 and one more.
    let best = |steps| launches(&job("box2d1r", "10240x10240", steps)).unwrap()[0].clone();
    assert_eq!(best(13).steps(), 12);
    let many = |steps| ranked(steps).ranked[0].seconds_per_step;
    assert!(many(13) > many(12) && many(100_000) < many(13));
}

#[test]
fn a_family_that_was_asked_for_is_not_exchanged() {
    let asked = |family: &'static str| {
        let job = Job { kernel: Some(family), ..job("star2d7r", "900x800", 1) };
        launches(&job).map(|found| found[0].kernel.name.clone()).map_err(|error| error.to_string())
    };
    assert_eq!(asked("wide2d"), Ok("wide2d_f16_r7".into()));
    assert_eq!(asked("gather"), Ok("gather_f16_2x8".into()));
    assert!(asked("sweep2d").is_err());
}

/// Single sweeps take what remains of a family that only chains.
#[test]
fn what_a_chain_leaves_over_is_taken_by_others() {
    let job = Job { kernel: Some("chain2d"), ..job("box2d1r", "1000x1000", 30) };
    let found = launches(&job).unwrap();
    assert_eq!(found[0].family.name(), "chain2d");
    // 12 steps, then 6 of the 30, then those of others.
    let is_own = |one: &Proposal| one.family.name() == "chain2d";
    let own = found.iter().take_while(|one| is_own(one)).count();
    assert!(found[..own].iter().all(|one| one.chain > 1), "{found:?}");
    assert!(own < found.len() && found[own..].iter().all(|one| one.chain == 1), "{found:?}");
    assert_eq!(found.last().unwrap().steps(), 1);
}

/// Where the bound of the gather left out what was faster: its class has no measurement.
#[test]
fn what_was_not_measured_is_not_ruled_out() {
    for (name, fuse) in [("star1d1r", 5), ("star1d1r", 7), ("star3d2r", 2)] {
        let size = if name == "star1d1r" { "1000000" } else { "256x256x256" };
        let job = Job { fuse: Depth::Steps(fuse), dtype: Dtype::Tf32, ..job(name, size, 1000) };
        assert_eq!(launches(&job).map(|found| found[0].fuse).ok(), Some(fuse), "{name} {fuse}");
    }
}
