// SPDX-License-Identifier: MIT OR Apache-2.0
//! The register-window sweeps in the emulator against the plain stencil.

use cuda_sim::{Chip, OnChip as _};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use stencil::Dtype;
use tests::draw;
use tests::emulated::EmulatedSweep2d;
use tests::plain::{assert_rounded, random_values, step};
use tests::tier::some_of;

/// Runs one step of a random stencil and compares every point.
fn check(random: &mut ChaCha8Rng, radius: usize, sweep: EmulatedSweep2d) {
    let stencil = draw::stencil_of_radius(random, 2, radius);
    let (ny, nx) = (sweep.ny as usize, sweep.nx as usize);
    let values = random_values(random, ny * nx);
    let (got, stats) =
        sweep.run(&stencil, &values, 1).unwrap_or_else(|fault| panic!("{sweep:?}: {fault}"));
    assert_rounded(&got, &step(&stencil, ny, nx, &values), nx);
    assert!(stats.copies > 0, "rows come through the ring");
}

#[test]
fn a_tile_of_full_width_is_right_for_every_radius() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let dtype = Dtype::F16;
    for radius in 1..=3 {
        let sweep = EmulatedSweep2d {
            dtype,
            ny: 26,
            nx: 512,
            blocks: 1,
            stages: 4,
            tile_rows: 26,
            seed: 7,
        };
        check(&mut random, radius, sweep);
    }
}

#[test]
fn random_grids_launches_and_interleavings_are_right() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let dtype = Dtype::F16;
    for seed in 0..some_of(40, 14) {
        let sweep = EmulatedSweep2d {
            dtype,
            ny: random.random_range(1..70),
            nx: random.random_range(1..700),
            blocks: random.random_range(1..4),
            stages: random.random_range(1..=4),
            tile_rows: 2 * random.random_range(1..=13),
            seed,
        };
        let radius = random.random_range(1..=3);
        check(&mut random, radius, sweep);
    }
}

#[test]
fn several_steps_equal_stepping_one_by_one() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let dtype = Dtype::F16;
    let sweep =
        EmulatedSweep2d { dtype, ny: 31, nx: 203, blocks: 2, stages: 2, tile_rows: 10, seed: 0 };
    let stencil = draw::stencil(&mut random, 2, [0, 1, 2]);
    let (ny, nx) = (sweep.ny as usize, sweep.nx as usize);
    let values = random_values(&mut random, ny * nx);
    let (two, _) = sweep.run(&stencil, &values, 2).unwrap();
    let (three, _) = sweep.run(&stencil, &values, 3).unwrap();
    assert_rounded(&three, &step(&stencil, ny, nx, &two), nx);
}

#[test]
fn steps_of_one_launch_equal_launches_of_one_step() {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    for seed in 0..some_of(24, 8) {
        let sweep = EmulatedSweep2d {
            dtype: Dtype::F16,
            ny: random.random_range(1..60),
            nx: random.random_range(1..1200),
            blocks: random.random_range(1..5),
            stages: random.random_range(1..=4),
            tile_rows: 2 * random.random_range(1..=8),
            seed,
        };
        let radius = random.random_range(1..=3);
        let stencil = draw::stencil_of_radius(&mut random, 2, radius);
        let values = random_values(&mut random, (sweep.ny * sweep.nx) as usize);
        let (together, depth) = (random.random_range(2..5), random.random_range(1..5));
        // The second launch goes on from the counters that the first leaves: of too few its blocks wait for
        // ever, of too many they do not wait, which is a race.
        let steps = together + random.random_range(2..4);
        let (want, _) = sweep.run(&stencil, &values, steps).unwrap();
        let chip = if seed % 4 == 0 { Chip::Sm80 } else { Chip::Sm90 };
        let (got, _) = chip
            .with(|| sweep.run_together(&stencil, &values, steps, together, depth))
            .unwrap_or_else(|fault| panic!("{sweep:?}, {together}, {depth}, {chip}: {fault}"));
        assert!(got == want, "{sweep:?}, {together}, {depth}");
    }
}
