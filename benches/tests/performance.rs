// SPDX-License-Identifier: MIT OR Apache-2.0
//! `docs/benchmarks/performance.md` and its charts are what the recorded results make of them, and records that do not go
//! together make none.

mod current;

use std::fs;

use benches::performance::{CHART, COMMAND, PAGE, RESULTS, ROOFLINE, generate};
use current::{is_current, root};
use tempfile::TempDir;

#[test]
fn the_page_and_its_charts_are_those_of_the_records() {
    let report = generate(&root(), None).unwrap();
    is_current(PAGE, &report.page, COMMAND);
    is_current(CHART, &report.chart, COMMAND);
    is_current(ROOFLINE, &report.roofline, COMMAND);
}

/// A record of two measurements, of an engine each if side by side.
fn record(commit: &str, speed: f64, asked: [&str; 2]) -> String {
    let row = |(mode, asked): (&str, &str)| {
        let engine = if asked == "null" { "\"sparse\"" } else { asked };
        format!(
            r#"{{"stencil": "box2d1r", "paper": "Box-2D9P", "shape": [10240, 10240], "dtype": "f16",
            "mode": "{mode}", "steps": 48, "outcome": "measured", "engine": {engine},
            "device": "NVIDIA H200, CUDA 13.0, sm_90 kernels", "fuse": 3, "chain": 4,
            "gstencils_per_s": {speed}, "effective_gb_per_s": 2000.0, "fraction_of_copy": 0.5,
            "rel_l2_err": 0.00012, "verified": true, "asked": {asked},
            "predicted_gstencils_per_s": 4321.0}}"#
        )
    };
    let modes = if asked[0] == "null" { ["step", "auto"] } else { ["auto", "auto"] };
    let rows: Vec<String> = modes.into_iter().zip(asked).map(row).collect();
    format!(
        r#"{{"version": "0.1.0", "commit": "{commit}", "date": "2026-11-22", "driver": "1.2.3",
        "engine": "auto", "complete": true, "rows": [{}]}}"#,
        rows.join(", ")
    )
}

const NONE: [&str; 2] = ["null", "null"];
const BESIDE: [&str; 2] = ["\"sparse\"", "\"cuda\""];

/// A repository with the page of this one and records of its own.
fn repository(records: &[(&str, String)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["docs/benchmarks", RESULTS] {
        fs::create_dir_all(folder.path().join(name)).unwrap();
    }
    let peers = format!("{RESULTS}/peers.toml");
    for name in [PAGE, &peers] {
        fs::copy(root().join(name), folder.path().join(name)).unwrap();
    }
    for (name, text) in records {
        fs::write(folder.path().join(RESULTS).join(name), text).unwrap();
    }
    folder
}

fn names(records: &[(&str, String)]) -> Vec<String> {
    records.iter().map(|(name, _)| (*name).to_owned()).collect()
}

#[test]
fn the_page_and_its_chart_show_what_records_hold() {
    let records = [
        ("a.json", record("c0ffee1", 6543.2, NONE)),
        ("b.json", record("c0ffee1", 5000.0, BESIDE)),
    ];
    let folder = repository(&records);
    let report = generate(folder.path(), Some(&names(&records))).unwrap();
    for text in [
        "<!-- results: a.json b.json -->",
        "| NVIDIA H200, CUDA 13.0, sm_90 kernels | 1.2.3 | c0ffee1 | 2026-11-22 |",
        "moved 4,000 to 4,000 GB/s",
        "| box2d1r | 10240×10240 | 48 | 6,543 3×4 (0.50; 1e-4) |  |  |  |  |",
    ] {
        assert!(report.page.contains(text), "no '{text}' in\n{}", report.page);
    }
    for text in ["6,543", "box2d1r", "Box-2D9P", "f16, GStencil/s"] {
        assert!(report.chart.contains(text), "no '{text}' in\n{}", report.chart);
    }
    assert!(!report.chart.contains("f64"), "nothing of f64 was measured");
    // Made again of what it names, it stays.
    fs::write(folder.path().join(PAGE), &report.page).unwrap();
    assert_eq!(generate(folder.path(), None).unwrap().page, report.page);
}

#[test]
fn records_that_do_not_go_together_are_refused() {
    let good = || record("c0ffee1", 6543.2, NONE);
    let fails = |records: &[(&str, String)], text: &str| {
        let folder = repository(records);
        let error = generate(folder.path(), Some(&names(records))).err().expect("a refusal");
        let error = format!("{error:#}");
        assert!(error.contains(text), "no '{text}' in '{error}'");
    };
    let other = record("decade2", 1.0, BESIDE);
    let both = [("a.json", good()), ("b.json", other)];
    fails(&both, "b.json: its commit is decade2, that of the files before it c0ffee1");
    let both = [("a.json", good()), ("b.json", good())];
    fails(&both, "b.json: a file before it has box2d1r 10240x10240 f16 step, too: leave one out");
    let cut = good().replace("\"complete\": true", "\"complete\": false");
    fails(&[("a.json", cut)], "a.json: it was cut off");
    let asked = good().replace("\"engine\": \"auto\"", "\"engine\": \"cuda\"");
    fails(&[("a.json", asked)], "a.json: it was measured with --engine cuda");
    let devices = good().replacen("NVIDIA H200", "NVIDIA A100", 1);
    fails(
        &[("a.json", devices)],
        "ran on NVIDIA A100, CUDA 13.0, sm_90 kernels and on NVIDIA H200",
    );
    fails(&[("a.json", "garbled".into())], "a.json: expected value");
    let folder = repository(&[]);
    let error = generate(folder.path(), Some(&["none.json".into()])).err().expect("a refusal");
    assert!(format!("{error:#}").contains("cannot read"), "{error:#}");
}

#[test]
fn a_page_without_its_markers_is_refused() {
    let records = [("a.json", record("c0ffee1", 6543.2, NONE))];
    let fails = |marker: &str, instead: &str, text: &str| {
        let folder = repository(&records);
        let page = folder.path().join(PAGE);
        let written = fs::read_to_string(&page).unwrap();
        assert!(written.contains(marker), "{marker}");
        fs::write(&page, written.replace(marker, instead)).unwrap();
        let error = generate(folder.path(), Some(&names(&records))).err().expect("a refusal");
        let error = format!("{error:#}");
        assert!(error.contains(PAGE) && error.contains(text), "no '{text}' in '{error}'");
    };
    fails("<!-- results:", "", "it has no `<!-- results: FILE.json -->`: add one");
    fails("<!-- generated: peers -->", "", "it has 2 sections");
    let lost = "no `<!-- generated: speeds -->` with `<!-- end of speeds -->` after it: add them";
    fails("<!-- end of speeds -->", "", lost);
    fails("<!-- generated: speeds -->", "<!-- generated: speed -->", lost);
}
