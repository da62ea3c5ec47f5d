// SPDX-License-Identifier: MIT OR Apache-2.0
//! Chained steps of 3D stars in the emulator against the plain stencil, step by step.

use rayon::prelude::*;
use tests::cases_chain3d::{Case, cases};
use tests::suite::TestCase as _;
use tests::tier::one_in;

/// Checks a case; returns the number of points.
fn check(case: &Case) -> usize {
    let got = case.emulate().unwrap_or_else(|fault| panic!("{case}: {fault}"));
    let difference = case.compare(&got, &case.plain());
    assert!(difference.holds(), "{case}: {difference:?}");
    got.len()
}

#[test]
fn every_kernel_gives_the_stencil_step_by_step() {
    let step = one_in(4);
    let points: usize = cases().par_iter().step_by(step).map(check).sum();
    assert!(points > 500_000 / step, "only {points} points");
}

#[test]
fn a_wrong_point_is_noticed() {
    let cases = cases();
    for exact in [true, false] {
        let case = cases.iter().find(|case| case.exact == exact).unwrap();
        let want = case.plain();
        let mut got = want.clone();
        assert_eq!(case.compare(&got, &want).of_bound, 0.0);
        got[0] ^= if exact { 1 } else { 0x4000 };
        assert!(!case.compare(&got, &want).holds());
    }
}
