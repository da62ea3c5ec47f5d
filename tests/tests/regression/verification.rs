// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is compared, and what is said of it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::Folder;

fn report(folder: &Folder, run: &str) -> Value {
    let run = format!("run --engine cpu --time off --json - {run}");
    serde_json::from_str(&folder.succeed(&run).stdout).unwrap()
}

/// `verified` was false for "off" and for "the first steps are right", and true for all points and for 5
/// of 22 million.
#[test]
fn json_says_what_was_compared() {
    let folder = Folder::new();
    let off = report(&folder, "--stencil star2d1r --size 30 --verify off");
    assert_eq!(off["verified"], false);
    let nothing = json!({
        "mode": "off", "reference": null, "passed": null, "outcome": null, "complete": true,
        "reduced": null, "comparisons": [],
    });
    assert_eq!(off["verification"], nothing);

    let full = report(&folder, "--stencil star2d1r --size 30x40 --steps 5");
    assert_eq!((&full["verified"], &full["verification"]["mode"]), (&json!(true), &json!("full")));
    let comparison = &full["verification"]["comparisons"][0];
    assert_eq!((&comparison["from_step"], &comparison["to_step"]), (&json!(0), &json!(5)));
    assert_eq!(comparison["points"], 1200);
    assert_eq!(comparison["max_abs_err"], full["max_abs_err"]);
    let [error, bound] = ["max_abs_err", "bound"].map(|key| comparison[key].as_f64().unwrap());
    assert!(0.0 < error && error <= bound);

    let sample = report(&folder, "--stencil star2d1r --size 2000 --verify sample");
    assert_eq!(
        (&sample["verified"], &sample["verification"]["mode"]),
        (&json!(true), &json!("sample"))
    );
    let points = sample["verification"]["comparisons"][0]["points"].as_u64().unwrap();
    assert!((1..4_000_000).contains(&points));
}

/// Then: "verified", with an error of half of the values, as of the commands of a page.
#[test]
fn what_rounding_took_is_told_and_what_keeps_it() {
    let folder = Folder::new();
    let run =
        "run heat-2d --size 64 --steps 5000 --start gauss --engine cpu --time off --json a.json";
    let outcome = folder.host(&format!("{run} --dtype f16"));
    let told = "warning: rounding took the digits of the result, up to ";
    assert!(outcome.code == Some(0) && outcome.stderr.starts_with(told), "{}", outcome.stderr);
    assert!(outcome.stderr.ends_with("; --dtype f32 keeps more of them\n"), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("\nrounding   TOOK THE DIGITS, up to "), "{}", outcome.stdout);
    assert!(!outcome.stdout.contains("verified"), "{}", outcome.stdout);
    let json = |folder: &Folder| -> Value {
        serde_json::from_str(&std::fs::read_to_string(folder.path("a.json")).unwrap()).unwrap()
    };
    let lost = json(&folder);
    assert_eq!(
        (&lost["verification"]["outcome"], &lost["verification"]["passed"], &lost["verified"]),
        (&json!("digits lost"), &json!(true), &json!(false))
    );
    // What it takes by itself.
    let outcome = folder.host(run);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    let right = json(&folder);
    assert_eq!((&right["dtype"], &right["verified"]), (&json!("f32"), &json!(true)));
    assert_eq!(right["verification"]["outcome"], "verified");
}

/// What is too long to be stepped again is compared with jumps, by whatever engine it ran.
#[test]
fn long_runs_are_compared_with_jumps_where_those_are_exact() {
    let folder = Folder::new();
    let run = "--stencil star2d1r --size 512x700 --steps 3001 --boundary x:periodic --dtype f32";
    let long = report(&folder, run);
    assert_eq!((&long["engine"], &long["verified"]), (&json!("cpu"), &json!(true)));
    let reference = long["verification"]["reference"].as_str().unwrap();
    assert!(reference.starts_with("for all steps jumps in f64 by Fourier"), "{reference}");
    let comparisons = long["verification"]["comparisons"].as_array().unwrap();
    let all = comparisons.last().unwrap();
    assert!(comparisons.len() > 1 && all["points"] == 512 * 700, "{comparisons:?}");
    assert_eq!((&all["from_step"], &all["to_step"]), (&json!(0), &json!(3001)));
    assert!(all["rel_l2_err"].as_f64().unwrap() < 1e-5, "{all}");
}

