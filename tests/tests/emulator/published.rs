// SPDX-License-Identifier: MIT OR Apache-2.0
//! ConvStencil and FlashFFTStencil in the emulator: mistakes in how their launches and their threads wait are caught, in
//! each of their kernels. That samples are right is tested with the other families; here are FlashFFTStencil's steps of
//! any stencil, in launches of any number.

use cuda_sim::FaultKind;
use kernels_gpu::fault::{self, Fault};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;
use stencil::check::verify;
use stencil::engine::EngineRequest;
use stencil::families::find;
use stencil::plan::choose;
use stencil::{Boundary, Depth, Dtype, Grid, Job};
use tests::computations::{random_boundary, random_shape, random_stencil};
use tests::families::{Case, cases_of};
use tests::suite::TestCase as _;
use transform::{Stencil, catalogue};

/// For each kernel, the case with the fewest points.
fn quickest() -> BTreeMap<String, Case> {
    let mut kernels: BTreeMap<String, Case> = BTreeMap::new();
    for case in ["convstencil", "flashfft"].iter().flat_map(|name| cases_of(find(name).unwrap())) {
        if kernels.get(&case.kernel()).is_none_or(|least| case.points() < least.points()) {
            kernels.insert(case.kernel(), case);
        }
    }
    // Of ConvStencil 1D of radius 1 to 4, 2D of 1 to 3, 3D of 1 to 3 in three ways; of FlashFFTStencil one for each
    // number of axes.
    assert_eq!(kernels.len(), 16 + 3);
    kernels
}

fn assert_reported(planted: Fault, expected: impl Fn(&FaultKind) -> bool) {
    for (kernel, case) in quickest() {
        match fault::with(planted, || case.emulate().map(drop)) {
            Ok(()) => panic!("{planted:?} in {case}: not reported"),
            Err(fault) => {
                assert_eq!(&*fault.kernel, kernel, "{planted:?} in {case}: {fault}");
                assert!(expected(&fault.kind), "{planted:?} in {case}: {fault}");
            }
        }
    }
}

#[test]
fn products_of_points_that_are_not_there_yet_are_reported() {
    let expected =
        |kind: &FaultKind| matches!(kind, FaultKind::Race { .. } | FaultKind::Unwritten(_));
    assert_reported(Fault::NoSyncOfPoints, expected);
}

#[test]
fn a_missing_wait_for_the_launch_before_is_reported() {
    assert_reported(Fault::NoWaitForPrevious, |kind| matches!(kind, FaultKind::EarlyStart));
}

#[test]
fn a_late_wait_for_the_launch_before_is_reported() {
    let expected = |kind: &FaultKind| matches!(kind, FaultKind::NoWaitForPrevious(_));
    assert_reported(Fault::LateWait, expected);
}

/// A job for FlashFFTStencil in launches of so many steps.
fn job(stencil: Stencil, shape: &str, steps: usize, fuse: usize) -> Job {
    let (fuse, kernel) = (Depth::Steps(fuse), Some("flashfft"));
    Job { fuse, kernel, ..Job::new(stencil, shape.parse().unwrap(), Dtype::F64, steps) }
}

/// What an emulated run is off by: the part of what rounding explains, and relative to the result.
fn off(job: &Job, seed: u64) -> (f64, f64) {
    let input = Grid::random(job.shape, job.dtype, seed).unwrap();
    let engine = choose(EngineRequest::Emulate, job).unwrap().engine;
    let mut session = engine.prepare(job).unwrap();
    session.load(&input).unwrap();
    session.advance(job.steps).unwrap();
    assert!(session.kernel().unwrap().starts_with("flashfft"));
    let how = (session.arithmetic(), session.jumped());
    let found = verify::whole(job, how, &input, &session.store().unwrap()).unwrap();
    (found.used(), found.rel_l2_err)
}

#[test]
fn any_stencil_on_any_grid_is_right_for_any_number_of_steps() {
    let mut random = ChaCha8Rng::seed_from_u64(31);
    let mut computed = [0; 3];
    let wanted = [8, 8, 3];
    while computed != wanted {
        let stencil = random_stencil(&mut random);
        let dims = stencil.dims();
        if computed[dims - 1] == wanted[dims - 1] {
            continue;
        }
        let shape = random_shape(&mut random, &stencil);
        if shape.points() > 8192 {
            continue;
        }
        let most = [64, 7, 7][dims - 1] / stencil.radius().max(1);
        let fuse = random.random_range(1..=most);
        // With a remainder, or less than a launch.
        let steps = random.random_range(0..=2 * fuse + 1);
        let boundary = random_boundary(&mut random);
        let job = Job { boundary, ..job(stencil, &shape.to_string(), steps, fuse) };
        let (used, _) = off(&job, random.next_u64());
        assert!(
            used <= 1.0,
            "{} on {shape}, {steps} steps, {fuse} fused: {used}",
            job.stencil.name()
        );
        computed[dims - 1] += 1;
    }
}

#[test]
fn errors_are_those_of_f64() {
    for (name, shape, steps, fuse, boundary) in [
        ("star1d1r", "521", 62, 60, "zero"),
        ("star1d3r", "777", 14, 7, "x-:reflect,x+:constant=0.5"),
        ("star2d1r", "61x127", 5, 3, "zero"),
        ("box2d1r", "21x26", 7, 7, "y:periodic,x:reflect"),
        ("star3d1r", "17x20x31", 3, 2, "zero"),
        ("star1d3r", "777", 14, 7, "x-:edge,x+:flux=0.5"),
        ("box2d1r", "21x26", 7, 7, "y:edge,x:flux=0.25"),
    ] {
        let stencil = catalogue::find(name).unwrap();
        let boundary = Boundary::parse(boundary, stencil.dims()).unwrap();
        let job = Job { boundary, ..job(stencil, shape, steps, fuse) };
        let (used, relative) = off(&job, 1);
        assert!(used <= 1.0 && relative <= 1e-13, "{name} on {shape}: {used}, {relative:e}");
    }
}

#[test]
fn steps_that_fill_no_launch_take_one_more() {
    let heat = || catalogue::find("star1d1r").unwrap();
    let launches = |steps, fuse| {
        let job = job(heat(), "1000", steps, fuse);
        choose(EngineRequest::Emulate, &job).unwrap().engine.prepare(&job).unwrap().sweeps(steps)
    };
    assert_eq!([launches(1000, 60), launches(60, 60), launches(61, 60)], [17, 1, 2]);
}

#[test]
fn what_fits_no_tile_is_refused() {
    let refused = |job: &Job| choose(EngineRequest::Emulate, job).err().unwrap().to_string();
    let heat = catalogue::find("star2d1r").unwrap();
    let text = refused(&job(heat, "100x100", 8, 8));
    let expected = "flashfft has tiles of 16 points along an axis in 2D; steps may reach 15 to both sides \
                    together, and 8 steps of this stencil reach 16";
    assert!(text.contains(expected), "{text}");
    let heat = catalogue::find("star1d1r").unwrap();
    let text = refused(&Job { dtype: Dtype::F32, ..job(heat, "100", 8, 8) });
    assert!(text.contains("flashfft transforms f64, not f32"), "{text}");
}
