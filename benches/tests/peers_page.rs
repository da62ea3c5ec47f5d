// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sections of `docs/benchmarks.md` beside others' code are what the records make of them.

mod current;

use benches::peers::{COMMAND, PAGE, RECORDS, Record, generate};
use current::{is_current, root};

#[test]
fn the_page_is_that_of_the_records() {
    is_current(PAGE, &generate(&root()).unwrap(), COMMAND);
}

/// Whatever a record says was compared before it was timed.
#[test]
fn what_is_recorded_was_compared() {
    for name in RECORDS {
        let Record { stencils, systems, device, .. } = Record::read(&root().join(name)).unwrap();
        assert!(!systems.is_empty() && !device.is_empty(), "{name}");
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
