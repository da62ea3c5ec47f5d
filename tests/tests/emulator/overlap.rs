// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches that overlap: a kernel that does not wait for the launch before, or waits too late, is caught,
//! whichever it is.

use cuda_sim::FaultKind;
use kernels_gpu::fault::{self, Fault};
use rayon::prelude::*;
use std::collections::BTreeMap;
use tests::suite::{TestCase, or_fault};
use tests::{cases, cases_chain3d, cases_direct, cases_rim, cases3d, gather, rows};

/// Plants a mistake in every kernel of a family, in the quickest of its cases, and asserts what is reported.
fn assert_reported<C: TestCase>(
    all: &[C],
    planted: Fault,
    expected: impl Fn(&FaultKind) -> bool + Sync,
) {
    assert_reported_by(all, expected, |case| fault::with(planted, || case.emulate().map(drop)));
}

/// Runs the quickest case of every kernel of a family by `run`, which plants a mistake, and asserts what is reported.
fn assert_reported_by<C: TestCase>(
    all: &[C],
    expected: impl Fn(&FaultKind) -> bool + Sync,
    run: impl Fn(&C) -> Result<(), cuda_sim::Fault> + Sync,
) {
    // The quickest is the one with the fewest points.
    let mut kernels: BTreeMap<String, &C> = BTreeMap::new();
    for case in all {
        let least = kernels.entry(case.kernel()).or_insert(case);
        if case.points() < least.points() {
            *least = case;
        }
    }
    assert!(!kernels.is_empty());
    kernels.par_iter().for_each(|(kernel, case)| match run(case) {
        Ok(()) => panic!("{case}: not reported"),
        Err(fault) => {
            // The kernel of many steps has a longer name.
            assert!(fault.kernel.starts_with(&**kernel), "{case}: {fault}");
            assert!(expected(&fault.kind), "{case}: {fault}");
        }
    });
}

/// Rims that begin when all else has ended, as the others wait at their end only; the mistake is not in the
/// launch before.
fn assert_reported_in_rims(planted: Fault, expected: impl Fn(&FaultKind) -> bool + Sync) {
    let mut cases = cases_rim::cases();
    cases.retain(|case| case.plan.rim.again);
    assert_reported_by(&cases, expected, |case| {
        let run = case.run_by(&case.emulator(), |launch| fault::with(planted, launch));
        or_fault(run).map(drop)
    });
}

/// The macro repeats itself for every family.
macro_rules! in_all_families {
    ($planted:expr, $expected:expr) => {
        assert_reported(&cases::all(), $planted, $expected);
        assert_reported(&cases3d::cases(), $planted, $expected);
        assert_reported(&cases_chain3d::cases(), $planted, $expected);
        assert_reported(&rows::cases(), $planted, $expected);
        assert_reported(&gather::cases(), $planted, $expected);
        assert_reported(&cases_direct::cases(), $planted, $expected);
        assert_reported_in_rims($planted, $expected);
    };
}

#[test]
fn a_wait_that_comes_after_the_first_access_is_reported() {
    in_all_families!(Fault::LateWait, |kind| matches!(kind, FaultKind::NoWaitForPrevious(_)));
}

#[test]
fn a_missing_wait_is_reported() {
    in_all_families!(Fault::NoWaitForPrevious, |kind| matches!(kind, FaultKind::EarlyStart));
}

/// Of kernels of which some threads load and others store.
#[test]
fn a_missing_wait_of_those_who_store_is_reported() {
    let expected = |kind: &FaultKind| matches!(kind, FaultKind::NoWaitForPrevious(_));
    let mut rows = rows::cases();
    rows.retain(|case| case.shape.dims() == 2);
    let planted = Fault::NoWaitBeforeStores;
    assert_reported(&rows, planted, expected);
    assert_reported(&gather::cases(), planted, expected);
    assert_reported(&cases3d::cases(), planted, expected);
    // Chained steps store whole chunks only.
    let mut windows = cases::all();
    windows.retain(|case| case.nx >= 64 && case.ny >= 8);
    assert_reported(&windows, planted, expected);
}
