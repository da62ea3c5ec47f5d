// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sweeps of a parameter: files of each value, several side by side.

use std::fs;

use serde_json::Value;

use super::{WAVE, folder};

/// A run for each value, with files named by it, as so many command lines would write them.
#[test]
fn a_sweep_has_files_for_each_value() {
    let folder = folder(
        &WAVE.replace("[time]", "[constants]\nk = 1\n\n[time]").replace("dt*p^2", "k*dt*p^2"),
    );
    let sweep =
        "run wave.toml --steps 3 --sweep k=0.5:1:2 --output {k}-{field}.npy --receivers {k}.csv";
    let stdout = folder.succeed(sweep).stdout;
    let both = [stdout.find("k = 0.5\n"), stdout.find("k = 1\n")].map(Option::unwrap);
    assert!(both[0] < both[1] && stdout.matches("verified").count() == 2, "{stdout}");
    let why = "one after the other: rows2d_f64 takes one system at a time\n";
    assert!(stdout.starts_with(why), "{stdout}");
    let names =
        ["0.5-energy.npy", "0.5-p.npy", "0.5.csv", "1-energy.npy", "1-p.npy", "1.csv", "wave.toml"];
    assert_eq!(folder.files(), names);
    folder.succeed("run wave.toml --steps 3 --set k=0.5 --output own-{field}.npy");
    let energy = folder.read::<f64>("own-energy.npy");
    assert_eq!(folder.read::<f64>("0.5-energy.npy"), energy);
    assert_ne!(folder.read::<f64>("1-energy.npy"), energy);
    let one = "error: last.csv is one file for all values of k\n  \
               help: let {k} stand for the value: --receivers last-{k}.csv";
    folder.fail("run wave.toml --sweep k=0.5:1:2 --receivers last.csv", 2, one);
    let other = folder.host("run wave.toml --quiet --sweep q=1:2:2");
    assert_eq!(other.code, Some(2));
    assert!(other.stderr.contains("the system has no constant 'q'"), "{}", other.stderr);
    assert!(other.stderr.contains("warning: the run with q = 1 is the last one; it failed"));
    let other = folder.host("run wave.toml --sweep k=1:2");
    assert!(other.stderr.contains("give NAME=FROM:TO:COUNT, as in D=0.1:1:10"), "{}", other.stderr);
}

/// Each has the files and the report that it has alone, and all are computed by launches of one kernel.
#[test]
fn a_sweep_of_small_grids_is_computed_side_by_side() {
    let folder = folder(
        &WAVE.replace("[time]", "[constants]\nk = 1\n\n[time]").replace("dt*p^2", "k*dt*p^2"),
    );
    let run = "run wave.toml --steps 4 --engine emulate";
    let sweep = format!(
        "{run} --sweep k=0.5:1:3 --output {{k}}-{{field}}.npy --receivers {{k}}.csv --json {{k}}.json"
    );
    let stdout = folder.succeed(&sweep).stdout;
    let places = ["k = 0.5\n", "k = 0.75\n", "k = 1\n"].map(|name| stdout.find(name).unwrap());
    assert!(places.is_sorted(), "{stdout}");
    for told in ["verified", "3 systems side by side", "a step of 3 side by side is predicted"] {
        assert_eq!(stdout.matches(told).count(), 3, "{told}: {stdout}");
    }
    for value in ["0.5", "0.75", "1"] {
        let alone = format!(
            "{run} --set k={value} --output own-{{field}}.npy --receivers own.csv --json own.json"
        );
        folder.succeed(&alone);
        for file in ["-energy.npy", "-p.npy", ".csv"] {
            let of = |name: &str| fs::read(folder.path(&format!("{name}{file}"))).unwrap();
            assert_eq!(of(value), of("own"), "{value}{file}");
        }
        let members = [value, "own"].map(|name| {
            let text = fs::read_to_string(folder.path(&format!("{name}.json"))).unwrap();
            let report: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(report["verified"], true, "{text}");
            report["side_by_side"].as_u64().unwrap()
        });
        assert_eq!(members, [3, 1]);
    }
    let stdout = folder.succeed(&format!("{run} --sweep k=0.5:1:2 --time 1")).stdout;
    assert!(
        stdout.starts_with("one after the other: --time measures each by itself\n"),
        "{stdout}"
    );
}

/// Of those beside a run that fails each is told, and kept.
#[test]
fn a_run_that_fails_leaves_those_beside_it() {
    let text = "[grid]\nsize = [8, 8]\n[time]\ndt = 1\nsteps = 200\n[constants]\nk = 1\n[fields.u]\nstart = \"1\"\nnext = \"k*u*u\"\n";
    let folder = folder(text);
    let sweep = "run wave.toml --engine emulate --verify off --sweep k=0.5:2:2 --output {k}.npy";
    let done = folder.host(sweep);
    assert_eq!(done.code, Some(4), "{}", done.stderr);
    assert!(done.stderr.contains("warning: the run with k = 2 failed"), "{}", done.stderr);
    assert_eq!(folder.files(), ["0.5.npy", "wave.toml"]);
}
