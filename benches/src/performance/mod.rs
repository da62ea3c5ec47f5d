// SPDX-License-Identifier: MIT OR Apache-2.0
//! `docs/benchmarks/performance.md` and its charts, from recorded results: what a record holds is not typed by hand.
//!
//! The page names its records in `benches/results` itself (`<!-- results: FILE.json … -->`), and what stands
//! between `<!-- generated: NAME -->` and `<!-- end of NAME -->` is made of them.

mod chart;
mod peers;
mod tables;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use stencil::bench::chart::rooflines;

use peers::Peers;

use crate::markdown::with_sections;
use crate::page;
use crate::records::Records;

/// The page, from the repository's root.
pub const PAGE: &str = "docs/benchmarks/performance.md";
/// Its chart.
pub const CHART: &str = "docs/images/performance.svg";
/// The chart that shows the page's measurements as rooflines.
pub const ROOFLINE: &str = "docs/images/roofline.svg";
/// Where records are.
pub const RESULTS: &str = "benches/results";
/// How all are made anew.
pub const COMMAND: &str = "cargo run --release -p benches -- performance";

/// What the records make of the page.
pub struct PerformancePage {
    /// All of [`PAGE`], Markdown.
    pub page: String,
    /// All of [`CHART`], SVG.
    pub chart: String,
    /// All of [`ROOFLINE`], SVG.
    pub roofline: String,
}

/// Makes page and charts of the records that the page names, or of others, which it names then: files of
/// [`RESULTS`], without the folder. Writes nothing.
///
/// # Errors
/// A file that cannot be read or that no benchmark wrote; records that do not go together; a page without
/// its markers. The text says which, and what to do.
pub fn generate(root: &Path, files: Option<&[String]>) -> Result<PerformancePage> {
    let path = root.join(PAGE);
    let written = read(&path)?;
    let written = match files {
        Some(files) => page::with_results(&written, files),
        None => Ok(written),
    };
    let in_page = || format!("{}", path.display());
    let written = written.with_context(in_page)?;
    let folder = root.join(RESULTS);
    let paths: Vec<PathBuf> =
        page::results(&written).with_context(in_page)?.map(|file| folder.join(file)).collect();
    let records = Records::read(&paths)?;
    let path = folder.join("peers.toml");
    let peers = Peers::parse(&read(&path)?).with_context(|| format!("{}", path.display()))?;
    let sections = [
        ("machine", tables::machine(&records)),
        ("speeds", tables::speeds(&records)),
        ("peers", tables::peers(&peers, &records)),
    ];
    let page = with_sections(&written, &sections).with_context(in_page)?;
    let roofline = rooflines(&records.taken_alone());
    Ok(PerformancePage { page, chart: chart::draw(&records, &peers)?, roofline })
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
