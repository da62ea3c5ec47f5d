// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a report says of the engines that were not taken: it named the wrong one, or said everything
//! twice.

use std::fs;
use std::path::Path;

use stencil::Error;

use super::support::Folder;

fn engine(report: &str) -> &str {
    report.lines().find(|line| line.starts_with("engine ")).unwrap()
}

/// Then: "cpu (cuda cannot: no NVIDIA driver …)" or "cpu (sparse cannot: …)", by which came last.
#[test]
fn every_engine_that_cannot_is_named_once_with_its_reason() {
    let folder = Folder::new();
    for dtype in ["f16", "f32", "f64"] {
        let run = format!("run --stencil star2d1r --size 300 --dtype {dtype} --verify off");
        let report = folder.succeed(&run).stdout;
        let line = engine(&report);
        assert!(line.contains("sparse") && line.contains("cuda"), "{line}");
        assert_eq!(line.matches("cuda").count(), 1, "{line}");
        assert!(!line.contains("cannot run this"), "{line}");
    }
}

/// Then: the README's sample said something else than the program.
#[test]
fn the_readme_shows_what_the_program_says_without_a_driver() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let readme = fs::read_to_string(readme).unwrap();
    let reason = Error::NoDriver { reason: String::new() };
    let line = format!("\nengine     cpu (sparse, dense and cuda cannot: {reason})\n");
    assert!(readme.contains(&line), "no '{line}' in the README");
    let report = Folder::new().succeed("run --stencil star2d1r --size 9 --verify off").stdout;
    let common = "engine     cpu (sparse, dense and cuda cannot: ";
    assert!(
        line.trim_start().starts_with(common) && engine(&report).starts_with(common),
        "{report}"
    );
}
