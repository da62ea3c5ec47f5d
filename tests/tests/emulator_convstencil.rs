// SPDX-License-Identifier: MIT OR Apache-2.0
//! ConvStencil in the emulator: mistakes in how its launches and its threads wait are caught, in each of its kernels.
//! That it computes what it should is tested with the other families.

use cuda_sim::FaultKind;
use host::families::find;
use kernels_gpu::fault::{self, Fault};
use std::collections::BTreeMap;
use tests::families::{Case, cases_of};
use tests::suite::Case as _;

/// For each kernel, the case with the fewest points.
fn quickest() -> BTreeMap<String, Case> {
    let mut kernels: BTreeMap<String, Case> = BTreeMap::new();
    for case in cases_of(find("convstencil").unwrap()) {
        if kernels.get(&case.kernel()).is_none_or(|least| case.points() < least.points()) {
            kernels.insert(case.kernel(), case);
        }
    }
    // 1D of radius 1 to 4, 2D of 1 to 3, 3D of 1 to 3 in three ways.
    assert_eq!(kernels.len(), 16);
    kernels
}

fn assert_reported(planted: Fault, expected: impl Fn(&FaultKind) -> bool) {
    for (kernel, case) in quickest() {
        match fault::with(planted, || case.emulate().map(drop)) {
            Ok(()) => panic!("{planted:?} in {case}: not reported"),
            Err(fault) => {
                assert_eq!(&*fault.kernel, kernel, "{planted:?} in {case}: {fault}");
                assert!(expected(&fault.kind), "{planted:?} in {case}: {fault}");
            }
        }
    }
}

#[test]
fn products_of_points_that_are_not_there_yet_are_reported() {
    let expected =
        |kind: &FaultKind| matches!(kind, FaultKind::Race { .. } | FaultKind::Unwritten(_));
    assert_reported(Fault::NoSyncOfPoints, expected);
}

#[test]
fn a_missing_wait_for_the_launch_before_is_reported() {
    assert_reported(Fault::NoWaitForPrevious, |kind| matches!(kind, FaultKind::EarlyStart));
}

#[test]
fn a_late_wait_for_the_launch_before_is_reported() {
    let expected = |kind: &FaultKind| matches!(kind, FaultKind::NoWaitForPrevious(_));
    assert_reported(Fault::LateWait, expected);
}
