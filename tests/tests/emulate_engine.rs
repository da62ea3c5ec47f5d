// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine `emulate`: the kernels' results through the whole program, and its refusals.

use kernels_gpu::fault::{self, Fault};
use kernels_gpu::product::Form;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeSet;
use stencil::bench::{self, DepthMode, Origin, Outcome, Results, Workload};
use stencil::check::verify::{self, Verify};
use stencil::engine::EngineRequest;
use stencil::plan::{RunTarget, choose, on_gpu};
use stencil::run::{Request, run};
use stencil::{Boundary, Dtype, Error, Grid, Shape, Values};
use stencil::{Depth, Job};
use tests::cases::{Case, SweepKernel, cases};
use tests::draw;
use tests::plain::full_box;
use tests::suite::TestCase as _;
use tests::tier::one_in;
use transform::machine::Machine;
use transform::{Stencil, catalogue};

fn job(stencil: Stencil, ny: usize, nx: usize, steps: usize) -> Job {
    let shape = Shape::new(&[ny, nx]).unwrap();
    let (fuse, chain) = (Depth::Steps(1), Depth::Steps(1));
    Job { fuse, chain, ..Job::new(stencil, shape, Dtype::F16, steps) }
}

fn request(job: Job, input: Grid) -> Request {
    let verify = Some(Verify::Full);
    Request { job, input, engine: EngineRequest::Emulate, verify }
}

#[test]
fn exact_cases_give_the_stencil_bit_by_bit_again_after_a_restart() {
    let mut compared = 0;
    let is_sweep =
        |kernel: &SweepKernel| matches!(kernel, SweepKernel::Sweep2d { form: Form::Sparse, .. });
    let sweeps = SweepKernel::all().into_iter().filter(is_sweep);
    // All of them run in `emulator_conformance.rs`, with few blocks. Here small grids are spread over as many as on
    // an H200, each of which sets up its barriers.
    let few =
        |kernel| cases(kernel).into_iter().filter(|case: &Case| case.exact).step_by(9 * one_in(5));
    for case in sweeps.flat_map(few) {
        let Case { kernel, ny, nx, launches, .. } = case;
        let want = case.plain();
        let dtype = kernel.dtype();
        let job = job(case.stencil.clone(), ny as usize, nx as usize, launches);
        let job = Job { dtype, kernel: Some("sweep2d"), ..job };
        let engine = choose(EngineRequest::Emulate, &job).unwrap().engine;
        let mut session = engine.prepare(&job).unwrap();
        session.load(&case.grid()).unwrap();
        for _ in 0..2 {
            session.advance(launches).unwrap();
            let grid = session.store().unwrap();
            let got: Vec<f64> = (0..want.len()).map(|index| grid.get(index)).collect();
            let difference = case.compare(&got, &want);
            assert!(difference.holds(), "{kernel} on {ny}x{nx}: {difference:?}");
            compared += difference.points;
            session.restart().unwrap();
        }
    }
    assert!(compared > 15_000 / one_in(5), "{compared}");
}

#[test]
fn random_runs_are_verified() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for (seed, dtype) in (0..).zip([Dtype::F16, Dtype::Bf16, Dtype::Tf32, Dtype::F32]) {
        let radius = random.random_range(1..=3);
        let stencil = draw::stencil_of_radius(&mut random, 2, radius);
        let (ny, nx) = (draw::extent(&mut random, 60), draw::extent(&mut random, 600));
        let steps = random.random_range(0..4);
        let job = Job { dtype, kernel: Some("sweep2d"), ..job(stencil, ny, nx, steps) };
        let input = Grid::random(job.shape, dtype, seed).unwrap();
        let (_, report) = run(&request(job, input)).unwrap();
        assert!(report.verified && report.engine == "emulate", "{report}");
        let kernel = report.kernel.as_deref().unwrap_or_default();
        assert!(kernel.starts_with("sweep2d_"), "{report}");
    }
}

