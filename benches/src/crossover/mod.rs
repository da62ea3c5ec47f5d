// SPDX-License-Identifier: MIT OR Apache-2.0
//! `docs/benchmarks/crossover.md` and its picture: from how many time steps on several steps in a launch, and jumps, are faster
//! than single steps, predicted and measured, from recorded results.
//!
//! As in `docs/benchmarks/performance.md` the page names its records itself, and what stands between its markers is made of them.

mod chart;
mod curves;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::markdown::{line, rule, with_sections};
use crate::page;
use crate::performance::RESULTS;
use crate::records::Records;
use curves::{Curves, SteppingMethod, TimeSource, panels};

/// The page, from the repository's root.
pub const PAGE: &str = "docs/benchmarks/crossover.md";
/// Its picture.
pub const PICTURE: &str = "docs/benchmarks/crossover.svg";
/// How both are made anew.
pub const COMMAND: &str = "cargo run --release -p benches -- crossover";

/// What records make of the page.
pub struct CrossoverPage {
    /// All of [`PAGE`], Markdown.
    pub page: String,
    /// All of [`PICTURE`], SVG.
    pub picture: String,
}

/// Makes page and picture of the records that the page names, or of others, which it names then. Writes nothing.
///
/// # Errors
/// As [`crate::performance::generate`].
pub fn generate(root: &Path, files: Option<&[String]>) -> Result<CrossoverPage> {
    let path = root.join(PAGE);
    let in_page = || format!("{}", path.display());
    let written =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", in_page()))?;
    let written = match files {
        Some(files) => page::with_results(&written, files).with_context(in_page)?,
        None => written,
    };
    let folder = root.join(RESULTS);
    let names = page::results(&written).with_context(in_page)?;
    let paths: Vec<PathBuf> = names.map(|file| folder.join(file)).collect();
    let records = Records::read(&paths)?;
    let panels = panels(&records);
    let sections = [("machine", machine(&records)), ("crossings", table(&panels))];
    let page = with_sections(&written, &sections).with_context(in_page)?;
    Ok(CrossoverPage { page, picture: chart::draw(&panels)? })
}

/// On what, and of which commit.
fn machine(records: &Records) -> String {
    let of = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".into());
    let origin = &records.origin;
    format!(
        "{}; commit {}, driver {}, {}.",
        records.devices().join(", "),
        of(&origin.commit),
        of(&origin.driver),
        records.dates.join(", ")
    )
}

/// From which number of steps on the next way is the faster one.
fn table(panels: &[Curves]) -> String {
    let heads = ["stencil", "grid", "type", "launches of several steps from", "", "jumps from", ""];
    let mut text = line(heads.map(String::from).into_iter()) + &rule(heads.len());
    let under = ["", "", "", "predicted", "measured", "predicted", "measured"];
    text += &line(under.map(String::from).into_iter());
    for curves in panels {
        let crossing = |from: SteppingMethod, to: SteppingMethod, source: TimeSource| {
            let steps = curves.crossing([from, to], source);
            steps.map_or_else(|| "none".into(), |steps| format!("{steps:.0}"))
        };
        let several = [TimeSource::Predicted, TimeSource::Measured]
            .map(|source| crossing(SteppingMethod::Single, SteppingMethod::Several, source));
        let jumps = [TimeSource::Predicted, TimeSource::Measured]
            .map(|source| crossing(SteppingMethod::Several, SteppingMethod::Jump, source));
        let what = [curves.stencil.into(), curves.shape.to_string(), curves.dtype.to_string()];
        text += &line(what.into_iter().chain(several).chain(jumps));
    }
    text
}
