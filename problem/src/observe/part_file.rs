// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files, or parts of files, that each of several ranks is to write of its own points. Who writes them: `io::part_file`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{Dtype, Region};

/// What one rank writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartFile {
    /// What it belongs to, as the user named it.
    pub name: PathBuf,
    /// The file, which rank 0 has made.
    pub path: PathBuf,
    /// What of it.
    pub what: PartContent,
}

/// What a rank writes into a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PartContent {
    /// Its rows of an array.
    Rows(FileRegion),
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
pub struct FileRegion {
    /// Where its values begin.
    pub start: u64,
    /// The region.
    pub of: Region,
    /// Whether f16, like bf16 in any case, is written as f32.
    pub wide: bool,
}

impl FileRegion {
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
}
