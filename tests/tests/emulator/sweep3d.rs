// SPDX-License-Identifier: MIT OR Apache-2.0
//! The 3D sweeps in the emulator against the plain stencil.

use kernels_gpu::sweep3d::{self, WarpGrid};
use rayon::prelude::*;
use stencil::families::sweep3d::Config;
use tests::cases3d::{Case, cases};
use tests::suite::TestCase as _;

/// Checks a case; returns the number of points.
fn check(case: &Case) -> usize {
    let got = case.emulate().unwrap_or_else(|fault| panic!("{case}: {fault}"));
    let difference = case.compare(&got, &case.plain());
    assert!(difference.holds(), "{case}: {difference:?}");
    got.len()
}

#[test]
fn every_kernel_gives_the_stencil() {
    let points: usize = cases().par_iter().map(check).sum();
    assert!(points > 500_000, "only {points} points");
}

#[test]
fn a_tile_of_the_tuned_size_is_right() {
    let cases = cases();
    let case = cases.iter().find(|case| case.extents == [3, 16, 256]).unwrap();
    let mut case = case.clone();
    case.config.tile = WarpGrid { across: 4, down: 2 };
    check(&case);
}

#[test]
fn a_wrong_point_is_noticed() {
    let cases = cases();
    for exact in [true, false] {
        let is_one = |case: &&Case| case.exact == exact && case.values.len() > 1000;
        let case = Case { launches: 1, ..cases.iter().find(is_one).unwrap().clone() };
        let want = case.plain();
        let mut got = want.clone();
        assert_eq!(case.compare(&got, &want).of_bound, 0.0);
        // Of a value that is not small, so that a few of its numbers are more than rounding.
        let largest = (0..got.len()).max_by_key(|&at| got[at] & 0x7fff).unwrap();
        got[largest] ^= 4;
        assert!(!case.compare(&got, &want).holds());
        got[0] = 0x7fff;
        assert!(!case.compare(&got, &want).holds(), "not a number");
    }
}

/// A partition, a quarter of a multiprocessor, has 16384 registers, and takes whole warps.
#[test]
fn tuned_blocks_fit_a_multiprocessor() {
    for kernel in sweep3d::KERNELS {
        let Config { tile, stages, producers, blocks_per_multiprocessor: blocks, .. } =
            Config::tuned(kernel.radius);
        let of_partition = (blocks * tile.threads(producers) / 32).div_ceil(4);
        assert!(of_partition * 32 * kernel.registers <= 16_384, "{}", kernel.name);
        assert!(blocks * tile.shared_bytes(kernel.radius, stages) <= 226 << 10, "{}", kernel.name);
    }
}
