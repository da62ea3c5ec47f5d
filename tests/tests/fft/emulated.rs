// SPDX-License-Identifier: MIT OR Apache-2.0
//! The GPU kernels of the fft engine in the emulator against the f64 oracle.

use cuda_sim::FaultKind;
use kernels_gpu::fault::{self, Fault};
use rayon::prelude::*;
use stencil::device::{Device, Emulator};
use stencil::engine::fft::on_gpu;
use stencil::plan::{self, RunTarget};
use stencil::{Boundary, Depth, Dtype, Job};
use tests::jumps::{abilities, cases};
use tests::suite::TestCase as _;
use transform::machine::Machine;
use transform::{Stencil, catalogue};

use crate::agree;

/// The relative error, and how many jumps there were.
fn check(job: &Job, seed: u64) -> (f64, usize) {
    let abilities = abilities();
    on_gpu::check(&abilities, job).unwrap();
    let device: &dyn Device = &Emulator::new().with_seed(seed);
    let mut session = on_gpu::session(device, &abilities, job).unwrap();
    (agree(&mut *session, job, seed), session.jumped().unwrap().count)
}

/// In every type and number of dimensions, as the GPU's suite runs them.
#[test]
fn random_jobs_agree_with_the_oracle() {
    cases().par_iter().for_each(|case| {
        let points = case.emulate().unwrap_or_else(|fault| panic!("{case}: {fault}"));
        let found = case.compare(&points, &points);
        assert!(found.holds(), "{case}: {found:?}");
    });
}

/// Of each type and number of dimensions the smallest case, with a mistake planted.
fn assert_reported(planted: Fault, expected: impl Fn(&FaultKind) -> bool) {
    let mut all = cases();
    all.sort_by_key(|case| (case.kernel(), case.points()));
    all.retain(|case| case.points() > 100);
    all.dedup_by_key(|case| case.kernel());
    assert_eq!(all.len(), 15);
    for case in all {
        match fault::with(planted, || case.emulate().map(drop)) {
            Ok(()) => panic!("{planted:?} in {case}: not reported"),
            Err(fault) => assert!(expected(&fault.kind), "{planted:?} in {case}: {fault}"),
        }
    }
}

#[test]
fn stages_that_do_not_wait_for_each_other_are_reported() {
    let expected =
        |kind: &FaultKind| matches!(kind, FaultKind::Race { .. } | FaultKind::Unwritten(_));
    assert_reported(Fault::NoSyncOfPoints, expected);
}

#[test]
fn a_missing_wait_for_the_launch_before_is_reported() {
    assert_reported(Fault::NoWaitForPrevious, |kind| matches!(kind, FaultKind::EarlyStart));
    let late = |kind: &FaultKind| matches!(kind, FaultKind::NoWaitForPrevious(_));
    assert_reported(Fault::LateWait, late);
}

fn job(stencil: Stencil, size: &str, boundary: &str, dtype: Dtype, steps: usize) -> Job {
    let boundary = Boundary::parse(boundary, stencil.dims()).unwrap();
    let shape = size.parse().unwrap();
    Job { boundary, ..Job::new(stencil, shape, dtype, steps) }
}

/// Every pass in f64 and in one more type, of which each has its turn.
#[test]
fn every_pass_in_two_types() {
    let named = |name: &str| catalogue::find(name).unwrap();
    let drift = Stencil::dense("drift", &[3], &[0.3, 0.7, 0.0]).unwrap();
    let passes = [
        (named("star1d2r"), "1000", "periodic", 500),
        (drift, "1021", "periodic", 300),
        (named("star1d1r"), "70000", "zero", 200),
        (named("star2d1r"), "48x70", "periodic", 100),
        (named("star2d1r"), "31x37", "zero", 50),
        (named("box2d3r"), "40x50", "y:reflect,x:periodic", 50),
        (named("star2d1r"), "30x41", "x-:constant=3,x+:constant=1,y:constant=1", 60),
        (named("star3d1r"), "10x14x15", "x:reflect,y:zero,z:periodic", 40),
        (named("star2d1r"), "31x37", "edge", 50),
        (named("star3d1r"), "10x14x15", "x:edge,y-:reflect,y+:edge,z-:edge,z+:zero", 40),
    ];
    let others = [Dtype::F16, Dtype::F32, Dtype::Bf16, Dtype::Tf32];
    for ((stencil, size, boundary, steps), other) in passes.into_iter().zip(others.iter().cycle()) {
        for dtype in [Dtype::F64, *other] {
            let job = job(stencil.clone(), size, boundary, dtype, steps);
            let (error, _) = check(&job, 3);
            let most = match dtype {
                Dtype::F64 => 1e-12,
                Dtype::F32 | Dtype::Tf32 => 1e-6,
                _ => 1e-2,
            };
            assert!(error < most, "{} {size} {boundary} {dtype}: {error:e}", job.stencil.name());
        }
    }
}