/// Fused and chained sweeps with their rims, against stepping one by one.
#[test]
fn any_depth_at_any_boundary_is_verified() {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    for (dtype, dims, radius, fuse, chain, boundary) in [
        (Dtype::F16, 2, 1, 3, 4, "zero"),
        (Dtype::F16, 2, 1, 2, 2, "periodic"),
        (Dtype::F16, 2, 1, 1, 4, "x:reflect,y-:constant=0.5"),
        (Dtype::F16, 2, 2, 1, 3, "constant=-0.25"),
        (Dtype::F16, 2, 3, 1, 2, "x:periodic,y-:reflect"),
        (Dtype::F16, 2, 1, 3, 1, "reflect"),
        (Dtype::F16, 2, 2, 1, 1, "periodic"),
        (Dtype::F16, 2, 1, 5, 1, "reflect"),
        (Dtype::Bf16, 2, 1, 2, 4, "constant=0.5"),
        (Dtype::Bf16, 2, 3, 1, 1, "reflect"),
        (Dtype::Bf16, 2, 7, 1, 1, "periodic"),
        (Dtype::Tf32, 2, 1, 3, 1, "periodic"),
        (Dtype::Tf32, 2, 1, 3, 3, "x:reflect,y-:constant=0.5"),
        (Dtype::Tf32, 2, 2, 1, 3, "zero"),
        (Dtype::Tf32, 2, 2, 1, 1, "constant=-0.25"),
        (Dtype::F32, 2, 1, 3, 1, "periodic"),
        (Dtype::F32, 2, 3, 1, 1, "reflect"),
        (Dtype::F32, 2, 1, 2, 1, "x:constant=0.5"),
        (Dtype::F16, 2, 1, 2, 3, "edge"),
        (Dtype::F16, 2, 2, 1, 3, "x-:edge,x+:flux=0.25,y:reflect"),
        (Dtype::Tf32, 2, 1, 3, 1, "edge,y-:flux=-0.125"),
        (Dtype::F32, 2, 2, 1, 1, "x:edge,y-:constant=0.5,y+:flux=0.25"),
        (Dtype::Bf16, 3, 1, 2, 1, "z-:edge,z+:flux=0.25,x:flux=-0.125"),
        (Dtype::Bf16, 1, 2, 3, 1, "x-:flux=0.25,x+:edge"),
        (Dtype::F16, 1, 1, 7, 1, "zero"),
        (Dtype::F16, 1, 2, 3, 1, "periodic"),
        (Dtype::F16, 3, 1, 1, 1, "periodic"),
        (Dtype::F16, 3, 1, 2, 1, "zero"),
        (Dtype::Bf16, 3, 2, 1, 1, "z:reflect,y:constant=0.25,x:periodic"),
        (Dtype::Bf16, 1, 7, 1, 1, "x-:reflect,x+:constant=0.5"),
    ] {
        let stencil = draw::stencil_of_radius(&mut random, dims, radius);
        let mut extent = |most| draw::extent(&mut random, most);
        let shape = match dims {
            1 => Shape::new(&[extent(600)]),
            2 => Shape::new(&[extent(70), extent(600)]),
            _ => Shape::new(&[extent(12), extent(30), extent(150)]),
        };
        let shape = shape.unwrap();
        // Whole launches, and some steps that are left.
        let steps = fuse * chain + random.random_range(0..=fuse * chain);
        let job = Job {
            boundary: Boundary::parse(boundary, dims).unwrap(),
            fuse: Depth::Steps(fuse),
            chain: Depth::Steps(chain),
            // Tensor cores, also where CUDA cores would be faster.
            kernel: Some(match (dims, radius * fuse, chain) {
                (1, ..) => "line1d",
                (2, 1..=3, 1) => "sweep2d",
                (2, 1..=3, _) => "chain2d",
                (2, ..) => "wide2d",
                _ => "sweep3d",
            }),
            ..Job::new(stencil, shape, dtype, steps)
        };
        let input = Grid::random(job.shape, dtype, 4).unwrap();
        let (_, report) = run(&request(job, input)).unwrap();
        // In a dozen steps bf16's two digits may go to the last hundredth, which rounding explains.
        let is_right = report.verified || dtype == Dtype::Bf16 && !report.failed();
        assert!(is_right && (report.fuse, report.chain) == (fuse, chain), "{report}");
        assert!(report.kernel.is_some(), "{report}");
    }
}

