// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ranks as threads: whatever is cut, wherever, the result has the bits of one rank.

mod jumps;
mod lost;
mod parts_in_files;
mod streams;

use super::engine::{Exchange, ExchangeInterval, PartSweep, RankedEngine, Ranks};
use super::partition::Partition;
use super::setup::RankEngine;
use crate::engine::{Engine, State, SumSession, cpu::Cpu};
use crate::plan;
use problem::region::Region;
use problem::{Boundary, Depth, Dtype, Grid, Job, Shape};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use transform::{Stencil, Tap};

/// Any stencil of so many axes: a radius for each axis, holes, off-centre.
fn stencil(rng: &mut impl Rng, dims: usize) -> Stencil {
    let most = [7, 4, 2][dims - 1];
    let reach: Vec<i32> = (0..dims).map(|_| rng.random_range(0..=most)).collect();
    let mut taps = vec![Tap { offset: [0; 3], weight: 0.25 }];
    for _ in 0..rng.random_range(1..9) {
        let mut offset = [0; 3];
        for (axis, reach) in reach.iter().enumerate() {
            offset[3 - dims + axis] = rng.random_range(-reach..=*reach);
        }
        if taps.iter().all(|tap| tap.offset != offset) {
            taps.push(Tap { offset, weight: rng.random_range(-0.2..0.2) });
        }
    }
    Stencil::new("random", dims, taps).unwrap()
}

fn boundary(rng: &mut impl Rng, dims: usize) -> Boundary {
    let axes = ["z", "y", "x"][3 - dims..].iter().map(|axis| {
        let side = |rng: &mut _| {
            let kinds = ["zero", "constant=0.3", "reflect", "symmetric", "edge", "flux=0.125"];
            kinds[Rng::next_u32(rng) as usize % kinds.len()]
        };
        if rng.random_bool(0.4) {
            return format!("{axis}:periodic");
        }
        format!("{axis}-:{},{axis}+:{}", side(rng), side(rng))
    });
    Boundary::parse(&axes.collect::<Vec<_>>().join(","), dims).unwrap()
}

/// A job, and how it is cut.
fn job(rng: &mut impl Rng) -> (Job, Partition) {
    let dims = rng.random_range(1..=3);
    let longest = [200, 40, 14][dims - 1];
    let extents: Vec<usize> = (0..dims).map(|_| rng.random_range(1..=longest)).collect();
    let shape = Shape::new(&extents).unwrap();
    let dtype = [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64][rng.random_range(0..4)];
    let mut job = Job::new(stencil(rng, dims), shape, dtype, rng.random_range(0..20));
    job.boundary = boundary(rng, dims);
    if rng.random_bool(0.5) {
        job.chain = Depth::Steps(rng.random_range(1..=job.steps.clamp(1, 5)));
    }
    let mut counts = [1; 3];
    for (count, extent) in counts.iter_mut().zip(shape.extents()) {
        *count = rng.random_range(1..=extent.min(4));
    }
    (job, Partition::new(shape, counts, [1; 3]).unwrap())
}

/// What an engine makes of a grid in several advances, and what it had loaded.
fn run(session: &mut dyn SumSession, input: &Grid, advances: &[usize]) -> [Grid; 2] {
    session.load(input).unwrap();
    for &steps in advances {
        session.advance(steps).unwrap();
    }
    let read = |session: &mut dyn SumSession, state| Grid {
        shape: input.shape,
        values: session.read(0, state, Region::whole(input.shape)).unwrap(),
    };
    [read(session, State::Now), read(session, State::Loaded)]
}

/// Threads that share a grid.
fn engine(with: RankEngine, partition: Partition, rhythm: ExchangeInterval) -> RankedEngine {
    let (ranks, describer) = (Ranks::Threads(partition.ranks()), plan::abilities_of as _);
    RankedEngine { name: "threads", with, ranks, partition, units: [1; 3], rhythm, describer }
}

#[test]
fn any_cut_gives_the_bits_of_one_rank() {
    for seed in 0..150 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (job, partition) = job(&mut rng);
        let input = Grid::random(job.shape, job.dtype, seed).unwrap();
        let split = rng.random_range(0..=job.steps);
        let advances = [split, job.steps - split];
        let expected = run(&mut *Cpu.prepare(&job).unwrap(), &input, &advances);
        let launch = if let Depth::Steps(depth) = job.chain { depth } else { 1 };
        let rhythm = ExchangeInterval { period: launch * rng.random_range(1..4), edges: false };
        let engine = engine(RankEngine::Cpu, partition, rhythm);
        let mut team = engine.prepare(&job).unwrap();
        let found = run(&mut *team, &input, &advances);
        assert_eq!(found[1], expected[1], "{seed}: {job:?}");
        assert_eq!(found[0], expected[0], "{seed}: {job:?} by {:?}", engine.partition);
        team.restart().unwrap();
        team.advance(job.steps).unwrap();
        assert_eq!(team.store().unwrap(), expected[0], "{seed}: again");
    }
}

#[test]
fn exchanges_are_rare_and_ghosts_small() {
    let free = (None, None);
    let stencil = transform::catalogue::find("star2d1r").unwrap();
    let job = Job::new(stencil, "20480x10240".parse().unwrap(), Dtype::F16, 10_000);
    let partition = Partition::for_ranks(job.shape, 2, [1; 3]).unwrap();
    // 0.12 of a launch, and 12 of 10240 rows.
    let of_gpu = Exchange::of_gpu(12, [1, 16, 64]);
    assert_eq!(
        of_gpu.exchange_interval(&PartSweep::of(&job), &partition, free),
        ExchangeInterval { period: 10 * 12, edges: false }
    );
    // What takes long is better hidden.
    assert!(of_gpu.through_host().exchange_interval(&PartSweep::of(&job), &partition, free).edges);
    assert!(
        !of_gpu
            .through_host()
            .exchange_interval(&PartSweep::of(&job), &partition, (None, Some(false)))
            .edges
    );
    assert_eq!(
        of_gpu.exchange_interval(&PartSweep::of(&job), &partition, (Some(13), None)).period,
        24
    );
    let few = Job { steps: 3, ..job.clone() };
    assert_eq!(
        Exchange::of_gpu(2, [1; 3])
            .exchange_interval(&PartSweep::of(&few), &partition, free)
            .period,
        4
    );
    let small = Job { shape: "256x1024".parse().unwrap(), ..job.clone() };
    let partition = Partition::for_ranks(small.shape, 16, [1; 3]).unwrap();
    let steps =
        Exchange::of_cpu(&small).exchange_interval(&PartSweep::of(&small), &partition, free).period;
    assert!((1..=64).contains(&steps), "{steps}");
}