/// Columns of which few fit shared memory are transformed in two parts, in a place of their own where they have images.
#[test]
fn long_columns_in_two_parts() {
    let named = |name: &str| catalogue::find(name).unwrap();
    for (stencil, size, boundary, dtype, axis, is_wide) in [
        (named("star2d1r"), "2000x6", "periodic", Dtype::F64, 1, false),
        (named("box2d3r"), "2003x5", "y:periodic,x:reflect", Dtype::F32, 1, true),
        (named("star2d1r"), "1790x4", "zero", Dtype::F64, 1, true),
        (named("star3d1r"), "3x1920x4", "periodic", Dtype::F16, 1, false),
        (named("star3d1r"), "3x1931x2", "periodic", Dtype::F64, 1, true),
        (named("star3d1r"), "1920x3x4", "periodic", Dtype::F32, 0, false),
        (named("star3d1r"), "1931x3x4", "periodic", Dtype::F64, 0, true),
    ] {
        let job = job(stencil, size, boundary, dtype, 40);
        let torus = on_gpu::Torus::of(&job, &abilities()).unwrap().spectra;
        assert!(torus.cut[axis] && torus.is_wide(axis) == is_wide, "{size}");
        let (error, _) = check(&job, 5);
        let most = if dtype == Dtype::F64 { 1e-12 } else { 1e-3 };
        assert!(error < most, "{size} {boundary} {dtype}: {error:e}");
    }
}

/// Waves that fade are neither stored nor transformed along columns: low ones, high ones and both are left.
#[test]
fn waves_that_fade_are_left_out() {
    let of = |extents: &[usize], weights: &[f64]| Stencil::dense("own", extents, weights).unwrap();
    let cross = |x: f64| of(&[3, 3], &[0.0, 0.2, 0.0, x, 0.6 - 2.0 * x.abs(), x, 0.0, 0.2, 0.0]);
    let carried = of(&[3, 3], &[0.0, 0.1, 0.0, 0.5, 0.2, 0.1, 0.0, 0.1, 0.0]);
    let star = catalogue::find("star3d1r").unwrap();
    for (stencil, size, boundary, dtype, steps, most) in [
        (cross(0.2), "6x400", "periodic", Dtype::F64, 1500, 1e-13),
        (cross(0.3), "6x402", "reflect", Dtype::F64, 1500, 1e-13),
        (cross(-0.2), "5x250", "y:reflect,x:periodic", Dtype::F32, 1200, 1e-5),
        (carried, "6x300", "periodic", Dtype::F64, 900, 1e-13),
        (star, "4x3x280", "periodic", Dtype::F32, 900, 1e-5),
    ] {
        let job = job(stencil, size, boundary, dtype, steps);
        let (error, count) = check(&job, 9);
        assert!(count == 1 && error < most, "{size} {boundary} {dtype}: {error:e}");
    }
}

/// A grid whose period no kernel transforms takes several jumps, as many as it must.
#[test]
fn several_jumps_where_lines_are_too_long() {
    let heat = catalogue::find("star1d1r").unwrap();
    // What is carried along comes from far away, what spreads does not.
    let carried = Stencil::dense("carried", &[3], &[0.99, 0.01, 0.0]).unwrap();
    let long = job(carried, "40009", "periodic", Dtype::F64, 30_000);
    let device: &dyn Device = &Emulator::new();
    let session = on_gpu::session(device, &abilities(), &long).unwrap();
    let jump = session.jump().unwrap();
    assert!(jump.steps < 14_000 && session.sweeps(30_000) > 2, "{jump:?}");
    let job = Job { jump: Depth::Steps(7), ..job(heat, "301", "reflect", Dtype::F32, 40) };
    assert_eq!(check(&job, 1).1, 6);
}

#[test]
fn what_is_not_done_is_refused() {
    let refused = |job: &Job| on_gpu::check(&abilities(), job).unwrap_err().to_string();
    let wide = catalogue::find("box2d3r").unwrap();
    let small = job(wide.clone(), "10x10", "zero", Dtype::F64, 10);
    assert!(refused(&small).ends_with("or all of it would be rim"), "{}", refused(&small));
    let long = job(wide.clone(), "64x30011", "periodic", Dtype::F64, 10);
    assert!(refused(&long).contains("fit 227.0 KiB of shared memory"), "{}", refused(&long));
    let large = job(wide, "10240x10240", "periodic", Dtype::F64, 10);
    let small = Machine { memory_bytes: 1 << 30, ..Machine::h200() };
    let small = plan::abilities(RunTarget::described(small));
    let error = on_gpu::check(&small, &large).unwrap_err().to_string();
    assert!(error.contains("of GPU memory; the GPU has 1.0 GiB"), "{error}");
}

/// Sides that no torus imitates, with rims thinner than the grid.
#[test]
fn rims_are_stepped() {
    let named = |name: &str| catalogue::find(name).unwrap();
    let upwind =
        Stencil::dense("upwind", &[3, 3], &[0.0, 0.2, 0.0, 0.3, 0.5, 0.0, 0.0, 0.0, 0.0]).unwrap();
    for (stencil, size, boundary, jump, dtype) in [
        (upwind.clone(), "100x111", "zero", 5, Dtype::F16),
        (upwind, "100x111", "x:periodic,y:constant=1", 7, Dtype::F64),
        (named("box2d3r"), "97x130", "zero", 3, Dtype::F64),
        (named("box2d3r"), "97x130", "x-:reflect,x+:constant=2,y:periodic", 5, Dtype::F32),
        (named("star1d4r"), "40000", "zero", 7, Dtype::Bf16),
        (named("star3d2r"), "50x17x20", "z:zero,y:reflect,x:periodic", 5, Dtype::Tf32),
        (named("box2d3r"), "97x130", "x-:edge,x+:flux=0.25,y:periodic", 5, Dtype::F64),
    ] {
        let jump = Depth::Steps(jump);
        let job = Job { jump, ..job(stencil, size, boundary, dtype, 12) };
        let device: &dyn Device = &Emulator::new();
        let described = on_gpu::session(device, &abilities(), &job).unwrap().jump().unwrap();
        assert!(described.rim > 0 && described.rim < job.shape.points(), "{described:?}");
        check(&job, 3);
    }
}
