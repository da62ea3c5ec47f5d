// SPDX-License-Identifier: MIT OR Apache-2.0
//! `docs/benchmarks/criteria.md` and its picture: which unit the criteria of "Do we need tensor cores for stencil
//! computations?" predict to be the fastest, beside which one was, from recorded measurements.
//!
//! What stands in the page between `<!-- generated: NAME -->` and `<!-- end of NAME -->` is made of them.

mod cases;
mod chart;
mod measurements;
mod spots;
mod tables;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use transform::machine::Machine;

use crate::markdown::with_sections;
use measurements::Measurements;

/// The page, from the repository's root.
pub const PAGE: &str = "docs/benchmarks/criteria.md";
/// Its picture.
pub const PICTURE: &str = "docs/benchmarks/criteria.svg";
/// The measurements that both are made of: every candidate of the planner on an H200.
pub const MEASUREMENTS: &str = "tests/measurements/h200.csv";
/// How both are made anew.
pub const COMMAND: &str = "cargo run --release -p benches -- criteria tests/measurements/h200.csv";

/// What measurements make of the page.
pub struct CriteriaPage {
    /// All of [`PAGE`], Markdown.
    pub page: String,
    /// All of [`PICTURE`], SVG.
    pub picture: String,
}

/// Makes page and picture of a file of measurements of an H200, which the page then calls `name`. Writes nothing.
///
/// # Errors
/// A file that cannot be read; measurements that are none, with the line; a page without its markers.
pub fn generate(root: &Path, file: &Path, name: &str) -> Result<CriteriaPage> {
    let read = |path: &Path| {
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
    };
    let path = root.join(PAGE);
    let written = read(&path)?;
    let measurements =
        Measurements::parse(&read(file)?).with_context(|| format!("{}", file.display()))?;
    let machine = Machine::h200();
    let cases = cases::compare(&machine, &measurements)?;
    let places = tables::places(&machine, &measurements);
    let sections = [
        ("source", tables::source(&machine, &measurements, name)),
        ("cases", tables::cases(&cases)),
        ("roles", tables::roles(&cases)),
        ("spots", tables::spots(&places)),
        ("depths", tables::depths(&measurements)),
    ];
    let page = with_sections(&written, &sections).with_context(|| format!("{}", path.display()))?;
    Ok(CriteriaPage { page, picture: chart::draw(&machine, &measurements)? })
}