/// What takes 3 rows can be swept by the kernels for 7, too.
#[test]
fn a_kernel_that_was_asked_for_is_taken_or_refused() {
    let stencil = draw::stencil(&mut ChaCha8Rng::seed_from_u64(6), 2, [0, 2, 1]);
    let asked = |family| Job { kernel: Some(family), ..job(stencil.clone(), 33, 70, 2) };
    let wide = asked("wide2d");
    let input = Grid::random(wide.shape, Dtype::F16, 4).unwrap();
    let (_, report) = run(&request(wide, input)).unwrap();
    assert!(report.verified, "{report}");
    assert_eq!(report.kernel.as_deref(), Some("wide2d_f16_r2"));
    let error = choose(EngineRequest::Emulate, &asked("sweep3d")).err().unwrap();
    let text = "engine 'emulate' cannot run this: sweep3d is for 3D stencils; this one has 2";
    assert_eq!(error.to_string(), text);
    let error = choose(EngineRequest::Cpu, &asked("wide2d")).err().unwrap();
    assert!(
        error.to_string().ends_with("it has no kernels of the family that was asked for"),
        "{error}"
    );
}

/// A value halfway between two numbers of tf32 and one below it: products that cut values off would
/// take both for the lower one, and ties away from zero would take the tie for the upper one.
#[test]
fn tf32_rounds_values_to_the_nearest() {
    let identity = Stencil::dense("identity", &[1, 1], &[1.0]).unwrap();
    let ulp = 2f32.powi(-10);
    let input = vec![1.0, 1.0 + 0.5 * ulp, 1.0 + 0.51 * ulp, 1.0 + 1.5 * ulp, -1.0 - 0.75 * ulp];
    let kernel = Some("sweep2d");
    let job = Job { dtype: Dtype::Tf32, kernel, ..job(identity, 1, 5, 1) };
    let input = Grid { shape: job.shape, values: Values::F32(input) };
    let (output, report) = run(&request(job, input)).unwrap();
    let nearest = vec![1.0, 1.0, 1.0 + ulp, 1.0 + 2.0 * ulp, -1.0 - ulp];
    assert_eq!(output.values, Values::F32(nearest));
    assert_eq!(report.arithmetic.to_string(), "f32 storage, tf32 products, f32 sums");
}

#[test]
fn a_fault_of_a_kernel_names_its_place_and_is_no_success() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let stencil = full_box(&mut random, 2);
    let job = Job { kernel: Some("sweep2d"), ..job(stencil, 60, 70, 1) };
    let input = Grid::random(job.shape, job.dtype, 2).unwrap();
    let request = request(job, input);
    let error = fault::with(Fault::UnalignedCopy, || run(&request).map(drop)).unwrap_err();
    let text = error.to_string();
    let start = "the emulated GPU stopped: kernel sweep2d_f16_r2, block ";
    assert!(text.starts_with(start) && text.contains(": misaligned"), "{text}");
    assert!(text.contains("kernels-gpu/src/"), "{text}");
    let failure = stencil::cli::Failure::from(error);
    assert_eq!(failure.exit_code(), 1);
    let help = "a kernel is wrong, not your input; `--engine cpu` does without kernels; please \
                report this with the command line";
    assert_eq!(stencil::cli::remedy(&failure), help);
}

