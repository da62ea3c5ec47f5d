// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ranks as threads: whatever is cut, wherever, the values have the bits of one rank. Cases run one after the other: ranks that
//! wait for each other would keep the threads of the pool from those that compute.

use std::ops::Range;
use std::path::Path;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::setup::{RankEngine, Setup};
use crate::tests::draw;
use crate::tests::tier::cases;
use crate::{ComputeOptions, Description, FieldText, System, SystemSimulation, SystemState};
use compute::engine::EngineRequest;
use compute::plan::Sharing;
use compute::ranks::Carrier;
use compute::ranks::engine::Ranks;
use compute::ranks::halo::Transfers;
use compute::ranks::part::RankPart;
use problem::observe::Snapshot;
use problem::{Dtype, Error, ErrorKind, Grid, Region};
use transform::{Stencil, Tap};

/// Threads that share a grid, cut into so many slices of each axis.
fn among(engine: EngineRequest, split: [usize; 3], period: Option<usize>) -> ComputeOptions {
    let ranks = Ranks::Threads(split.iter().product());
    let sharing = Sharing { split: Some(split), period, ..Sharing::among(ranks) };
    ComputeOptions { engine, sharing: Some(sharing), ..ComputeOptions::default() }
}

/// Some cut of a grid, into so many parts at most.
fn split(random: &mut impl Rng, system: &System, most: usize) -> [usize; 3] {
    let mut split = system.shape.extents().map(|extent| random.random_range(1..=extent.min(3)));
    while split.iter().product::<usize>() > most {
        let longest = (0..3).max_by_key(|axis| split[*axis]).expect("three axes");
        split[longest] -= 1;
    }
    split
}

/// All arrays as they are now.
fn arrays(simulation: &mut SystemSimulation) -> Vec<Grid> {
    let mut snapshot = simulation.snapshot();
    let (count, shape) = (snapshot.arrays().len(), snapshot.shape());
    let whole = Region::whole(shape);
    (0..count).map(|array| Grid { shape, values: snapshot.read(array, whole).unwrap() }).collect()
}

/// Checks that two simulations have the bits of each other: all arrays, and what receivers recorded.
fn assert_equal(a: &mut SystemSimulation, b: &mut SystemSimulation, what: &str) {
    assert_eq!(a.records(), b.records(), "{what}");
    for (number, (a, b)) in arrays(a).into_iter().zip(arrays(b)).enumerate() {
        // As bits: what is not a number equals itself.
        let bits = |grid: Grid| (0..grid.shape.points()).map(move |at| grid.get(at).to_bits());
        assert!(bits(a).eq(bits(b)), "{what}: array {number}");
    }
}

fn with_receivers(mut description: Description, random: &mut impl Rng) -> Description {
    for _ in 0..random.random_range(0..3) {
        let at: Vec<usize> =
            description.size.iter().map(|extent| random.random_range(0..*extent)).collect();
        let field = random.random_range(0..description.fields.len());
        let name = description.fields[field].name.as_str().to_owned();
        description = match random.random_range(0..2) {
            0 => description.receiver(&name, &at),
            _ => description.receiver_of(format!("tanh({name})*x + 0.1*t"), &at),
        };
    }
    description
}

#[test]
fn any_cut_of_any_system_gives_the_bits_of_one_rank() {
    any_cut_of(draw::system);
}

#[test]
fn any_cut_of_steps_with_stages_gives_the_bits_of_one_rank() {
    any_cut_of(|seed| draw::in_stages(seed, 2));
}

#[test]
fn any_cut_of_steps_with_solves_gives_the_bits_of_one_rank() {
    any_cut_of(|seed| draw::with_solves(seed, 2, false));
}

