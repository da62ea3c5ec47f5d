// SPDX-License-Identifier: MIT OR Apache-2.0
//! Renews `docs/performance.md` and its chart from recorded results. Needs no GPU.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use benches::performance::{CHART, PAGE, generate};
use clap::Parser;

/// Renew docs/performance.md and docs/images/performance.svg from recorded results
///
/// Exit codes: 0 done, 1 a file could not be read or written or does not fit, 2 bad arguments. What was
/// there stays unless all is right.
#[derive(Parser)]
struct Arguments {
    /// Files of benches/results, by name, all of one commit and machine, instead of those that the page
    /// names; it names these from then on
    #[arg(value_name = "FILE.json", value_parser = name)]
    files: Vec<String>,
}

/// A name without a folder: the page finds its records in one place.
fn name(text: &str) -> Result<String, String> {
    let path = text.strip_prefix("benches/results/").unwrap_or(text);
    if path.contains(['/', ' ']) || !path.ends_with(".json") {
        return Err("give the name of a JSON file in benches/results, without blanks".into());
    }
    Ok(path.to_owned())
}

fn main() -> Result<()> {
    let files = Arguments::parse().files;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("no folder above")?;
    let report = generate(root, (!files.is_empty()).then_some(&files))?;
    for (name, text) in [(CHART, report.chart), (PAGE, report.page)] {
        let path = root.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("{name}");
    }
    Ok(())
}
