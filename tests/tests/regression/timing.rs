// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is measured, and what is not.

use serde_json::Value;

use crate::support::Folder;

/// Repetitions ran even where nobody saw what they measured: 0.16 s of work took 3.1 s. (That `--quiet`
/// alone does without them is tested beside the code, by what it makes of the arguments.)
#[test]
fn the_report_says_how_its_time_was_measured() {
    let folder = Folder::new();
    let report = |time: &str| -> Value {
        let run = "run --stencil star2d1r --size 200 --engine cpu --verify off --json - --time";
        serde_json::from_str(&folder.succeed(&format!("{run} {time}")).stdout).unwrap()
    };
    let own = report("off");
    assert_eq!(own["repetitions"], 0);
    assert!(own["seconds"].as_f64().unwrap() > 0.0);
    assert!(own["copy_gb_per_s"].is_null() && own["fraction_of_copy"].is_null());
    for (time, repetitions) in [("auto", 9), ("3", 3)] {
        let measured = report(time);
        assert_eq!(measured["repetitions"], repetitions);
        assert!(measured["copy_gb_per_s"].as_f64().unwrap() > 0.0);
    }
}
