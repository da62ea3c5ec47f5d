// SPDX-License-Identifier: MIT OR Apache-2.0
//! The markers of a page: comments that a reader of the rendered page does not see.

use anyhow::{Context, Result, ensure};

const RESULTS: &str = "<!-- results:";
const END: &str = "-->";

/// The names of the records that a page is made of.
pub fn results(page: &str) -> Result<impl Iterator<Item = &str>> {
    let [_, names, _] = around_results(page)?;
    ensure!(
        !names.trim().is_empty(),
        "`{RESULTS} {END}` names no file: give some on the command line"
    );
    Ok(names.split_whitespace())
}

/// The page with other records.
pub fn with_results(page: &str, names: &[String]) -> Result<String> {
    let [before, _, after] = around_results(page)?;
    Ok(format!("{before}{RESULTS} {} {END}{after}", names.join(" ")))
}

/// What stands before the names of the records, the names, and what stands after them.
fn around_results(page: &str) -> Result<[&str; 3]> {
    let (before, rest) = page
        .split_once(RESULTS)
        .with_context(|| format!("it has no `{RESULTS} FILE.json {END}`: add one"))?;
    let (names, after) =
        rest.split_once(END).with_context(|| format!("`{RESULTS}` has no end `{END}`"))?;
    ensure!(!after.contains(RESULTS), "it has `{RESULTS}` twice: leave one");
    Ok([before, names, after])
}

/// The page with other text in its generated sections, each given by its name; it has just these.
pub fn with_sections(page: &str, sections: &[(&str, String)]) -> Result<String> {
    let count = page.matches("<!-- generated:").count();
    ensure!(
        count == sections.len(),
        "it has {count} sections `<!-- generated: NAME {END}`; there are {}: {}",
        sections.len(),
        sections.iter().map(|(name, _)| *name).collect::<Vec<&str>>().join(", "),
    );
    let mut page = page.to_owned();
    for (name, text) in sections {
        let (open, close) =
            (format!("<!-- generated: {name} {END}"), format!("<!-- end of {name} {END}"));
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