/// Of a long run the first steps were compared, at a few points, with a bound that grew with them.
#[test]
fn long_runs_are_compared_up_to_their_last_step_within_tight_bounds() {
    let folder = Folder::new();
    // Zeros beside a radius of 2 are none for jumps, with which all steps would be compared.
    let run = "--stencil star2d2r --size 512x700 --steps 3001 --boundary x:periodic --dtype f16";
    // Whole passes are compared: of several steps each, where the engine likes.
    let passes = report(&folder, run);
    let chain = passes["chain"].as_u64().unwrap();
    for one in passes["verification"]["comparisons"].as_array().unwrap() {
        let steps = one["to_step"].as_u64().unwrap() - one["from_step"].as_u64().unwrap();
        assert!(steps < 8 + 2 * chain, "{one}, {chain}");
    }
    let run = &format!("{run} --chain 1");
    let long = report(&folder, run);
    assert_eq!((&long["verified"], &long["verification"]["passed"]), (&json!(false), &json!(true)));
    let comparisons = long["verification"]["comparisons"].as_array().unwrap();
    assert!(comparisons.len() >= 5, "{comparisons:?}");
    let steps =
        |key: &str| comparisons.iter().map(|one| one[key].as_u64().unwrap()).collect::<Vec<_>>();
    let (from, to) = (steps("from_step"), steps("to_step"));
    assert_eq!((from[0], to[to.len() - 1]), (0, 3001));
    for (one, (from, to)) in comparisons.iter().zip(from.iter().zip(to)) {
        assert!(to - from <= 8, "{one}");
        assert!(one["bound"].as_f64().unwrap() < 6e-3, "{one}");
        assert!(one["points"].as_u64().unwrap() > 10_000, "{one}");
    }
    let report = folder.succeed(&format!("run --engine cpu --time off {run}")).stdout;
    let line = report.lines().find(|line| line.starts_with("verified")).unwrap();
    assert!(line.starts_with("verified   up to 8 steps at a time, "), "{line}");
    assert!(line.contains("(--verify full compares all of them from the input on)"), "{line}");
}

/// The check of a small grid took 13 times the computation: 192 s of 10^7 steps of 3 x 3 points.
#[test]
fn the_check_of_a_small_grid_takes_no_longer_than_that_of_a_large_one() {
    let folder = Folder::new();
    let start = Instant::now();
    let small = report(
        &folder,
        "--stencil star2d1r --size 3 --steps 2000000 --dtype f64 --boundary periodic",
    );
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert_eq!(small["verification"]["passed"], true);
}

/// tf32 on the CPU, whose products are those of f32, was held to the bound of tensor cores, which round
/// values to 11 bits: errors 1,000 times too large passed.
#[test]
fn tf32_on_the_cpu_is_held_to_the_bound_of_its_arithmetic() {
    let folder = Folder::new();
    let run = |dtype: &str| {
        let report = report(&folder, &format!("--stencil star2d1r --size 30 --dtype {dtype}"));
        report["verification"]["comparisons"][0]["bound"].as_f64().unwrap()
    };
    let (tf32, f32) = (run("tf32"), run("f32"));
    assert!(tf32 <= 1.01 * f32, "{tf32:e} for tf32, {f32:e} for f32");
}

/// Seed and files were not in the report.
#[test]
fn json_says_what_the_run_began_with_and_where_it_ended() {
    let folder = Folder::new();
    let random = report(&folder, "--stencil star2d1r --size 30 --seed 7 --output a.npy");
    assert_eq!(random["seed"], 7);
    assert_eq!(random["files"], json!({"weights": null, "input": null, "output": "a.npy"}));
    folder.write("w.npy", &[1, 1], &[0.5]);
    let given = report(&folder, "--weights w.npy --input a.npy");
    assert!(given["seed"].is_null());
    assert_eq!(given["files"], json!({"weights": "w.npy", "input": "a.npy", "output": null}));
}

/// Then: "TOOK THE DIGITS, up to all there is", because no sample met the dot, beside which there is nearly nothing.
#[test]
fn a_dot_that_no_sample_meets_keeps_its_digits() {
    let folder = Folder::new();
    let points = 60_001;
    let mut dot = vec![0.0f32; points];
    dot[points / 3] = 1.0;
    folder.write("dot.npy", &[points as u64], &dot);
    let run = "--stencil star1d1r --size 60001 --steps 2000 --input dot.npy --verify sample";
    let report = report(&folder, run);
    assert_eq!(report["verification"]["outcome"], "verified", "{}", report["verification"]);
}
