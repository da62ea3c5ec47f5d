// SPDX-License-Identifier: MIT OR Apache-2.0
//! Chained sweeps in the emulator against the plain stencil, stepped one by one.

use half::f16;
use kernels_gpu::chain2d::Stages;
use kernels_gpu::emulated::Chain2d;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tests::emulated::chain;
use tests::plain::{assert_rounded, random_stencil, random_values, step};

/// Radii and numbers of steps for which there are kernels.
fn kernels() -> Vec<(u32, u32)> {
    let all = (1..=3).flat_map(|radius| (1..=6).map(move |chain| (radius, chain)));
    all.filter(|&(radius, chain)| kernels_gpu::chain2d::kernel(radius, chain).is_some()).collect()
}

/// Runs a launch and compares every point that does not depend on the boundary; with a single step,
/// every point.
fn check(random: &mut ChaCha8Rng, launch: Chain2d) {
    let stencil = random_stencil(random, launch.radius as usize);
    // A step must not let rounding grow, so that the bound below holds.
    let gain = stencil.gain();
    let stencil = stencil.map_weights(|weight| weight / gain);
    let (ny, nx) = (launch.ny as usize, launch.nx as usize);
    let values = random_values(random, ny * nx);
    let got =
        chain(launch, &stencil, &values, 1).unwrap_or_else(|fault| panic!("{launch:?}: {fault}"));
    if launch.chain == 1 {
        return assert_rounded(&got, &step(&stencil, ny, nx, &values), nx);
    }
    let mut want = values;
    for _ in 0..launch.chain {
        let sums = step(&stencil, ny, nx, &want);
        want = sums.iter().map(|(sum, _)| f16::from_f64(*sum)).collect();
    }
    let reach = (launch.radius * launch.chain) as usize;
    // Each step rounds to the nearest f16 of a value below 1, once here and once there.
    let bound = f64::from(launch.chain) * 2f64.powi(-10);
    for y in reach..ny.saturating_sub(reach) {
        for x in reach..nx.saturating_sub(reach) {
            let (got, want) = (got[y * nx + x].to_f64(), want[y * nx + x].to_f64());
            assert!((got - want).abs() <= bound, "{launch:?}: ({y}, {x}) is {got}, not {want}");
        }
    }
}

#[test]
fn every_kernel_is_right_on_more_than_one_tile() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for (radius, chain) in kernels() {
        let stages = Stages { input: 3, ring: 3 };
        let (ny, nx, blocks, tile_stages, seed) = (70, 530, 2, 4, 5);
        let launch = Chain2d { radius, chain, ny, nx, blocks, stages, tile_stages, seed };
        check(&mut random, launch);
    }
}

#[test]
fn random_grids_launches_and_interleavings_are_right() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let kernels = kernels();
    for seed in 0..30 {
        let (radius, chain) = kernels[random.random_range(0..kernels.len())];
        let launch = Chain2d {
            radius,
            chain,
            ny: random.random_range(1..80),
            nx: random.random_range(1..600),
            blocks: random.random_range(1..4),
            stages: Stages { input: random.random_range(1..5), ring: random.random_range(3..5) },
            tile_stages: random.random_range(1..6),
            seed,
        };
        check(&mut random, launch);
    }
}
