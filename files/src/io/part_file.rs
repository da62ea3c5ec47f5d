// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes what a rank is to write of its own points.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use super::checkpoint::part;
use super::rows::{self, PIECE_BYTES, ReadRegion, WriterPart};
use problem::Error;
use problem::observe::{PartContent, PartFile};

/// Writes a part, and returns what identifies what was written, if the file has a hash.
///
/// # Errors
/// The file is not there, the system refuses, or those of `read`.
pub fn write(part: &PartFile, place: WriterPart, read: &mut ReadRegion) -> Result<String, Error> {
    let failed = |source| Error::Write { path: part.name.clone(), source };
    match &part.what {
        PartContent::Rows(rows) => {
            let file = open(part)?;
            for piece in place.own.in_pieces(PIECE_BYTES / place.dtype.bytes()) {
                rows::write(*rows, &file, piece, &read(piece)?).map_err(failed)?;
            }
            file.sync_all().map_err(failed)?;
            Ok(String::new())
        }
        #[cfg(feature = "zarr")]
        PartContent::Chunks { field, chunk } => {
            let failed = |source| failed(unseen(source, &part.path));
            super::format::write_chunks(&part.path, (field, chunk), place, read, failed)?;
            Ok(String::new())
        }
        PartContent::State => part::write(&open(part)?, place, read, failed),
    }
}

/// The file, which is there already unless this rank sees another disk.
fn open(part: &PartFile) -> Result<File, Error> {
    let file = OpenOptions::new().write(true).open(&part.path);
    file.map_err(|source| Error::Write {
        path: part.name.clone(),
        source: unseen(source, &part.path),
    })
}

/// What it means that a file is not there which another rank has made.
fn unseen(source: io::Error, path: &Path) -> io::Error {
    if source.kind() != io::ErrorKind::NotFound {
        return source;
    }
    let path = path.display();
    let reason = format!(
        "rank 0 has made {path}, but this rank does not find it; do all ranks see this disk?"
    );
    io::Error::new(io::ErrorKind::NotFound, reason)
}
