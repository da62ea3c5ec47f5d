// SPDX-License-Identifier: MIT OR Apache-2.0
//! `host plan`: what it prints, writes and refuses.

use std::path::Path;
use std::process::{Command, Output};
use std::{fs, str};

fn host(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_host-tested")).arg("plan").args(arguments).output().unwrap()
}

fn printed(arguments: &[&str]) -> String {
    let output = host(arguments);
    assert_eq!(str::from_utf8(&output.stderr).unwrap(), "", "{arguments:?}");
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn refused(arguments: &[&str], text: &str) {
    let output = host(arguments);
    assert_eq!(str::from_utf8(&output.stderr).unwrap().trim_end(), text);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn the_table_of_the_catalogue_is_current() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/catalogue.md");
    let written = fs::read_to_string(&file).unwrap();
    let current = printed(&["--all"]);
    let differs =
        written.lines().zip(current.lines()).find(|(written, current)| written != current);
    assert!(
        differs.is_none() && written.len() == current.len(),
        "docs/reference/catalogue.md is not current: run `cargo run --release -- plan --all > \
         docs/reference/catalogue.md`; the first difference is {differs:?}"
    );
}

#[test]
fn a_plan_says_what_the_transformation_does() {
    let text = printed(&["box2d3r", "--size", "10240"]);
    for line in [
        "box2d3r on 10240x10240 in f16, for NVIDIA H200",
        "stencil       2D, radius 3, 49 points",
        "layout        register window, tiles of 2x8 outputs",
        "A'            16 x 112, 43.8 % not zero",
        "A''           16 x 128, 38.3 % not zero, 2:4, 16 zero columns",
        "instructions  4.00 mma.sp.m16n8k32.f16 for 128 outputs, 0.0312 for one",
        "sweep         0.098 ms at its roof, memory limit 0.098 ms: 1.00 of it",
    ] {
        assert!(text.lines().any(|printed| printed == line), "no line '{line}' in\n{text}");
    }
    assert_eq!(printed(&["--stencil", "box-2d49p", "--size", "10240"]), text);
}

#[test]
fn explaining_ranks_every_layout_and_gives_reasons() {
    let text = printed(&["star2d8r", "--fuse", "3", "--explain", "--text"]);
    for part in ["hierarchical", "A' is no staircase", "fusing 3 steps of radius 8", "ridge", "A''"]
    {
        assert!(text.contains(part), "no '{part}' in\n{text}");
    }
    let drawn = printed(&["box1d1r", "--text"]);
    assert!(drawn.contains("\n###...............\n.###..............\n"), "{drawn}");
}

#[test]
fn plans_are_written_as_json_and_as_a_picture() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (json, png) = (path("plan.json"), path("plan.png"));
    printed(&["box2d1r", "--json", json.to_str().unwrap(), "--png", png.to_str().unwrap()]);
    let plan: serde_json::Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    assert_eq!(plan["stencil"], "box2d1r");
    assert_eq!(plan["permutation"].as_array().unwrap().len(), plan["layout"]["slots"]);
    assert!(fs::read(png).unwrap().starts_with(b"\x89PNG"));
    let printed: serde_json::Value =
        serde_json::from_str(&printed(&["box2d1r", "--json", "-"])).unwrap();
    assert_eq!(printed, plan);
}

#[test]
fn what_cannot_be_planned_is_refused_with_a_remedy() {
    let ranked = printed(&["box3d16r", "--size", "256"]);
    assert!(ranked.starts_with("256x256x256 in f16, for NVIDIA H200\n"), "{ranked}");
    assert!(ranked.lines().any(|line| line.starts_with("  cuda    ")), "{ranked}");
    refused(
        &["box3d16r", "--text"],
        "error: no layout for box3d16r: a tile's bounding box has 35937 inputs (33x33x33); at most \
         16384 are planned for\n  help: take a smaller stencil, or fewer steps with --fuse; \
         `--engine cpu` runs any",
    );
    let folder = tempfile::tempdir().unwrap();
    let machine = folder.path().join("machine.json");
    fs::write(&machine, "{\"name\": 3}").unwrap();
    let machine = machine.to_str().unwrap();
    refused(
        &["star2d1r", "--machine", machine],
        &format!(
            "error: {machine}: invalid type: integer `3`, expected a string at line 1 column 10\n  \
             help: a machine is JSON: name, source, multiprocessors, clock_hz, copy_bytes_per_s, \
             and half, single, double with cuda, dense, sparse in flop/s; h200, h100 and a100 are built in"
        ),
    );
    refused(
        &["star2d1r", "--machine", "v100"],
        "error: v100: there is no such file, and no machine of that name is built in\n  \
         help: a machine is JSON: name, source, multiprocessors, clock_hz, copy_bytes_per_s, and \
         half, single, double with cuda, dense, sparse in flop/s; h200, h100 and a100 are built in",
    );
}
