// SPDX-License-Identifier: MIT OR Apache-2.0
//! `host bench --engines`: every engine's best, side by side.

use std::fs;

use serde_json::{Value, json};

use super::support::Folder;

const BENCH: &str = "bench --quick --stencil Heat-2D --dtype f16,f64";

#[test]
fn without_a_gpu_the_cpu_is_measured_and_the_others_say_why() {
    let folder = Folder::new();
    let bench = format!("{BENCH} --engines all --json a.json --csv a.csv");
    let table = folder.succeed(&bench).stdout;
    let lines: Vec<Vec<&str>> =
        table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        lines[1].join(" "),
        "stencil paper grid type mode steps engine fuse chain GStencil/s predicted of best GB/s of copy \
         L2 error verified"
    );
    for (index, dtype) in ["f16", "f64"].into_iter().enumerate() {
        let rows = &lines[2 + 4 * index..][..4];
        for (row, engine) in rows.iter().zip(["sparse", "dense", "cuda", "cpu"]) {
            let start = format!("star2d1r Heat-2D 250x260 {dtype} auto 12 {engine}");
            assert_eq!(row[..7].join(" "), start, "{table}");
        }
        assert!(rows[..3].iter().all(|row| row[7..].join(" ") == "- - - - - - - - - [1]"));
        let number = |column: usize| rows[3][column].parse::<f64>().unwrap();
        assert!(number(9) > 0.0 && number(10) > 0.0 && number(11) == 1.0, "{table}");
        assert_eq!(rows[3].last(), Some(&"yes"));
    }
    assert!(lines[10][0] == "[1]" && lines[10].len() > 1, "{table}");
    assert!(table.lines().nth(11).unwrap().starts_with("predictions are off by "), "{table}");

    let file: Value = serde_json::from_slice(&fs::read(folder.path("a.json")).unwrap()).unwrap();
    let rows = file["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &file["complete"]), (8, &json!(true)));
    for (row, asked) in rows.iter().zip(["sparse", "dense", "cuda", "cpu"].into_iter().cycle()) {
        assert_eq!((&row["asked"], &row["mode"]), (&json!(asked), &json!("auto")));
        let is_cpu = asked == "cpu";
        let outcome = if is_cpu { "measured" } else { "unsupported" };
        assert_eq!((&row["outcome"], &row["verified"]), (&json!(outcome), &json!(is_cpu)));
        assert_eq!(row["predicted_gstencils_per_s"].is_f64(), is_cpu);
        assert_eq!(row["reason"].is_null(), is_cpu);
    }
    assert!(rows[3]["kernel"].as_str().unwrap().starts_with("direct_"), "{}", rows[3]);
    let csv = fs::read_to_string(folder.path("a.csv")).unwrap();
    assert_eq!(csv.lines().next().unwrap().split(',').count(), 21);
    assert_eq!(csv.lines().filter(|line| line.contains(",cpu,direct_")).count(), 2, "{csv}");

    // Such a file is measured again, each row on its own engine.
    let again = "bench --compare a.json --threshold 99% --json b.json";
    let comparison = folder.succeed(again).stdout;
    for engine in ["sparse", "dense", "cuda", "cpu"] {
        assert_eq!(comparison.matches(&format!(" auto on {engine} ")).count(), 2, "{comparison}");
    }
    assert!(comparison.contains("\n8 compared"), "{comparison}");
}

#[test]
fn engines_by_name_in_the_modes_that_are_asked_for() {
    let folder = Folder::new();
    let outcome = folder.succeed(
        "bench --quick --stencil Heat-2D --dtype f16 --steps 6 --engines emulate,cpu,cpu --mode \
         step,fused --json - --quiet",
    );
    let file: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let rows: Vec<[&str; 3]> = file["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| ["asked", "mode", "outcome"].map(|name| row[name].as_str().unwrap()))
        .collect();
    let expected = [("emulate", "step"), ("cpu", "step"), ("emulate", "fused"), ("cpu", "fused")];
    assert_eq!(rows, expected.map(|(engine, mode)| [engine, mode, "measured"]));
    assert_eq!(file["rows"][3]["same_as"], "step");
    for wrong in ["--engines all --engine cpu", "--engines all --compare a.json", "--engines fpga"]
    {
        let outcome = folder.host(&format!("{BENCH} {wrong}"));
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{wrong}");
    }
}