/// Of every type and number of axes, in one launch and in many, beside zeros and whatever else.
#[test]
fn the_plan_is_that_of_an_h200() {
    let target = RunTarget::described(Machine::h200());
    let mut engines = BTreeSet::new();
    let types = [Dtype::F16, Dtype::Bf16, Dtype::Tf32, Dtype::F32, Dtype::F64];
    for (turn, dtype) in types.into_iter().enumerate() {
        for (name, extents) in [
            ("star1d1r", &[500][..]),
            ("box2d1r", &[40, 300]),
            ("star2d9r", &[30, 40]),
            ("star3d1r", &[8, 20, 70]),
        ] {
            // Beside one of them, or in a thorough run both.
            let skipped = (turn + extents.len()) % one_in(2);
            for boundary in ["zero", "periodic"].into_iter().skip(skipped).step_by(one_in(2)) {
                let stencil = catalogue::find(name).unwrap();
                let boundary = Boundary::parse(boundary, stencil.dims()).unwrap();
                let shape = Shape::new(extents).unwrap();
                let job = Job { boundary, ..Job::new(stencil, shape, dtype, 7) };
                let first = on_gpu(&target, &job).ranked.into_iter().next().unwrap();
                engines.insert(first.engine);
                let input = Grid::random(shape, dtype, 1).unwrap();
                let (_, report) = run(&request(job, input)).unwrap();
                assert!(report.verified, "{report}");
                assert_eq!((report.fuse, report.chain), (first.fuse, first.chain), "{report}");
                assert_eq!(report.kernel, Some(first.kernel), "{report}");
            }
        }
    }
    assert!(engines.contains("sparse") && engines.contains("cuda"), "{engines:?}");
}

/// Steps that a GPU would take in one launch are taken in one: a block that does not count its tiles lets others
/// wait.
#[test]
fn many_steps_are_one_launch_whose_blocks_wait_for_each_other() {
    let stencil = full_box(&mut ChaCha8Rng::seed_from_u64(5), 1);
    let job = Job { kernel: Some("sweep2d"), ..job(stencil, 60, 1100, 5) };
    let input = Grid::random(job.shape, job.dtype, 2).unwrap();
    let mut session = choose(EngineRequest::Emulate, &job).unwrap().engine.prepare(&job).unwrap();
    session.load(&input).unwrap();
    session.advance(5).unwrap();
    let output = session.store().unwrap();
    let comparison =
        verify::whole(&job, (session.arithmetic(), session.jumped()), &input, &output).unwrap();
    assert!(comparison.holds());
    session.restart().unwrap();
    let error = fault::with(Fault::NoCount, || session.advance(5)).unwrap_err().to_string();
    assert!(error.contains("kernel sweep2d_f16_r1_many") && error.contains("deadlock"), "{error}");
}

#[test]
fn a_grid_that_takes_too_long_is_refused() {
    let stencil = full_box(&mut ChaCha8Rng::seed_from_u64(3), 1);
    let error = choose(EngineRequest::Emulate, &job(stencil, 2048, 2049, 1)).err().unwrap();
    let text = "engine 'emulate' cannot run this: a grid of 2048x2049 takes tiles of 5242880 \
                points; it emulates at most 4194304, which takes some seconds a step";
    assert_eq!(error.to_string(), text);
    assert!(matches!(error, Error::Unsupported { .. }));
}

#[test]
fn a_mistake_leaves_a_benchmark_without_a_speed() {
    let case = bench::BenchCase {
        workload: Workload::named("Box-2D49P").unwrap(),
        shape: Shape::new(&[20, 30]).unwrap(),
        dtype: Dtype::F16,
        mode: DepthMode::Step,
        steps: 1,
        engine: None,
    };
    let measured = || {
        let (version, origin, engine) = (String::new(), Origin::default(), EngineRequest::Emulate);
        let mut results = Results { version, origin, engine, complete: false, rows: Vec::new() };
        bench::measure(std::slice::from_ref(&case), &Default::default(), &mut results, |_| Ok(()))
            .unwrap();
        assert!(results.complete);
        (results.failures(), results.rows.remove(0).outcome)
    };
    let (_, outcome) = measured();
    let Outcome::Measured(right) = outcome else { panic!("{outcome:?}") };
    assert!(right.verified && right.gstencils_per_s > 0.0 && right.rel_l2_err < 5e-3);
    for (mistake, text) in [
        (Fault::Halo, "verification failed: the largest error is "),
        (Fault::UnalignedCopy, "the emulated GPU stopped: kernel sweep2d_f16_r3, block "),
    ] {
        let (failures, outcome) = fault::with(mistake, measured);
        let Outcome::Failed { reason } = outcome else { panic!("{mistake:?}: {outcome:?}") };
        assert!(failures == 1 && reason.starts_with(text), "{reason}");
    }
}
