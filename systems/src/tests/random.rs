// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random systems, each step against the same step in f64: every value within what rounding can make of it.

use super::draw::{in_stages, many, system, with_solves};
use super::tier::cases;
use crate::{Description, System, SystemSimulation};
use rayon::prelude::*;
use std::path::Path;

/// Time steps of a case: enough for all levels to have been computed.
const STEPS: usize = 5;

#[test]
fn any_system_agrees_with_the_oracle() {
    agree(cases(40, 24), |seed| if seed % 8 == 7 { many(seed) } else { system(seed) });
}

/// New values, work fields, and rates of change.
#[test]
fn any_order_of_a_step_agrees_with_the_oracle() {
    agree(cases(20, 12), |seed| in_stages(seed, 4));
}

/// Work fields that are solved for, among others.
#[test]
fn any_solve_agrees_with_the_oracle() {
    agree(cases(10, 6), |seed| with_solves(seed, 3, false));
}

/// Checks so many systems that are drawn so.
fn agree(cases: u64, draw: impl Fn(u64) -> Description + Sync) {
    let of_case = |seed: u64| {
        let description = draw(seed);
        let system = System::new(&description, Path::new(""));
        let system = system.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let mut checked = SystemSimulation::new(&system).unwrap();
        let (mut values, mut undecided) = (0, 0);
        for _ in 0..STEPS {
            let check = checked.checked_step();
            let check =
                check.unwrap_or_else(|error| panic!("seed {seed}: {error}: {description:#?}"));
            values += check.points;
            undecided += check.undecided;
        }
        // Portions of other sizes give equal values.
        let mut stepped = SystemSimulation::new(&system).unwrap();
        stepped.step(2).unwrap();
        stepped.step(STEPS - 2).unwrap();
        for name in system.fields() {
            assert_eq!(stepped.field(name).unwrap(), checked.field(name).unwrap(), "seed {seed}");
        }
        (values, undecided)
    };
    let counts: Vec<(usize, usize)> = (0..cases).into_par_iter().map(of_case).collect();
    let [values, undecided] =
        [counts.iter().map(|it| it.0).sum::<usize>(), counts.iter().map(|it| it.1).sum()];
    println!(
        "{cases} systems, {values} values compared, of {undecided} rounding can make anything"
    );
    assert!(undecided * 1000 <= values, "{undecided} of {values}");
}
