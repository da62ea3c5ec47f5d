// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels on row windows in the emulator against the plain stencil.

use cuda_sim::Chip;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tests::rows::{Bits, WideShape, random_stencil, wide_radii};
use transform::fragment::Element;
use transform::{Stencil, Tap};

const TYPES: [Element; 2] = [Element::F16, Element::Bf16];

fn check_line(random: &mut ChaCha8Rng, element: Element, stencil: &Stencil, nx: u32) {
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

/// A step of the kernel for `radius`, in a launch of random shape.
fn check_wide(
    random: &mut ChaCha8Rng,
    element: Element,
    stencil: &Stencil,
    radius: u32,
    (ny, nx): (u32, u32),
) {
    let grid = Bits::random(random, element, 2, ny, nx);
    let shape = WideShape {
        radius,
        blocks: random.random_range(1..4),
        stages: random.random_range(1..5),
        tile_rows: random.random_range(1..40),
    };
    let seed = random.random();
    let got = grid.wide(stencil, shape, seed).unwrap_or_else(|fault| {
        panic!("{element:?} on {ny}x{nx}, {shape:?}, seed {seed}: {fault}")
    });
    grid.assert_step(stencil, 2 * radius + 1, &got);
}

/// Single points, less than a tile, whole tiles, several and parts of them; primes.
const GRIDS: [(u32, u32); 8] =
    [(1, 1), (7, 5), (1, 600), (53, 1), (31, 127), (24, 1024), (37, 1031), (9, 2179)];

#[test]
fn wide_stencils_of_every_radius_are_right_on_every_kind_of_grid() {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    for element in TYPES {
        for radius in wide_radii() {
            let stencil = random_stencil(&mut random, 2, radius as usize, radius as usize);
            // Of the second type, of which only the products differ, the small ones.
            let grids = if element == Element::F16 { &GRIDS[..] } else { &GRIDS[..5] };
            for &grid in grids {
                check_wide(&mut random, element, &stencil, radius, grid);
            }
        }
    }
}

#[test]
fn stencils_with_fewer_rows_or_columns_are_right() {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    for element in TYPES {
        for (rows, reach, radius) in [(0, 7, 1), (1, 5, 4), (7, 0, 7), (4, 7, 4), (3, 1, 5)] {
            let stencil = random_stencil(&mut random, 2, rows, reach);
            check_wide(&mut random, element, &stencil, radius, (23, 301));
        }
    }
}

#[test]
fn single_far_weights_are_right() {
    let mut random = ChaCha8Rng::seed_from_u64(6);
    for offset in [[0, -7, -7], [0, -7, 7], [0, 7, -7], [0, 7, 7], [0, 0, 7], [0, 3, -6]] {
        let shift = Stencil::new("shift", 2, vec![Tap { offset, weight: 1.0 }]).unwrap();
        check_wide(&mut random, Element::F16, &shift, 7, (29, 143));
    }
}

#[test]
fn wide_grids_are_right_on_sm_80() {
    let mut random = ChaCha8Rng::seed_from_u64(9);
    Chip::Sm80.with(|| {
        for (element, radius) in TYPES.into_iter().zip([2, 7]) {
            let stencil = random_stencil(&mut random, 2, radius as usize, radius as usize);
            check_wide(&mut random, element, &stencil, radius, (37, 1100));
        }
    });
}
