// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sessions in the emulator against the f64 oracle: jumps of any lengths in any order, and tiles of any reach.

use std::rc::Rc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use transform::Stencil;

use super::{Abilities, Torus, session};
use crate::device::{Device, Emulator, Limits};
use problem::check::verify;
use problem::{Boundary, Depth, Dtype, Grid, Job, View};

/// A GPU with so much shared memory, which steps nothing: boundaries are periodic.
fn abilities(shared_bytes: u32) -> Rc<Abilities> {
    Rc::new(Abilities {
        limits: Limits { shared_bytes, ..Limits::H200 },
        memory_bytes: 1 << 36,
        copy_bytes_per_s: 4e12,
        step: Box::new(|_| None),
    })
}

fn periodic(stencil: Stencil, size: &str, dtype: Dtype, steps: usize) -> Job {
    let boundary = Boundary::parse("periodic", stencil.dims()).unwrap();
    Job { boundary, ..Job::new(stencil, size.parse().unwrap(), dtype, steps) }
}

/// Advances a session by these steps, one after the other, and compares with the oracle after each.
fn agree(job: &Job, abilities: &Rc<Abilities>, advances: &[usize], seed: u64) {
    let device: &dyn Device = &Emulator::new().with_multiprocessors(2).with_seed(seed);
    let mut session = session(device, abilities, job).unwrap();
    let input = Grid::random(job.shape, job.dtype, seed).unwrap();
    session.load(&input).unwrap();
    let mut done = 0;
    for &steps in advances {
        session.advance(steps).unwrap();
        done += steps;
        let so_far = Job { steps: done, ..job.clone() };
        let how = (session.arithmetic(), session.jumped());
        let found = verify::whole(&so_far, how, &input, &session.store().unwrap()).unwrap();
        assert!(found.holds(), "{job:?}, of {advances:?} after {done}: {found:?}");
    }
}

/// A session keeps the jumps that it made last. Each call needs up to two lengths, one of which may be kept and the
/// other one not.
#[test]
fn calls_of_any_lengths_follow_each_other() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let line = Stencil::dense("line", &[3], &[0.2, 0.5, 0.3]).unwrap();
    let plane = [0.0, 0.2, 0.0, 0.1, 0.3, 0.2, 0.0, 0.2, 0.0];
    let plane = Stencil::dense("plane", &[3, 3], &plane).unwrap();
    for (stencil, size) in [(line, "24"), (plane, "5x6")] {
        for &dtype in Dtype::ALL {
            let job = Job { jump: Depth::Steps(7), ..periodic(stencil.clone(), size, dtype, 40) };
            let mut advances = vec![11, 10];
            advances.extend((0..4).map(|_| random.random_range(1..=22)));
            agree(&job, &abilities(Limits::H200.shared_bytes), &advances, 3);
        }
    }
}

/// Values between 0 and 1 stay there, as a mean of neighbours does, whatever transforms leave of them.
#[test]
fn values_stay_in_their_range() {
    for (name, size) in [("star1d1r", "96"), ("star2d1r", "20x24")] {
        for dtype in [Dtype::F32, Dtype::F64] {
            let job = periodic(transform::catalogue::find(name).unwrap(), size, dtype, 9);
            let job = Job { jump: Depth::Steps(6), ..job };
            let device: &dyn Device = &Emulator::new().with_multiprocessors(2);
            let abilities = abilities(Limits::H200.shared_bytes);
            let mut session = session(device, &abilities, &job).unwrap();
            let dot = |index| if index == 7 { 1.0 } else { 0.0 };
            let values: Vec<f64> = (0..job.shape.points()).map(dot).collect();
            let input = Grid::new(job.shape.axes(), values).unwrap().cast(dtype).unwrap();
            session.load(&input).unwrap();
            session.advance(job.steps).unwrap();
            // Formerly some were below 0.
            let after = session.store().unwrap();
            let all = (0..job.shape.points()).map(|index| after.get(index));
            let beyond: Vec<f64> = all.filter(|value| !(0.0..=1.0).contains(value)).collect();
            assert!(beyond.is_empty(), "{name} {dtype}: {beyond:?}");
            let view = View::whole(job.shape);
            let looked = session.capture(0, &view).unwrap().expect("there is memory for it");
            assert_eq!(looked.arrive().unwrap()().values, after.values, "{name} {dtype}");
        }
    }
}

/// Weights of which one at an end is large: what it reads by all steps has not faded.
fn far_reading(random: &mut ChaCha8Rng) -> Stencil {
    let mut weights: Vec<f64> = (0..7).map(|_| random.random_range(-0.02..0.02)).collect();
    let [before, after] = [0, 1].map(|_| random.random_range(0..=3));
    weights[..3 - before].fill(0.0);
    weights[3 + after + 1..].fill(0.0);
    let end = if random.random_range(0..2) == 0 { 3 - before } else { 3 + after };
    weights[end] = 0.9;
    Stencil::dense("drawn", &[7], &weights).unwrap()
}

/// Of even and odd reach to both sides, in f64: tiles that hold a part of a line.
#[test]
fn tiles_of_any_reach_agree_with_the_oracle() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let abilities = abilities(8 << 10);
    let mut parities = [[0; 2]; 2];
    for seed in 0..24 {
        let stencil = far_reading(&mut random);
        let steps = random.random_range(1..=9);
        let size = random.random_range(1200..1500).to_string();
        let job = Job { jump: Depth::Steps(steps), ..periodic(stencil, &size, Dtype::F64, steps) };
        let torus = Torus::of(&job, &abilities).unwrap();
        let [axis, kept] = [torus.spectra.axes[2].length, torus.kept.expect("lines are long")];
        let far = torus.spectra.axes[2].far;
        assert!(torus.skipped() >= far[0] && torus.skipped() + kept + far[1] <= axis, "{far:?}");
        parities[far[0] % 2][far[1] % 2] += 1;
        agree(&job, &abilities, &[steps], seed);
    }
    assert!(parities.as_flattened().iter().all(|&count| count > 0), "{parities:?}");
}
