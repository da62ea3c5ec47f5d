// SPDX-License-Identifier: MIT OR Apache-2.0
//! Grids that are read from files.

use std::path::Path;

use super::{Failure, warn};
use files::io::read::{self, Read};
use problem::{Dtype, Grid, Shape};

/// Makes sure that the array of a file has the size that is asked for, and warns of bytes behind it.
///
/// # Errors
/// [`Failure::SizeDisagrees`].
pub fn check_file(
    path: &Path,
    ignored: u64,
    found: Shape,
    size: Option<Shape>,
) -> Result<(), Failure> {
    if ignored > 0 {
        warn(&format!(
            "{}: {ignored} bytes follow the array, and are not looked at",
            path.display()
        ));
    }
    match size.filter(|size| *size != found) {
        Some(size) => Err(Failure::SizeDisagrees { size, path: path.to_owned(), found }),
        None => Ok(()),
    }
}

/// A grid from a file, for a system of this shape, as its element type stores it.
///
/// # Errors
/// Any [`Failure`] of reading it; it has another shape.
pub fn of_system(path: &Path, shape: Shape, dtype: Dtype) -> Result<Grid, Failure> {
    let Read { grid, ignored } = read::grid(path, shape.dims())?;
    check_file(path, ignored, grid.shape, Some(shape))?;
    Ok(grid.stored_as(dtype)?)
}
