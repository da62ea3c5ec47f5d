// SPDX-License-Identifier: MIT OR Apache-2.0
//! Chained steps of 3D stars in the emulator against the plain stencil, step by step.

use rayon::prelude::*;
use tests::cases_chain3d::{Case, cases};

/// Checks a case; returns the number of points.
fn check(case: &Case) -> usize {
    let name = format!("{:?}, {} launches, exact: {}", case.launch, case.launches, case.exact);
    let got = case.emulate().unwrap_or_else(|fault| panic!("{name}: {fault}"));
    let part = case.compare(&got, &case.plain());
    assert!(part <= 1.0, "{name}: {part} of the bound");
    got.len()
}

#[test]
fn every_kernel_gives_the_stencil_step_by_step() {
    let points: usize = cases().par_iter().map(check).sum();
    assert!(points > 500_000, "only {points} points");
}

#[test]
fn a_wrong_point_is_noticed() {
    let cases = cases();
    for exact in [true, false] {
        let case = cases.iter().find(|case| case.exact == exact).unwrap();
        let want = case.plain();
        let mut got = want.clone();
        assert_eq!(case.compare(&got, &want), 0.0);
        got[0] ^= if exact { 1 } else { 0x4000 };
        assert!(case.compare(&got, &want) > 1.0);
    }
}
