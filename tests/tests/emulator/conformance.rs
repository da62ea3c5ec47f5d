// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cases that `gpu-suite` runs on a GPU, in the emulator against the plain stencil.

use cuda_sim::{Chip, OnChip as _};
use kernels_gpu::product::Form;
use stencil::Dtype;
use tests::cases::{Case, SweepKernel, cases};
use tests::suite::{Difference, TestCase as _};
use tests::tier::one_in;

/// Checks one in so many cases of some kernels, each of which must have promised many values. An odd number takes cases of both
/// kinds by turns: with exact sums, and with any.
fn check_all(one_in: usize, of_family: impl Fn(&SweepKernel) -> bool) {
    for kernel in SweepKernel::all().into_iter().filter(of_family) {
        let points: usize = cases(kernel).iter().step_by(one_in).map(check).sum();
        assert!(points > 50_000 / one_in, "{kernel}: only {points} points");
    }
}

/// Checks a case; returns the number of points compared.
fn check(case: &Case) -> usize {
    let got = case.emulate().unwrap_or_else(|fault| panic!("{case}: {fault}"));
    let difference = case.compare(&got, &case.plain());
    assert!(difference.holds(), "{case}: {difference:?}");
    difference.points
}

#[test]
fn every_sweep_gives_the_stencil() {
    check_all(one_in(7), |kernel| matches!(kernel, SweepKernel::Sweep2d { .. }));
}

/// What differs there is how stages are filled.
#[test]
fn every_kernel_for_sm_80_gives_the_stencil_there() {
    Chip::Sm80.with(|| check_all(one_in(7) * 3, |kernel| kernel.runs_on_sm_80()));
}

#[test]
fn chains_are_not_for_sm_80() {
    let case = &cases(SweepKernel::Chain2d { dtype: Dtype::F16, radius: 1, chain: 2 })[0];
    let error = Chip::Sm80.with(|| case.run(&case.emulator())).unwrap_err().to_string();
    assert!(
        error.ends_with("chains need sm_90 or later, and the kernels in use are for sm_80"),
        "{error}"
    );
}

#[test]
fn every_chain_gives_the_stencil_step_by_step() {
    check_all(one_in(9), |kernel| matches!(kernel, SweepKernel::Chain2d { .. }));
}

#[test]
fn a_difference_is_counted_in_bits_and_judged_by_its_size() {
    let all = cases(SweepKernel::Sweep2d { form: Form::Sparse, dtype: Dtype::F16, radius: 3 });
    let case = |exact: bool, launches: usize| {
        let case = all.iter().find(|case| case.exact == exact).unwrap();
        Case { launches, ..case.clone() }
    };
    let compare = |case: &Case, got: f64, want: f64| {
        let round = |number| [Dtype::F16.round(number)];
        Case { ny: 1, nx: 1, ..case.clone() }.compare(&round(got).to_vec(), &round(want).to_vec())
    };
    let (exact, random) = (&case(true, 1), &case(false, 1));
    let below_one = 1.0 - 2f64.powi(-11);
    assert_eq!(compare(exact, 1.0, 1.0), Difference { points: 1, ..Difference::default() });
    let difference = compare(exact, 1.0, below_one);
    assert_eq!((difference.differ, difference.holds()), (1, false));
    assert!(!compare(exact, 0.0, -0.0).holds(), "the sign of zero counts");
    // One number apart, wherever they are; two only where sums lose as much.
    assert!(compare(random, 0.5, 0.5 + 2f64.powi(-11)).holds());
    assert!(!compare(random, 0.5, 0.5 + 2f64.powi(-10)).holds());
    assert!(compare(random, 2f64.powi(-17), 2f64.powi(-17) + 2f64.powi(-24)).holds());
    assert!(compare(random, 0.0, 164.0 * 2f64.powi(-24)).holds());
    assert!(!compare(random, 0.0, 166.0 * 2f64.powi(-24)).holds());
    assert!(!compare(random, f64::NAN, 0.0).holds());
    assert!(compare(&case(false, 2), 0.5, 0.5 + 2f64.powi(-10)).holds());
}
