// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels on row windows in the emulator against the plain stencil.

use kernels_gpu::half::HalfType;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tests::rows::{Bits, random_stencil};
use transform::{Stencil, Tap};

const TYPES: [HalfType; 2] = [HalfType::F16, HalfType::Bf16];

fn check_line(random: &mut ChaCha8Rng, element: HalfType, stencil: &Stencil, nx: u32) {
    let grid = Bits::random(random, element, 1, 1, nx);
    let (blocks, threads) = (random.random_range(1..4), 32 * random.random_range(1..4));
    let seed = random.random();
    let got = grid.line(stencil, blocks, threads, seed).unwrap_or_else(|fault| {
        panic!("{element:?}, nx {nx}, {blocks} blocks of {threads}, seed {seed}: {fault}")
    });
    grid.assert_step(stencil, 1, &got);
}

#[test]
fn lines_of_every_radius_and_size_are_right() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for element in TYPES {
        for reach in 1..=7 {
            let stencil = random_stencil(&mut random, 1, 0, reach);
            for nx in [1, 2, 3, 61, 127, 128, 129, 512, 513, 1021, 4096 + 131] {
                check_line(&mut random, element, &stencil, nx);
            }
        }
    }
}

#[test]
fn lines_of_random_size_are_right() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    for element in TYPES {
        for _ in 0..20 {
            let reach = random.random_range(0..=7);
            let stencil = random_stencil(&mut random, 1, 0, reach);
            let nx = random.random_range(1..6000);
            check_line(&mut random, element, &stencil, nx);
        }
    }
}

#[test]
fn one_sided_lines_are_right() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    for element in TYPES {
        for dx in [-7, 7] {
            let tap = Tap { offset: [0, 0, dx], weight: 1.0 };
            let shift = Stencil::new("shift", 1, vec![tap]).unwrap();
            check_line(&mut random, element, &shift, 777);
        }
    }
}
