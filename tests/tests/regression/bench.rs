// SPDX-License-Identifier: MIT OR Apache-2.0
//! The benchmark on an engine that takes one step at a time measured the same four times.

use std::fs;

use serde_json::{Value, json};

use super::support::Folder;

const BENCH: &str = "bench --quick --engine cpu --stencil star2d1r,star1d1r --size-limit 70000 \
                     --dtype f32";

fn read(folder: &Folder, name: &str) -> Value {
    serde_json::from_slice(&fs::read(folder.path(name)).unwrap()).unwrap()
}

#[test]
fn modes_that_are_the_same_are_measured_once() {
    let folder = Folder::new();
    let table = folder.succeed(&format!("{BENCH} --json a.json --csv a.csv")).stdout;
    let lines: Vec<&str> = table.lines().collect();
    // The device, the header, a line for each stencil, and the note.
    assert_eq!(lines.len(), 5, "{table}");
    assert!(lines[2].contains(" star1d1r ") && lines[3].contains(" star2d1r "), "{table}");
    assert!(lines[2..4].iter().all(|line| line.contains(" step ")), "{table}");
    let note =
        "cpu takes one step at a time: measured once, as step; the same: fused, chained, auto";
    assert_eq!(lines[4], note);

    // Files have a row for every case, so that they compare with those of engines that differ.
    let file = read(&folder, "a.json");
    let rows = file["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &file["complete"]), (8, &json!(true)));
    for four in rows.chunks(4) {
        assert_eq!(four[0]["same_as"], Value::Null);
        for (row, mode) in four[1..].iter().zip(["fused", "chained", "auto"]) {
            assert_eq!((&row["mode"], &row["same_as"]), (&json!(mode), &json!("step")));
            assert_eq!(row["gstencils_per_s"], four[0]["gstencils_per_s"]);
            assert_eq!(row["verified"], json!(true));
        }
    }
    let csv = fs::read_to_string(folder.path("a.csv")).unwrap();
    assert_eq!(csv.lines().filter(|line| line.contains(",true,step,")).count(), 6, "{csv}");

    // Such a file is read again, and the copies are not compared one by one.
    let comparison = folder.succeed("bench --compare a.json --with a.json").stdout;
    assert!(comparison.ends_with("\n2 compared\n"), "{comparison}");
    let without_step = "bench --compare a.json --with a.json --mode auto,chained";
    let comparison = folder.succeed(without_step).stdout;
    assert!(comparison.ends_with("\n4 compared\n"), "{comparison}");
    // A file of before has a measurement for every mode.
    let mut old = file.clone();
    for row in old["rows"].as_array_mut().unwrap() {
        row.as_object_mut().unwrap().remove("same_as");
    }
    fs::write(folder.path("old.json"), old.to_string()).unwrap();
    let comparison = folder.succeed("bench --compare old.json --with a.json").stdout;
    assert!(comparison.ends_with("\n8 compared\n"), "{comparison}");
}

#[test]
fn the_first_mode_that_is_asked_for_is_the_one_that_is_measured() {
    let folder = Folder::new();
    let table = folder.succeed(&format!("{BENCH} --mode auto,chained")).stdout;
    let note = "cpu takes one step at a time: measured once, as chained; the same: auto\n";
    assert!(table.ends_with(note), "{table}");
    let table = folder.succeed(&format!("{BENCH} --mode auto")).stdout;
    assert_eq!(table.lines().count(), 4, "{table}");
}
