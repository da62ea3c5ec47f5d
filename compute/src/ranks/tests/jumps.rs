// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jumps on parts, against the stencil step by step: each torus rounds in its own way, so it is the bound of jumps that
//! holds, not the bits of one rank.

use super::*;
use crate::engine::fft;
use crate::ranks::GpuStepping;
use problem::check::verify;
use transform::catalogue;

/// What a relative error is at most, of types whose values do not fade to where they have few digits.
fn most(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F64 => 1e-12,
        Dtype::F32 | Dtype::Tf32 => 2e-6,
        Dtype::F16 | Dtype::Bf16 => f64::INFINITY,
    }
}

/// Takes a job's steps in two advances, twice, and compares all points with the reference.
fn agree(job: &Job, engine: &RankedEngine, seed: u64) {
    let mut team = engine.prepare(job).unwrap();
    let input = Grid::random(job.shape, job.dtype, seed).unwrap();
    let first = job.steps / 3;
    let [found, loaded] = run(&mut *team, &input, &[first, job.steps - first]);
    assert_eq!(loaded, input);
    let how = (team.arithmetic(), team.jumped());
    let comparison = verify::whole(job, how, &input, &found).unwrap();
    let what = format!("{seed}: {job:?} cut {:?}, {:?}", engine.partition.counts(), engine.rhythm);
    let error = comparison.rel_l2_err;
    assert!(comparison.holds() && error < most(job.dtype), "{what}: {comparison:?}");
    team.restart().unwrap();
    assert_eq!(team.jumped().map(|jumped| jumped.error), Some(0.0), "{what}");
    team.advance(first).unwrap();
    team.advance(job.steps - first).unwrap();
    assert_eq!(team.store().unwrap(), found, "{what}: again");
}

#[test]
fn any_cut_jumps_within_the_bound() {
    for seed in 0..100 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (job, partition) = job(&mut rng);
        let job = Job { chain: Depth::Auto, ..job };
        let rhythm = ExchangeInterval { period: rng.random_range(1..12), edges: false };
        agree(&job, &engine(RankEngine::Fft, partition, rhythm), seed);
    }
}

/// Many steps between two exchanges: ghosts are no deeper than what fades, and jumps after short ones reach no farther.
#[test]
fn ghosts_are_as_deep_as_values_are_carried() {
    let star = catalogue::find("star2d1r").unwrap();
    let mut job = Job::new(star, "600x40".parse().unwrap(), Dtype::F64, 2500);
    job.boundary = Boundary::parse("y:zero,x:periodic", 2).unwrap();
    let partition = Partition::new(job.shape, [1, 2, 1], [1; 3]).unwrap();
    let rhythm = ExchangeInterval { period: 1000, edges: false };
    let deep = fft::reach(&job, rhythm.period)[1];
    assert!((100..300).contains(&deep), "{deep}");
    agree(&job, &engine(RankEngine::Fft, partition, rhythm), 1);
}

/// The kernels and ghosts of a GPU, by a stencil of each number of dimensions.
#[test]
fn emulated_gpus_jump_within_the_bound() {
    for (name, size, boundary, dtype, counts) in [
        ("star1d1r", "700", "periodic", Dtype::F32, [1, 1, 3]),
        ("star2d1r", "61x50", "zero", Dtype::F64, [1, 2, 2]),
        ("box2d3r", "90x64", "y:zero,x:periodic", Dtype::F16, [1, 2, 1]),
        ("star3d1r", "12x10x14", "x:reflect,y:constant=1,z:periodic", Dtype::F32, [3, 1, 1]),
    ] {
        let stencil = catalogue::find(name).unwrap();
        let mut job = Job::new(stencil, size.parse().unwrap(), dtype, 13);
        job.boundary = Boundary::parse(boundary, job.shape.dims()).unwrap();
        let partition = Partition::new(job.shape, counts, [1; 3]).unwrap();
        let rhythm = ExchangeInterval { period: 5, edges: false };
        agree(&job, &engine(RankEngine::Emulated(GpuStepping::Jumps), partition, rhythm), 3);
    }
}