/// Checks cuts of systems that are drawn so.
fn any_cut_of(draw: impl Fn(u64) -> Description) {
    let of_case = |seed: u64| {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let description = with_receivers(draw(seed), &mut random);
        let system = System::new(&description, Path::new("")).unwrap();
        let split = split(&mut random, &system, 27);
        let period = [None, Some(1), Some(2), Some(3)][random.random_range(0..4)];
        let asked = among(EngineRequest::Cpu, split, period);
        let mut shared = match SystemSimulation::asked(&system, &asked) {
            Ok(shared) => shared,
            // Along an axis some fields are periodic and others are not.
            Err(Error::Split { reason }) => {
                let told = ["some fields are periodic", "an equation reads coordinates"];
                assert!(told.iter().any(|why| reason.contains(why)), "seed {seed}: {reason}");
                return false;
            }
            Err(error) => panic!("seed {seed}: {error}"),
        };
        let mut alone = SystemSimulation::on(&system, EngineRequest::Cpu).unwrap();
        let portions = [random.random_range(0..3), random.random_range(1..5)];
        for steps in portions {
            alone.step(steps).unwrap();
            shared.step(steps).unwrap();
        }
        let what = format!("seed {seed}: {:?} cut {split:?}, {period:?}", system.shape);
        assert_equal(&mut shared, &mut alone, &what);
        shared.checked_step().unwrap();
        alone.step(1).unwrap();
        assert_equal(&mut shared, &mut alone, &what);
        true
    };
    let all = cases(60, 32);
    let cut = (0..all).filter(|seed| of_case(*seed)).count() as u64;
    println!("{cut} of {all} systems were cut");
    assert!(2 * cut > all, "{cut} of {all}");
}

/// A rank gets of each array only the ghosts that it reads; who only gives gets an answer.
#[test]
fn only_what_is_read_is_exchanged() {
    let shift = |y| Stencil::new("shift", 2, vec![Tap { offset: [0, y, 0], weight: 1.0 }]).unwrap();
    let start = "sin(x) + y";
    let carried = Description::new(&[12, 5])
        .stencil("from_above", shift(-1))
        .field(FieldText::new("down", start, "from_above(down)"));
    let both = carried
        .clone()
        .stencil("from_below", shift(1))
        .field(FieldText::new("up", start, "from_below(up) + 0.5*up"))
        .field(FieldText::new("still", start, "0.5*still + 0.25*down"));
    // By rank, of 3 from the top to the bottom: the other rank, and the arrays that come from it.
    let down_and_up: [&[_]; 3] = [&[(1, vec![1])], &[(0, vec![0]), (2, vec![1])], &[(1, vec![0])]];
    // Nothing need come from below; one array is the answer.
    let down: [&[_]; 3] = [&[(1, vec![0])], &[(0, vec![0]), (2, vec![0])], &[(1, vec![0])]];
    for (description, expected) in [(both, down_and_up), (carried, down)] {
        let system = System::new(&description, Path::new("")).unwrap();
        let setup = Setup::new(&system, (1, 1), 0, [1, 3, 1], RankEngine::Cpu);
        let partition = setup.partition().unwrap();
        let (parts, arrays) = (setup.parts(&partition), setup.exchanged());
        let read = |part: &RankPart, ghosts| super::read(&system, &arrays, 1, (part, ghosts));
        let all = |rank| Transfers::of_arrays(&partition, &parts, rank, &read);
        for (rank, expected) in expected.into_iter().enumerate() {
            let own = all(rank);
            let came = own.receives.iter().map(|one| (one.with, one.arrays.clone()));
            assert_eq!(came.collect::<Vec<_>>(), expected, "rank {rank}");
            for one in &own.receives {
                let mut sent = all(one.with).sends.into_iter().filter(|it| it.with == rank);
                let sent = sent.next().expect("what comes is sent");
                assert_eq!(
                    (&sent.arrays, sent.region.points()),
                    (&one.arrays, one.region.points())
                );
            }
        }
        let mut alone = SystemSimulation::on(&system, EngineRequest::Cpu).unwrap();
        let asked = among(EngineRequest::Cpu, [1, 3, 1], Some(1));
        let mut shared = SystemSimulation::asked(&system, &asked).unwrap();
        alone.step(7).unwrap();
        shared.step(7).unwrap();
        assert_equal(&mut shared, &mut alone, "7 steps");
    }
}

