// SPDX-License-Identifier: MIT OR Apache-2.0
//! What generated pages share: sections between markers, which a reader of the rendered page does not see, rows of
//! tables, numbers.

use anyhow::{Context, Result, ensure};
use indicatif::HumanCount;

/// The page with other text in its generated sections, each given by its name; it has just these.
pub fn with_sections(page: &str, sections: &[(&str, String)]) -> Result<String> {
    let count = page.matches("<!-- generated:").count();
    ensure!(
        count == sections.len(),
        "it has {count} sections `<!-- generated: NAME -->`; there are {}: {}",
        sections.len(),
        sections.iter().map(|(name, _)| *name).collect::<Vec<&str>>().join(", "),
    );
    let mut page = page.to_owned();
    for (name, text) in sections {
        let (open, close) =
            (format!("<!-- generated: {name} -->"), format!("<!-- end of {name} -->"));
        let parts = page.split_once(&open).and_then(|(before, rest)| {
            let (old, after) = rest.split_once(&close)?;
            // An end that was lost must not take the next section along.
            (!old.contains("<!-- generated:")).then_some((before, after))
        });
        let (before, after) = parts
            .with_context(|| format!("it has no `{open}` with `{close}` after it: add them"))?;
        page = format!("{before}{open}\n{}\n{close}{after}", text.trim_end());
    }
    Ok(page)
}

/// GStencil/s, of GPUs in thousands, of CPUs in units.
pub fn count(speed: f64) -> String {
    if speed < 10.0 { format!("{speed:.2}") } else { HumanCount(speed.round() as u64).to_string() }
}

/// A row of a table.
pub fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<String>>().join(" | "))
}

/// The row below the heads of so many columns.
pub fn rule(columns: usize) -> String {
    line(std::iter::repeat_n("---".to_owned(), columns))
}
