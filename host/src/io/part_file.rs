// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files, or parts of files, that each of several ranks writes of its own points.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::checkpoint::part;
use super::{at, npy};
use crate::problem::Region;
use crate::{Dtype, Error, Shape, Values};

/// Bytes of values that are read at a time.
const PIECE_BYTES: usize = 4 << 20;

/// What one rank writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartFile {
    /// What it belongs to, as the user named it.
    pub name: PathBuf,
    /// The file, which rank 0 has made.
    pub path: PathBuf,
    /// What of it.
    pub what: What,
}

/// What a rank writes into a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// Its rows of an array.
    Rows(Rows),
    /// A part of a checkpoint.
    State,
    /// Its chunks of a zarr group's array.
    #[cfg(feature = "zarr")]
    Chunks {
        /// The array's name.
        field: String,
        /// Extents of the chunks.
        chunk: Vec<u64>,
    },
}

/// An array in a file, of some region of the grid, in C order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rows {
    /// Where its values begin.
    pub start: u64,
    /// The region.
    pub of: Region,
    /// Whether f16, like bf16 in any case, is written as f32.
    pub wide: bool,
}

/// Who writes.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The whole grid.
    pub whole: Shape,
    /// Its own points.
    pub own: Region,
    /// Their type.
    pub dtype: Dtype,
}

/// Gives the values of a region of the whole grid.
pub type ReadRegion<'a> = dyn FnMut(Region) -> Result<Values, Error> + 'a;

impl PartFile {
    /// Writes it, and returns what identifies what was written, if the file has a hash.
    ///
    /// # Errors
    /// The file is not there, the system refuses, or those of `read`.
    pub fn write(&self, place: Place, read: &mut ReadRegion) -> Result<String, Error> {
        match &self.what {
            What::Rows(rows) => {
                let file = self.open()?;
                for piece in place.own.in_pieces(PIECE_BYTES / place.dtype.bytes()) {
                    let values = read(piece)?;
                    rows.write(&file, piece, &values).map_err(|source| self.failed(source))?;
                }
                file.sync_all().map_err(|source| self.failed(source))?;
                Ok(String::new())
            }
            #[cfg(feature = "zarr")]
            What::Chunks { field, chunk } => {
                let failed = |source| self.failed(unseen(source, &self.path));
                super::format::write_chunks(&self.path, (field, chunk), place, read, failed)?;
                Ok(String::new())
            }
            What::State => part::write(&self.open()?, place, read, |source| self.failed(source)),
        }
    }

    /// The file, which is there already unless this rank sees another disk.
    fn open(&self) -> Result<File, Error> {
        let file = OpenOptions::new().write(true).open(&self.path);
        file.map_err(|source| self.failed(unseen(source, &self.path)))
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Write { path: self.name.clone(), source }
    }
}

/// What it means that a file is not there which another rank has made.
fn unseen(source: io::Error, path: &Path) -> io::Error {
    if source.kind() != io::ErrorKind::NotFound {
        return source;
    }
    let path = path.display();
    let reason = format!("{path} is not there, which rank 0 has made; do all ranks see this disk?");
    io::Error::new(io::ErrorKind::NotFound, reason)
}

impl Rows {
    /// Bytes of a value of this type.
    #[must_use]
    pub fn value_bytes(&self, dtype: Dtype) -> usize {
        match dtype {
            Dtype::F64 => 8,
            Dtype::F16 if !self.wide => 2,
            _ => 4,
        }
    }

    /// Bytes of all values of this type.
    #[must_use]
    pub fn bytes(&self, dtype: Dtype) -> u64 {
        (self.of.points() * self.value_bytes(dtype)) as u64
    }

    /// Writes the values of a region of the grid, which lies in that of the array, where they belong.
    ///
    /// # Errors
    /// The system refuses.
    pub fn write(&self, file: &File, region: Region, values: &Values) -> io::Result<()> {
        let (mut bytes, value) = (Vec::new(), self.value_bytes(values.dtype()));
        if self.wide {
            npy::write_wide(&mut bytes, values)?;
        } else {
            npy::write_values(&mut bytes, values)?;
        }
        let inside = region.shifted(self.of.low.map(|low| -low));
        let shape = Shape::new(&self.of.extents()).map_err(io::Error::other)?;
        let (starts, length) = inside.runs(shape);
        for (row, start) in bytes.chunks(length * value).zip(starts) {
            at::write(file, row, self.start + (start * value) as u64)?;
        }
        Ok(())
    }
}

/// Fields after some step that ranks share, for those who have each write its part.
pub struct Shared<'a> {
    /// The names of the fields, of which there is one, and the step.
    pub about: super::About,
    /// The whole grid.
    pub shape: Shape,
    /// The type of its values.
    pub dtype: Dtype,
    /// The points of each rank.
    pub parts: Vec<Region>,
    /// Who can be asked.
    pub by: &'a mut dyn crate::observe::Standing,
}

/// A path as every process of a machine understands it, wherever it was started.
#[must_use]
pub fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
