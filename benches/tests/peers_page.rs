// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sections of `docs/benchmarks/others.md` beside others' code are what the records make of them.

mod current;

use benches::peers::{
    BY_DEVITO, BY_EXPONAX, BY_SWASHES, COMMAND, PAGE, RECORDS, Record, SOLUTIONS, Solutions,
    generate, read,
};
use current::{is_current, root};

#[test]
fn the_page_is_that_of_the_records() {
    is_current(PAGE, &generate(&root()).unwrap(), COMMAND);
}

/// Whatever a record says was compared before it was timed.
#[test]
fn what_is_recorded_was_compared() {
    for name in RECORDS {
        let Record { stencils, systems, source, .. } = read(&root().join(name)).unwrap();
        assert!(!systems.is_empty() && !source.device.is_empty(), "{name}");
        for row in systems {
            let most = if row.dtype == "f64" { 1e-13 } else { 1e-5 };
            assert!(row.distance <= most && row.here > 0.0 && row.there > 0.0, "{name}: {row:?}");
        }
        for row in stencils {
            let most = if row.dtype == "f64" { 1e-14 } else { 1e-6 };
            assert!(row.distance <= most && row.here > 0.0 && row.there > 0.0, "{name}: {row:?}");
        }
    }
}

/// Solutions of others in the records are as near as is demanded, of all problems.
#[test]
fn what_is_recorded_agrees() {
    let suites = [BY_DEVITO, BY_EXPONAX, BY_SWASHES];
    for (name, suite) in SOLUTIONS.into_iter().zip(suites) {
        let Solutions { agreements, source } = read(&root().join(name)).unwrap();
        assert_eq!(source.peers, suite.packages.packages, "{name}");
        let mut rows = agreements.iter();
        for problem in suite.problems {
            for quantity in problem.quantities {
                let row = rows.next().unwrap();
                assert_eq!((&*row.problem, &*row.quantity), (problem.name, *quantity), "{name}");
                assert_eq!((row.demand, row.grids.len()), (problem.demand, problem.points.len()));
                row.check().unwrap();
            }
        }
        assert!(rows.next().is_none(), "{name}");
    }
}
