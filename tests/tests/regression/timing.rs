// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is measured, and what is not.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::Folder;

/// The program's time: the least of three, because others use this machine, too.
fn time(run: &str) -> Duration {
    let folder = Folder::new();
    let once = |_| {
        let start = Instant::now();
        folder.succeed(run);
        start.elapsed()
    };
    (0..3).map(once).min().unwrap()
}

/// Repetitions to measure ran even where nobody saw what they measured: 0.16 s of work took 3.1 s.
#[test]
fn without_a_report_nothing_is_measured() {
    let run =
        "run --stencil star2d1r --size 300 --steps 3000 --dtype f32 --engine cpu --verify off";
    let (quiet, off) = (time(&format!("{run} --quiet")), time(&format!("{run} --time off")));
    let measured = time(run);
    println!("{quiet:?} quiet, {off:?} with --time off, {measured:?} with repetitions");
    assert!(2 * quiet < measured && 2 * off < measured, "{quiet:?}, {off:?}, {measured:?}");
}

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
