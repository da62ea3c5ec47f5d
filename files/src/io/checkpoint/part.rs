// SPDX-License-Identifier: MIT OR Apache-2.0
//! A part of a checkpoint: a line that says so, then a rank's own points in C order as they are stored (the least
//! byte first). The BLAKE3 hashes of pieces of them follow, so that a reader of a region reads and checks only the
//! pieces that it lies in.
//! The index has the hash of these hashes.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use super::{HASH, PIECE_BYTES, write_raw};
use crate::io::npy_values::{self, StorageType};
use crate::io::positioned;
use crate::io::rows::{ReadRegion, WriterPart};
use problem::{Dtype, Error, Region, Values, with_dtype};

/// How a part begins; the number is that of the format.
const MAGIC: &[u8] = b"host checkpoint part 1\n";

/// Whether a file is a part of a checkpoint.
pub fn is_part(path: &Path) -> bool {
    let mut begins = [0; MAGIC.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut begins));
    read.is_ok() && begins == *MAGIC
}

/// The points of a part in pieces that have a hash each.
fn pieces(of: Region, dtype: Dtype) -> impl Iterator<Item = Region> {
    of.in_pieces(PIECE_BYTES / dtype.bytes())
}

/// Bytes of a part.
pub fn bytes(of: Region, dtype: Dtype) -> u64 {
    let values = of.points() * dtype.bytes();
    (MAGIC.len() + values + HASH * pieces(of, dtype).count()) as u64
}

/// Writes a part, and returns the hash of its hashes, as digits.
///
/// # Errors
/// What `failed` makes of those of the system, or those of `read`.
pub fn write(
    file: &File,
    place: WriterPart,
    read: &mut ReadRegion,
    failed: impl Fn(io::Error) -> Error,
) -> Result<String, Error> {
    let mut to = BufWriter::with_capacity(1 << 20, file);
    to.write_all(MAGIC).map_err(&failed)?;
    let (mut hashes, mut bytes) = (Vec::new(), Vec::new());
    for piece in pieces(place.own, place.dtype) {
        bytes.clear();
        write_raw(&mut bytes, &read(piece)?).map_err(&failed)?;
        hashes.extend_from_slice(blake3::hash(&bytes).as_bytes());
        to.write_all(&bytes).map_err(&failed)?;
    }
    to.write_all(&hashes).and_then(|()| to.flush()).map_err(&failed)?;
    drop(to);
    file.sync_all().map_err(&failed)?;
    Ok(digest(&hashes))
}

/// The hash of a part's hashes, as digits.
fn digest(hashes: &[u8]) -> String {
    let mut hash = blake3::Hasher::new();
    hash.update(MAGIC).update(hashes);
    hash.finalize().to_hex().to_string()
}

/// A part that regions are read from.
pub struct CheckpointPart {
    path: PathBuf,
    file: File,
    of: Region,
    dtype: Dtype,
    hashes: Vec<u8>,
    /// The last piece that was read, with its number: whoever reads goes on from there.
    last: Option<(usize, Values)>,
}

impl CheckpointPart {
    /// Opens the part of a region, whose hashes have this hash.
    ///
    /// # Errors
    /// [`Error::Checkpoint`]: it is cut or damaged. [`Error::Read`].
    pub fn open(path: PathBuf, of: Region, dtype: Dtype, hash: &str) -> Result<Self, Error> {
        let unreadable = |source| Error::Read { path: path.clone(), source };
        let file = File::open(&path).map_err(unreadable)?;
        let (found, whole) = (file.metadata().map_err(unreadable)?.len(), bytes(of, dtype));
        if found != whole {
            return Err(bad(
                &path,
                format!("the checkpoint is incomplete: this part has {found} of {whole} bytes"),
            ));
        }
        let mut begins = [0; MAGIC.len()];
        positioned::read(&file, &mut begins, 0).map_err(unreadable)?;
        let mut hashes = vec![0; HASH * pieces(of, dtype).count()];
        let start = whole - hashes.len() as u64;
        positioned::read(&file, &mut hashes, start).map_err(unreadable)?;
        if begins != *MAGIC || digest(&hashes) != hash {
            return Err(bad(&path, "the checkpoint is damaged: this part is another one".into()));
        }
        Ok(Self { path, file, of, dtype, hashes, last: None })
    }

    /// Hands on the values of those pieces that have points of a region, with the points that they are of.
    ///
    /// # Errors
    /// [`Error::Checkpoint`]: one is damaged. [`Error::Read`].
    pub fn read(
        &mut self,
        region: Region,
        mut visit: impl FnMut(Region, &Values),
    ) -> Result<(), Error> {
        let mut start = MAGIC.len() as u64;
        for (number, piece) in pieces(self.of, self.dtype).enumerate() {
            let length = piece.points() * self.dtype.bytes();
            if piece.common(region).is_some() {
                visit(piece, self.piece(number, start, length)?);
            }
            start += length as u64;
        }
        Ok(())
    }

    fn piece(&mut self, number: usize, start: u64, length: usize) -> Result<&Values, Error> {
        if self.last.as_ref().is_none_or(|(last, _)| *last != number) {
            self.last = None;
            let (path, mut bytes) = (&self.path, vec![0; length]);
            let unreadable = |source| Error::Read { path: path.clone(), source };
            positioned::read(&self.file, &mut bytes, start).map_err(unreadable)?;
            if blake3::hash(&bytes).as_bytes()[..] != self.hashes[HASH * number..][..HASH] {
                let reason = "the checkpoint is damaged: its checksum is not that of its values";
                return Err(bad(path, reason.into()));
            }
            let (dtype, stored) = (self.dtype, StorageType::of_floats(self.dtype.bytes()));
            let values = with_dtype!(dtype, T => {
                let count = length / dtype.bytes();
                npy_values::read::<T>(&bytes[..], stored, count).map_err(unreadable)?.into()
            });
            self.last = Some((number, values));
        }
        Ok(self.last.as_ref().map(|(_, values)| values).expect("it has just been read"))
    }
}

fn bad(path: &Path, reason: String) -> Error {
    Error::Checkpoint { path: path.to_owned(), reason, foreign: false }
}
