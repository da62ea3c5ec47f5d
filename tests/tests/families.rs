// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every family in the table, in the emulator, against the plain stencil.

use cuda_sim::{Chip, OnChip as _};
use rayon::prelude::*;
use std::collections::BTreeSet;
use stencil::families::{FAMILIES, Family, find};
use tests::families::{CASES, Case, cases, cases_of};
use tests::suite::TestCase as _;
use tests::tier::one_in;

fn check(case: &Case) {
    let got = case.emulate().unwrap_or_else(|fault| panic!("{case}: {fault}"));
    let difference = case.compare(&got, &got);
    assert!(difference.holds(), "{case}: {difference:?}");
    assert_eq!(difference.points, case.points());
}

/// Each sample once, or in a quick run every second one: beside zeros on several tiles, or at random.
#[test]
fn every_family_computes_its_samples() {
    let all = cases();
    let of_sample = |index: usize| index / CASES / one_in(2) % 2;
    let is_taken = |index: usize| (index / CASES).is_multiple_of(one_in(2));
    let one = all
        .iter()
        .enumerate()
        .filter(|(index, case)| is_taken(*index) && case.number == of_sample(*index));
    one.par_bridge().for_each(|(_, case)| check(case));
}

#[test]
fn families_that_run_on_older_chips_compute_there() {
    let all = cases();
    let one = |case: &&Case| case.number == 2 && case.runs_on_sm_80();
    let older: Vec<&Case> = all.iter().filter(one).step_by(one_in(5)).collect();
    assert!(older.len() > 16, "{}", older.len());
    older.into_par_iter().for_each(|case| Chip::Sm80.with(|| check(case)));
}

#[test]
fn names_are_unique_and_found() {
    let names: BTreeSet<&str> = FAMILIES.iter().map(|family| family.name()).collect();
    assert_eq!(names.len(), FAMILIES.len());
    for name in &names {
        assert_eq!(find(name).map(Family::name), Ok(*name));
    }
    let unknown = find("sweep9d").unwrap_err().to_string();
    assert!(names.iter().all(|name| unknown.contains(name)), "{unknown}");
}

/// A family that computes something else is found: here one whose weights are another's, on several tiles.
#[test]
fn a_family_that_is_wrong_is_found() {
    for family in FAMILIES.iter().step_by(one_in(8)) {
        let mut case = cases_of(*family).swap_remove(0);
        let got = case.emulate().unwrap();
        case.job.stencil = case.job.stencil.map_weights(|weight| weight * 1.5);
        assert!(!case.compare(&got, &got).holds(), "{family}");
    }
}
