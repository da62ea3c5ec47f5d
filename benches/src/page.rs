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
