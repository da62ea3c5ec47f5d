// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts of arrays in files that several ranks write, each its own points.

use std::fs::File;
use std::io;

use super::content::ContentInfo;
use super::{npy, positioned};
use problem::observe::{FileRegion, Snapshot};
use problem::{Dtype, Error, Region, Shape, Values};

/// Bytes of values that are read at a time.
pub const PIECE_BYTES: usize = 4 << 20;

/// The points of the grid that a rank writes.
#[derive(Clone, Copy, Debug)]
pub struct WriterPart {
    /// The whole grid.
    pub whole: Shape,
    /// Its own points.
    pub own: Region,
    /// Their type.
    pub dtype: Dtype,
}

/// Gives the values of a region of the whole grid.
pub type ReadRegion<'a> = dyn FnMut(Region) -> Result<Values, Error> + 'a;

/// Writes the values of a region of the grid, which lies in that of an array, where they belong.
///
/// # Errors
/// The system refuses.
pub fn write(rows: FileRegion, file: &File, region: Region, values: &Values) -> io::Result<()> {
    let (mut bytes, value) = (Vec::new(), rows.value_bytes(values.dtype()));
    if rows.wide {
        npy::write_wide(&mut bytes, values)?;
    } else {
        npy::write_values(&mut bytes, values)?;
    }
    let inside = region.shifted(rows.of.low.map(|low| -low));
    let shape = Shape::new(&rows.of.extents()).map_err(io::Error::other)?;
    let (starts, length) = inside.runs(shape);
    for (row, start) in bytes.chunks(length * value).zip(starts) {
        positioned::write(file, row, rows.start + (start * value) as u64)?;
    }
    Ok(())
}

/// Fields after some step that ranks share, for those who have each write its part.
pub struct SharedFields<'a> {
    /// The names of the fields, of which there is one, and the step.
    pub about: ContentInfo,
    /// The whole grid.
    pub shape: Shape,
    /// The type of its values.
    pub dtype: Dtype,
    /// The points of each rank.
    pub parts: Vec<Region>,
    /// Who can be asked.
    pub by: &'a mut dyn Snapshot,
}