/// Launches of several steps, with ghosts as deep, in the emulator.
#[test]
fn parts_of_kernels_give_the_bits_of_one_kernel() {
    let all = cases(24, 16);
    let cut =
        cut_as_one(all, (draw::near, 1..4), |split| among(EngineRequest::Emulate, split, None));
    assert!(cut >= 3, "{cut} of {all}");
}

#[test]
fn parts_of_kernels_of_stages_give_the_bits_of_one_kernel() {
    let all = cases(12, 8);
    let draw = |seed| draw::in_stages(seed, 1);
    let cut = cut_as_one(all, (draw, 1..2), |split| among(EngineRequest::Emulate, split, None));
    assert!(cut >= 3, "{cut} of {all}");
}

#[test]
fn parts_of_kernels_beside_solves_give_the_bits_of_one_kernel() {
    let all = cases(24, 16);
    let draw = |seed| draw::with_solves(seed, 1, true);
    let cut = cut_as_one(all, (draw, 1..2), |split| among(EngineRequest::Emulate, split, None));
    assert!(cut >= 3, "{cut} of {all}");
}

/// Threads that find neighbours beyond sides by themselves take open sides, too.
#[test]
fn parts_of_kernels_of_many_arrays_give_the_bits_of_one_kernel() {
    let all = cases(24, 16);
    let cut =
        cut_as_one(all, (draw::many, 1..2), |split| among(EngineRequest::Emulate, split, None));
    assert!(cut >= 3, "{cut} of {all}");
}

/// By copies between GPUs, and by messages.
#[test]
#[ignore = "needs two GPUs"]
fn two_gpus_give_the_bits_of_one() {
    on_two_gpus((draw::near, 1..4));
}

/// What is solved for goes through this machine's memory, whatever carries ghosts.
#[test]
#[ignore = "needs two GPUs"]
fn two_gpus_solve_with_the_bits_of_one() {
    on_two_gpus((|seed| draw::with_solves(seed, 1, true), 1..2));
}

fn on_two_gpus((draw, chains): (impl Fn(u64) -> Description, Range<usize>)) {
    let all = cases(60, 60);
    for carrier in [Carrier::Auto, Carrier::Host] {
        let cut = cut_as_one(all, (&draw, chains.clone()), |split| {
            let asked = among(EngineRequest::Cuda, split, None);
            let devices = (0..split.iter().product()).map(|rank: usize| rank % 2).collect();
            let of_all = asked.sharing.expect("they share it");
            let sharing = Some(Sharing { carrier, devices: Some(devices), ..of_all });
            ComputeOptions { sharing, ..asked }
        });
        assert!(2 * cut > all as usize, "{cut} of {all}");
    }
}

/// How many of so many systems, drawn so, can be cut, all of which have the bits of one launch alone of so many steps.
fn cut_as_one(
    all: u64,
    (draw, chains): (impl Fn(u64) -> Description, Range<usize>),
    asked: impl Fn([usize; 3]) -> ComputeOptions,
) -> usize {
    let of_case = |seed: u64| {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let description = with_receivers(draw(seed), &mut random);
        let chain = random.random_range(chains.clone());
        let system = System::new(&description, Path::new("")).unwrap();
        let system = system.with_chain(problem::Depth::Steps(chain));
        let split = split(&mut random, &system, 4);
        let asked = asked(split);
        println!("seed {seed}: {:?} cut {split:?}", system.shape);
        let mut shared = match SystemSimulation::asked(&system, &asked) {
            Ok(shared) => shared,
            Err(Error::Split { .. } | Error::Unsupported { .. }) => return false,
            Err(error) => panic!("seed {seed}: {error}"),
        };
        let Ok(mut alone) = SystemSimulation::on(&system, asked.engine) else { return false };
        for steps in [2 * chain, 1] {
            alone.step(steps).unwrap();
            shared.step(steps).unwrap();
        }
        let what = format!("seed {seed}: {:?} cut {split:?}, chain {chain}", system.shape);
        assert_equal(&mut shared, &mut alone, &what);
        true
    };
    let cut = (0..all).filter(|seed| of_case(*seed)).count();
    println!("{cut} of {all} systems were cut");
    cut
}

