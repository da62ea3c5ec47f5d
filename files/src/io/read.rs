// SPDX-License-Identifier: MIT OR Apache-2.0
//! Grids from files of any kind that can be read.

use std::path::Path;

use super::{grey, is_stream, npy};
use problem::{Error, Grid};

/// A grid from a file.
#[derive(Debug)]
pub struct Read {
    /// The grid.
    pub grid: Grid,
    /// Bytes that follow an array, which are not looked at.
    pub ignored: u64,
}

/// Whether regions of a file's grid can be read by themselves: of a `.npy` array, where it is no stream or pipe.
#[must_use]
pub fn has_regions(path: &Path) -> bool {
    !is_picture(path)
        && !is_stream(path)
        && std::fs::metadata(path).is_ok_and(|found| found.is_file())
}

fn is_picture(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("png"))
}

/// Reads a grid of `dims` axes: a grey picture if the name says so, else a `.npy` array; `-` is standard input.
///
/// # Errors
/// The file cannot be read or holds something else, has another number of axes, or does not fit in memory.
pub fn grid(path: &Path, dims: usize) -> Result<Read, Error> {
    if is_picture(path) {
        return Ok(Read { grid: grey::read(path, dims)?, ignored: 0 });
    }
    let (grid, ignored) = npy::read_noting(path, dims)?;
    Ok(Read { grid, ignored })
}
