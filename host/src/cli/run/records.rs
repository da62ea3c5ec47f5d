// SPDX-License-Identifier: MIT OR Apache-2.0
//! What receivers recorded, or totals were, as a file.

use files::io::{Output, npy};
use problem::{Error, Grid, Region};

/// Writes rows of numbers, which have names, first those of any system, then those of this one: as .npy, or else as .csv.
///
/// # Errors
/// The file cannot be written.
pub fn write(
    output: &Output,
    (first, names): (&[&str], &[String]),
    records: &[Vec<f64>],
) -> Result<(), Error> {
    /// Values that are converted at a time.
    const MOST: usize = 1 << 19;
    if output.path().extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy")) {
        let values: Vec<f64> = records.iter().flatten().copied().collect();
        let grid = Grid::new(&[records.len(), first.len() + names.len()], values)?;
        let read = |region: Region| Ok(grid.read(region));
        return npy::stage(output, grid.shape, grid.dtype(), MOST, read)?.publish();
    }
    // Expressions may have commas.
    let quoted = |name: &String| match name.contains([',', '"']) {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name.clone(),
    };
    let names = first.iter().map(|name| (*name).to_owned()).chain(names.iter().map(quoted));
    let mut text = names.collect::<Vec<_>>().join(",");
    for row in records {
        let row: Vec<String> = row.iter().map(f64::to_string).collect();
        text = text + "\n" + &row.join(",");
    }
    text.push('\n');
    output.write(|to| to.write_all(text.as_bytes()))
}
