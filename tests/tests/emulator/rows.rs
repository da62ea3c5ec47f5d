// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels on row windows in the emulator against the plain stencil.

use cuda_mma::fragment::Element;
use cuda_sim::{Chip, OnChip as _};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use tests::draw;
use tests::rows::{Case, TYPES, cases, wide_radii};
use tests::suite::TestCase as _;
use tests::tier::one_in;
use transform::row_operand::MAX_REACH;
use transform::{Stencil, Tap};

#[test]
fn the_cases_for_a_gpu_are_right() {
    cases().par_iter().for_each(Case::check);
}

#[test]
fn lines_of_every_radius_and_size_are_right() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for element in TYPES {
        for reach in 0..=MAX_REACH {
            let stencil = draw::stencil(&mut random, 1, [0, 0, reach]);
            for nx in [1, 2, 3, 61, 127, 128, 129, 512, 513, 1021, 4096 + 131] {
                Case::line(&mut random, element, &stencil, nx).check();
            }
        }
    }
}

#[test]
fn lines_of_random_size_are_right() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    for element in TYPES {
        for _ in 0..20 {
            let stencil = draw::stencil_of_radius(&mut random, 1, MAX_REACH);
            let nx = draw::extent(&mut random, 6000);
            Case::line(&mut random, element, &stencil, nx).check();
        }
    }
}

fn shift(dims: usize, offset: [i32; 3]) -> Stencil {
    Stencil::new("shift", dims, vec![Tap { offset, weight: 1.0 }]).unwrap()
}

#[test]
fn one_sided_lines_are_right() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    for element in TYPES {
        for dx in [-7, 7] {
            Case::line(&mut random, element, &shift(1, [0, 0, dx]), 777).check();
        }
    }
}

/// Single points, less than a tile, whole tiles, several and parts of them; primes.
const GRIDS: [[usize; 2]; 8] =
    [[1, 1], [7, 5], [1, 600], [53, 1], [31, 127], [24, 1024], [37, 1031], [9, 2179]];

#[test]
fn wide_stencils_of_every_radius_are_right_on_every_kind_of_grid() {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    for element in TYPES {
        for radius in wide_radii() {
            // Of the second type, of which only the products differ, the small ones.
            let grids = if element == Element::F16 { &GRIDS[..] } else { &GRIDS[..5] };
            for &extents in grids.iter().skip(radius as usize % one_in(2)).step_by(one_in(2)) {
                let radii = [0, radius as usize, random.random_range(0..=MAX_REACH)];
                let stencil = draw::stencil(&mut random, 2, radii);
                Case::wide(&mut random, element, &stencil, radius, extents).check();
            }
        }
    }
}

#[test]
fn stencils_with_fewer_rows_or_columns_are_right() {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    for element in TYPES {
        for (rows, reach, radius) in [(0, 7, 1), (1, 5, 4), (7, 0, 7), (4, 7, 4), (3, 1, 5)] {
            let stencil = draw::stencil(&mut random, 2, [0, rows, reach]);
            Case::wide(&mut random, element, &stencil, radius, [23, 301]).check();
        }
    }
}

#[test]
fn single_far_weights_are_right() {
    let mut random = ChaCha8Rng::seed_from_u64(6);
    for offset in [[0, -7, -7], [0, -7, 7], [0, 7, -7], [0, 7, 7], [0, 0, 7], [0, 3, -6]] {
        Case::wide(&mut random, Element::F16, &shift(2, offset), 7, [29, 143]).check();
    }
}

#[test]
fn wide_grids_are_right_on_sm_80() {
    let mut random = ChaCha8Rng::seed_from_u64(9);
    Chip::Sm80.with(|| {
        for (element, radius) in TYPES.into_iter().zip([2, 7]) {
            let stencil = draw::stencil_of_radius(&mut random, 2, radius);
            Case::wide(&mut random, element, &stencil, radius as u32, [37, 1100]).check();
        }
    });
}

#[test]
fn a_wrong_point_is_noticed() {
    let mut random = ChaCha8Rng::seed_from_u64(10);
    let stencil = draw::stencil(&mut random, 2, [0, 2, 3]);
    let case = Case::wide(&mut random, Element::F16, &stencil, 2, [9, 33]);
    let mut got = case.emulate().unwrap();
    assert!(case.of_bound(&got).0 <= 1.0);
    got[100] ^= 8;
    assert_eq!(case.of_bound(&got).1, [3, 1]);
    assert!(case.of_bound(&got).0 > 1.0);
    got[100] = 0x7fff;
    assert!(case.of_bound(&got).0 > 1.0, "not a number");
}
