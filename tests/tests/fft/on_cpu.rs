// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fft engine against the f64 oracle, on random stencils, sizes, boundaries and numbers of steps.

use proptest::prelude::*;
use stencil::engine::{Engine, fft::Fft};
use stencil::problem::boundary::Side;
use stencil::{Boundary, Depth, Dtype, Grid, Job, Shape};
use transform::Stencil;

use crate::agree;
use crate::draw::{jobs, spreading};

/// The relative error.
fn check(job: &Job, seed: u64) -> f64 {
    agree(&mut *Fft.prepare(job).unwrap(), job, seed)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn any_job_agrees_with_the_oracle(job in jobs(), seed: u64) {
        check(&job, seed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn what_fades_is_missed_by_nobody(job in spreading(), seed: u64) {
        let error = check(&job, seed);
        // What flows out of a grid leaves little that the error would be relative to, and so do constants near 0.
        let is_open = |side: &Side| matches!(side, Side::Zero | Side::Constant(_));
        let flows_out = job.boundary.sides[2].iter().any(is_open);
        assert!(error < 1e-13 || flows_out, "{job:?}: {error:e}");
    }
}

/// Fewer images and thinner rims than the steps reach.
#[test]
fn tori_and_rims_are_as_small_as_what_fades_allows() {
    let line = |weights: &[f64]| Stencil::dense("line", &[weights.len()], weights).unwrap();
    for (stencil, size, boundary, steps, torus, rim) in [
        (line(&[0.25, 0.5, 0.25]), "3000", "zero", 4000, 4500, 0),
        (line(&[0.25, 0.5, 0.25]), "5000", "reflect", 4000, 6500, 0),
        (line(&[0.25, 0.5, 0.25]), "5000", "edge", 4000, 6500, 0),
        (line(&[0.25, 0.5, 0.25]), "5000", "x-:reflect,x+:edge", 4000, 6500, 0),
        (line(&[0.2, 0.5, 0.3]), "3000", "edge", 1000, 3000, 1000),
        (line(&[0.2, 0.5, 0.3]), "3000", "x-:edge,x+:flux=0.01", 1000, 3000, 1000),
        (line(&[0.2, 0.5, 0.3]), "3000", "zero", 1000, 3000, 1000),
        (line(&[0.2, 0.5, 0.3]), "3000", "x-:reflect,x+:constant=2", 1000, 3000, 1000),
    ] {
        let job = Job { jump: Depth::Steps(steps), ..job(stencil, size, boundary, steps) };
        let found = Fft.prepare(&job).unwrap().jump().unwrap();
        assert!(found.toruses[0][0] <= torus && found.rim <= rim, "{size} {boundary}: {found:?}");
        assert_eq!(found.rim > 0, rim > 0);
        let error = check(&job, 5);
        assert!(error < 1e-13, "{size} {boundary}: {error:e}");
    }
}

/// The bound of the last steps of a rim lay beyond what the steps before had left right.
#[test]
fn parts_of_a_rim_lie_within_each_other() {
    let weights = [0.11546965478913321, 0.44286557358590006, 0.4416647716249667];
    let line = Stencil::dense("line", &[3], &weights).unwrap();
    let job = Job { jump: Depth::Steps(100), ..job(line, "300", "zero", 100) };
    let error = check(&job, 0);
    assert!(error < 1e-13, "{error:e}");
}

fn job(stencil: Stencil, size: &str, boundary: &str, steps: usize) -> Job {
    let boundary = Boundary::parse(boundary, stencil.dims()).unwrap();
    let shape = size.parse().unwrap();
    Job { boundary, ..Job::new(stencil, shape, Dtype::F64, steps) }
}

/// Whole-grid jumps of many steps against as many steps: every digit counts.
#[test]
fn long_jumps_are_as_exact_as_steps() {
    let named = |name: &str| transform::catalogue::find(name).unwrap();
    let drift = |weights: &[f64]| Stencil::dense("drift", &[weights.len()], weights).unwrap();
    for (stencil, size, boundary, steps, most) in [
        (named("star1d1r"), "1021", "periodic", 20_000, 1e-13),
        (drift(&[0.3, 0.7, 0.0]), "997", "periodic", 20_000, 1e-13),
        (drift(&[0.25, 0.5, 0.25]), "100", "zero", 1000, 1e-13),
        (drift(&[0.25, 0.5, 0.25]), "100", "constant=2", 100_000, 1e-13),
        (drift(&[0.25, 0.5, 0.25]), "100", "x-:constant=2,x+:constant=-1", 100_000, 1e-13),
        (drift(&[0.25, 0.5, 0.25]), "100", "x-:reflect,x+:zero", 1000, 1e-13),
        (drift(&[0.25, 0.5, 0.25]), "100", "x-:edge,x+:constant=2", 100_000, 1e-13),
        (drift(&[0.25, 0.5, 0.25]), "101", "x-:reflect,x+:edge", 1000, 1e-13),
        (named("box2d1r"), "31x40", "edge", 100_000, 1e-13),
        (named("star2d1r"), "40x1", "edge,y-:constant=1", 1000, 1e-13),
        (named("box2d3r"), "61x64", "reflect", 2000, 1e-13),
        (named("star2d1r"), "40x50", "x:periodic,y:constant=1", 10_000, 1e-13),
        (named("star2d1r"), "40x50", "x-:constant=3,x+:constant=1,y:constant=1", 10_000, 1e-11),
        (named("star3d1r"), "12x13x14", "x:reflect,y:zero,z:periodic", 500, 1e-13),
    ] {
        let job = job(stencil, size, boundary, steps);
        let error = check(&job, 1);
        assert!(error < most, "{} {size} {boundary} {steps}: {error:e}", job.stencil.name());
    }
}

/// A million steps of what has a formula: a sine between two zeros.
#[test]
fn a_million_steps_of_a_sine() {
    let heat = Stencil::dense("heat", &[3], &[0.25, 0.5, 0.25]).unwrap();
    let (points, steps) = (4095, 1_000_000);
    let job = job(heat, &points.to_string(), "zero", steps);
    let angle = std::f64::consts::PI / (points + 1) as f64;
    let wave: Vec<f64> = (0..points).map(|at| ((at + 1) as f64 * angle).sin()).collect();
    let mut session = Fft.prepare(&job).unwrap();
    session.load(&Grid::new(&[points], wave.clone()).unwrap()).unwrap();
    session.advance(steps).unwrap();
    let left = (steps as f64 * (-(0.5 * angle).sin().powi(2)).ln_1p()).exp();
    let output = session.store().unwrap();
    let worst = (0..points).map(|at| (output.get(at) - left * wave[at]).abs()).fold(0.0, f64::max);
    assert!(worst < 3e-15, "{worst:e}");
    assert_eq!(session.jumped().unwrap().count, 1);
}

/// Sides that no torus imitates, with rims thinner than the grid.
#[test]
fn rims_are_stepped() {
    let upwind =
        Stencil::dense("upwind", &[3, 3], &[0.0, 0.2, 0.0, 0.3, 0.5, 0.0, 0.0, 0.0, 0.0]).unwrap();
    let named = |name: &str| transform::catalogue::find(name).unwrap();
    for (stencil, size, boundary) in [
        (upwind.clone(), "200x211", "zero"),
        (upwind, "200x211", "x:periodic,y:constant=1"),
        (named("box2d3r"), "257x190", "zero"),
        (named("box2d3r"), "257x190", "x:reflect,y-:constant=2,y+:periodic"),
        (named("box2d3r"), "257x190", "x-:reflect,x+:constant=2,y:periodic"),
        (named("star3d2r"), "70x47x60", "z:zero,y:reflect,x:periodic"),
        (named("box2d3r"), "257x190", "edge"),
        (named("star2d1r"), "200x211", "x-:flux=0.25,x+:edge,y:periodic"),
        (named("star3d2r"), "70x47x60", "z-:edge,z+:flux=-0.1,y:reflect,x:periodic"),
    ] {
        let Ok(boundary) = Boundary::parse(boundary, stencil.dims()) else { continue };
        for (jump, dtype) in [(5, Dtype::F64), (7, Dtype::F16), (3, Dtype::F32)] {
            let shape = size.parse().unwrap();
            let jump = Depth::Steps(jump);
            let job = Job { boundary, jump, ..Job::new(stencil.clone(), shape, dtype, 30) };
            let session = Fft.prepare(&job).unwrap();
            let described = session.jump().unwrap();
            assert!(described.rim > 0 && described.rim < shape.points(), "{described:?}");
            check(&job, 3);
        }
    }
}

/// Waves that grow do so as they would by steps.
#[test]
fn unstable_stencils_grow_as_steps_do() {
    for boundary in ["periodic", "zero", "reflect"] {
        let hot = Stencil::dense("hot", &[3], &[0.6, -0.2, 0.6]).unwrap();
        let error = check(&job(hot, "101", boundary, 100), 4);
        assert!(error < 1e-12, "{boundary}: {error:e}");
    }
}

/// Two jumps of any lengths are one of their sum, on grids of sizes that transforms do not like.
#[test]
fn jumps_add_up() {
    let named = |name: &str| transform::catalogue::find(name).unwrap();
    for (name, size, boundary) in [
        ("star2d1r", "331x1021", "periodic"),
        ("box2d2r", "211x137", "x:periodic,y:reflect"),
        ("star3d1r", "31x37x41", "zero"),
        ("star1d4r", "10007", "reflect"),
    ] {
        let stencil = named(name);
        let of = |steps| job(stencil.clone(), size, boundary, steps);
        let shape: Shape = size.parse().unwrap();
        let input = Grid::random(shape, Dtype::F64, 9).unwrap();
        let result = |parts: &[usize]| {
            let mut session = Fft.prepare(&of(100_000)).unwrap();
            session.load(&input).unwrap();
            for &steps in parts {
                session.advance(steps).unwrap();
            }
            (session.store().unwrap(), session.jumped().unwrap().error)
        };
        let ((one, own), (two, others)) = (result(&[100_000]), result(&[33_331, 66_669]));
        let worst = (0..shape.points()).map(|at| (one.get(at) - two.get(at)).abs());
        let worst = worst.fold(0.0, f64::max);
        assert!(worst < 1e-14 && worst < own + others, "{name}: {worst:e} of {own:e} {others:e}");
    }
}

#[test]
fn what_it_does_not_do_is_refused() {
    let stencil = transform::catalogue::find("star2d1r").unwrap();
    let job = Job::new(stencil, "9x9".parse().unwrap(), Dtype::F32, 3);
    for (job, text) in [
        (
            Job { chain: Depth::Steps(2), ..job.clone() },
            "engine 'fft' cannot run this: it takes steps by Fourier transforms, not in a chain",
        ),
        (
            Job { fuse: Depth::Steps(2), ..job.clone() },
            "engine 'fft' cannot run this: it takes steps by Fourier transforms, not as a sum",
        ),
    ] {
        let error = Fft.prepare(&job).map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), text);
    }
    let jump = Job { jump: Depth::Steps(3), ..job };
    let error = stencil::engine::cpu::Cpu.prepare(&jump).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "engine 'cpu' cannot run this: it makes no jumps of many steps");
}
