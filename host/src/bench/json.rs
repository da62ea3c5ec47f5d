// SPDX-License-Identifier: MIT OR Apache-2.0
//! Results as JSON: the one form that is also read.

use std::fs;
use std::path::Path;

use super::record::File;
use super::{BenchError, Results};
use problem::Error;

/// An object with a list of rows, their fields as `docs/how-to/reproduce-a-benchmark.md` describes them.
///
/// # Panics
/// Never: results are plain data.
#[must_use]
pub fn render(results: &Results) -> String {
    let file = File::from(results);
    serde_json::to_string_pretty(&file).expect("results are plain data") + "\n"
}

/// Reads what [`render`] gave, of this version or of another one that had the same fields.
///
/// # Errors
/// The file cannot be read, or [`BenchError::File`] with what is wrong in it.
pub fn read(path: &Path) -> Result<Results, BenchError> {
    let text = fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let file = serde_json::from_slice::<File>(&text).map_err(|error| error.to_string());
    let bad = |reason| BenchError::File { path: path.to_owned(), reason };
    file.and_then(Results::try_from).map_err(bad)
}
