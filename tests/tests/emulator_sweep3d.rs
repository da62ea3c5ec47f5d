// SPDX-License-Identifier: MIT OR Apache-2.0
//! The 3D sweeps in the emulator against the plain stencil.

use host::device::sweep3d::Config;
use kernels_gpu::sweep3d::{self, Tile};
use rayon::prelude::*;
use tests::cases3d::{Case, cases};

/// Checks a case; returns the number of points.
fn check(case: &Case) -> usize {
    let name = format!("{:?}, {} launches, exact: {}", case.launch, case.launches, case.exact);
    let got = case.emulate().unwrap_or_else(|fault| panic!("{name}: {fault}"));
    let part = case.compare(&got, &case.plain());
    assert!(part <= 1.0, "{name}: {part} of the bound");
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
    let case = cases.iter().find(|case| case.launch.extents == [3, 16, 256]).unwrap();
    let mut case = case.clone();
    case.launch.tile = Tile { across: 4, down: 2 };
    check(&case);
}

#[test]
fn a_wrong_point_is_noticed() {
    let cases = cases();
    for exact in [true, false] {
        let case = cases.iter().find(|case| case.exact == exact && case.launches == 1).unwrap();
        let want = case.plain();
        let mut got = want.clone();
        assert_eq!(case.compare(&got, &want), 0.0);
        got[0] ^= 4;
        assert!(case.compare(&got, &want) > 1.0);
        got[0] = 0x7fff;
        assert!(case.compare(&got, &want) > 1.0, "not a number");
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
