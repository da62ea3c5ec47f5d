// SPDX-License-Identifier: MIT OR Apache-2.0
//! The benchmark measured what is the same in several modes several times.

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
    // The device, the header, two lines for each stencil, and the notes.
    assert_eq!(lines.len(), 8, "{table}");
    for (line, stencil, mode) in [
        (2, " star1d1r ", " step "),
        (3, " star1d1r ", " chained "),
        (4, " star2d1r ", " step "),
        (5, " star2d1r ", " chained "),
    ] {
        assert!(lines[line].contains(stencil) && lines[line].contains(mode), "{table}");
    }
    assert_eq!(lines[6], "cpu does the same in these modes, measured once as step: fused");
    assert_eq!(lines[7], "cpu does the same in these modes, measured once as chained: auto");

    // Files have a row for every case, so that they compare with those of engines that differ.
    let file = read(&folder, "a.json");
    let rows = file["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &file["complete"]), (8, &json!(true)));
    for four in rows.chunks(4) {
        for (row, mode) in four.iter().zip(["step", "fused", "chained", "auto"]) {
            assert_eq!((&row["mode"], &row["verified"]), (&json!(mode), &json!(true)));
        }
        for (row, of) in [(0, 1), (2, 3)] {
            assert_eq!(four[row]["same_as"], Value::Null);
            assert_eq!(four[of]["same_as"], four[row]["mode"]);
            assert_eq!(four[of]["gstencils_per_s"], four[row]["gstencils_per_s"]);
        }
    }
    let csv = fs::read_to_string(folder.path("a.csv")).unwrap();
    assert_eq!(csv.lines().filter(|line| line.contains(",true,step,")).count(), 2, "{csv}");
    assert_eq!(csv.lines().filter(|line| line.contains(",true,chained,")).count(), 2, "{csv}");

    // Such a file is read again, and the copies are not compared one by one.
    let comparison = folder.succeed("bench --compare a.json --with a.json").stdout;
    assert!(comparison.ends_with("\n4 compared\n"), "{comparison}");
    let copies_only = "bench --compare a.json --with a.json --mode auto,fused";
    let comparison = folder.succeed(copies_only).stdout;
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
    let note = "cpu does the same in these modes, measured once as chained: auto\n";
    assert!(table.ends_with(note), "{table}");
    let table = folder.succeed(&format!("{BENCH} --mode auto")).stdout;
    assert_eq!(table.lines().count(), 4, "{table}");
}