/// Where it was left by so many ranks, so many others go on.
#[test]
fn any_number_of_ranks_goes_on_from_any_other() {
    let description = Description::new(&[21, 34])
        .dtype(Dtype::F32)
        .derivative("laplace", "laplace", 2)
        .field(FieldText::new("p", "exp(-0.1*(x - 9)^2)", "2*p - prev(p) + 0.2*laplace(p)"))
        .source("p", &[4, 5], "0.1*sin(t)")
        .receiver("p", &[20, 33]);
    let system = System::new(&description, Path::new("")).unwrap();
    let mut alone = SystemSimulation::new(&system).unwrap();
    alone.step(9).unwrap();
    for (before, after) in [([1, 1, 1], [1, 2, 3]), ([1, 3, 2], [1, 1, 1]), ([1, 2, 2], [1, 5, 1])]
    {
        let asked = |split| among(EngineRequest::Cpu, split, None);
        let mut first = SystemSimulation::asked(&system, &asked(before)).unwrap();
        first.step(4).unwrap();
        let names = first.snapshot().arrays();
        let arrays = names.into_iter().zip(self::arrays(&mut first)).collect();
        let left = SystemState {
            step: 4,
            arrays,
            records: first.records().to_vec(),
            series: Vec::new(),
            rows_of: String::new(),
            clock: None,
        };
        let mut second = SystemSimulation::resumed(&system, &asked(after), left).unwrap();
        second.step(5).unwrap();
        // The first row of the second is that of the step where it goes on.
        assert_equal(&mut second, &mut alone, &format!("{before:?} then {after:?}"));
    }
}

#[test]
fn what_ranks_cannot_share_is_refused_with_the_reason() {
    let description = Description::new(&[30])
        .derivative("second", "xx", 2)
        .field(FieldText::new("a", "1", "a + 0.1*second(a)").boundary("periodic"))
        .field(FieldText::new("b", "1", "b + 0.1*second(b) + 0.1*a"));
    let system = System::new(&description, Path::new("")).unwrap();
    let refused =
        |asked: &ComputeOptions| SystemSimulation::asked(&system, asked).err().unwrap().to_string();
    let mixed = refused(&among(EngineRequest::Cpu, [1, 1, 2], None));
    assert!(mixed.contains("along x some fields are periodic and others are not"), "{mixed}");
    let jumps = refused(&among(EngineRequest::Fft, [1, 1, 2], None));
    assert!(jumps.contains("ranks share systems on cuda, cpu and emulate"), "{jumps}");
    let deep = Description::new(&[30])
        .derivative("second", "xx", 2)
        .field(FieldText::new("a", "x^2", "a + 0.1*second(a)").boundary("periodic"));
    let deep = System::new(&deep, Path::new("")).unwrap();
    for period in [1 << 40, usize::MAX] {
        let asked = among(EngineRequest::Cpu, [1, 1, 2], Some(period));
        let error = SystemSimulation::asked(&deep, &asked).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
    }
    // Three times around the grid.
    let asked = among(EngineRequest::Cpu, [1, 1, 2], Some(100));
    let mut shared = SystemSimulation::asked(&deep, &asked).unwrap();
    let mut alone = SystemSimulation::new(&deep).unwrap();
    shared.step(120).unwrap();
    alone.step(120).unwrap();
    assert_equal(&mut shared, &mut alone, "100 steps deep");
}
