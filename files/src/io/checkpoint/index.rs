// SPDX-License-Identifier: MIT OR Apache-2.0
//! A checkpoint of several ranks: an index, which says what a checkpoint says of itself and where its parts are. Beside it
//! lies the part of each rank ([`super::part`]).
//!
//! The parts of a step have names of their own, and the index takes its place last: until then the one before is there, with
//! its parts, which are removed after.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::part::{self, CheckpointPart};
use super::{HASH, HashWriter, Header, LONGEST};
use crate::io::{Output, folder, follow};
use problem::observe::{PartContent, PartFile, Snapshot};
use problem::{Dtype, Error, Region, Shape};

/// How an index begins; the number is that of the format.
pub const MAGIC: &[u8] = b"host checkpoint index 1\n";

/// The contents of a checkpoint's index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Index {
    /// What is said of the checkpoint.
    pub header: Header,
    /// Of each rank.
    parts: Vec<IndexedPart>,
}

/// A part as the index names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct IndexedPart {
    /// Its file, beside the index.
    file: String,
    /// Its points.
    of: Region,
    /// The hash of its hashes.
    hash: String,
}

/// Writes a checkpoint of a computation that ranks share, as it stands.
///
/// # Errors
/// The system refuses, a rank, or the device; then a checkpoint that was there is as it was.
pub fn write(output: &Output, header: Header, snapshot: &mut dyn Snapshot) -> Result<(), Error> {
    let index = write_parts(output, header, snapshot)?;
    let text = serde_json::to_vec(&index).expect("an index is plain data");
    output.write(|to| {
        let mut to = HashWriter { inner: to, hash: blake3::Hasher::new() };
        to.write_all(MAGIC)?;
        to.write_all(&(text.len() as u64).to_le_bytes())?;
        to.write_all(&text)?;
        let hash = to.hash.finalize();
        to.inner.write_all(hash.as_bytes())
    })?;
    let kept: Vec<&str> = index.parts.iter().map(|part| part.file.as_str()).collect();
    remove_parts(output.target(), &kept);
    Ok(())
}

/// Has each rank write its part, and moves all to their places. What is there of an earlier checkpoint stays.
///
/// # Errors
/// The system refuses, or the device.
pub fn write_parts(
    output: &Output,
    header: Header,
    snapshot: &mut dyn Snapshot,
) -> Result<Index, Error> {
    let target = output.target();
    let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let plain = format!("{name}.{}.", header.step);
    // A run that comes to a step again must not touch the parts of its checkpoint.
    let before = read(target).map(|before| before.parts).unwrap_or_default();
    let taken = before.iter().any(|part| part.file.starts_with(&plain));
    let again = if taken { "b" } else { "" };
    let (mut made, mut files, mut parts) = (Vec::new(), Vec::new(), Vec::new());
    for (rank, of) in snapshot.parts().unwrap_or_default().into_iter().enumerate() {
        let file = format!("{name}.{}{again}.{rank}", header.step);
        let place = target.with_file_name(&file);
        if place.exists() && !part::is_part(&place) {
            let source = io::Error::new(io::ErrorKind::AlreadyExists, "another file is there");
            return Err(Error::Write { path: place, source });
        }
        let part = Output::new(&place)?.make()?;
        files.push(PartFile { name: place, path: part.path(), what: PartContent::State });
        parts.push(IndexedPart { file, of, hash: String::new() });
        made.push(part);
    }
    for (part, hash) in parts.iter_mut().zip(snapshot.write_parts(&files)?) {
        part.hash = hash;
    }
    made.into_iter().try_for_each(|part| part.publish())?;
    Ok(Index { header, parts })
}

/// Removes the parts of checkpoints of this name but for those that are kept. Whatever stays, of what cannot be removed, is in
/// nobody's way.
pub fn remove_parts(target: &Path, kept: &[&str]) {
    let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Ok(entries) = fs::read_dir(folder(target)) else { return };
    for entry in entries.flatten() {
        let found = entry.file_name().to_string_lossy().into_owned();
        if is_name_of_part(&found, &name)
            && !kept.contains(&found.as_str())
            && part::is_part(&entry.path())
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// `NAME.<step>.<rank>`, or with a `b` behind the step.
fn is_name_of_part(found: &str, name: &str) -> bool {
    let rest = found.strip_prefix(name).and_then(|rest| rest.strip_prefix('.'));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    rest.and_then(|rest| rest.split_once('.'))
        .is_some_and(|(step, rank)| digits(step.strip_suffix('b').unwrap_or(step)) && digits(rank))
}

/// Reads an index.
///
/// # Errors
/// [`Error::Checkpoint`]: it is none, cut, or damaged. [`Error::Read`].
pub fn read(path: &Path) -> Result<Index, Error> {
    let bad = |reason: &str| Error::Checkpoint {
        path: path.to_owned(),
        reason: reason.to_owned(),
        foreign: false,
    };
    let unreadable = |source: io::Error| match source.kind() {
        io::ErrorKind::UnexpectedEof => bad("the checkpoint is incomplete"),
        _ => Error::Read { path: path.to_owned(), source },
    };
    let file = File::open(path).map_err(unreadable)?;
    let mut from = HashWriter { inner: file, hash: blake3::Hasher::new() };
    let mut magic = [0; MAGIC.len()];
    if from.read_exact(&mut magic).is_err() || magic != *MAGIC {
        return Err(bad("this is no checkpoint of several ranks"));
    }
    let mut size = [0; 8];
    from.read_exact(&mut size).map_err(unreadable)?;
    let size = u64::from_le_bytes(size);
    if size > LONGEST {
        return Err(bad("the checkpoint is damaged: its header has no length"));
    }
    let mut text = vec![0; size as usize];
    from.read_exact(&mut text).map_err(unreadable)?;
    let (hash, mut written) = (from.hash.finalize(), [0; HASH]);
    from.inner.read_exact(&mut written).map_err(unreadable)?;
    if hash != written || from.inner.read(&mut [0]).map_err(unreadable)? > 0 {
        return Err(bad("the checkpoint is damaged: its checksum is not that of its index"));
    }
    serde_json::from_slice(&text).map_err(|_| bad("the checkpoint is damaged: its index"))
}

impl Index {
    /// Opens all parts, which lie beside the index.
    ///
    /// # Errors
    /// [`Error::Checkpoint`]: one is cut or damaged. [`Error::Read`]: it cannot be read.
    pub fn parts(&self, path: &Path, dtype: Dtype) -> Result<Vec<UnopenedPart>, Error> {
        let target = follow(path);
        let part = |part: &IndexedPart| UnopenedPart {
            of: part.of,
            dtype,
            path: target.with_file_name(&part.file),
            hash: part.hash.clone(),
            open: None,
        };
        Ok(self.parts.iter().map(part).collect())
    }

    /// Makes sure that all parts are there, have their lengths and cover the grid.
    ///
    /// # Errors
    /// As [`Index::parts`].
    pub fn check(&self, path: &Path, shape: Shape, dtype: Dtype) -> Result<(), Error> {
        let mut points = 0;
        for part in &mut self.parts(path, dtype)? {
            part.opened()?;
            part.open = None;
            points += part.of.points();
        }
        if points == shape.points() {
            return Ok(());
        }
        let reason = "the checkpoint is damaged: its parts are not the grid".into();
        Err(Error::Checkpoint { path: path.to_owned(), reason, foreign: false })
    }
}

/// A part that is opened when it is needed.
pub struct UnopenedPart {
    /// Its points.
    pub of: Region,
    dtype: Dtype,
    path: PathBuf,
    hash: String,
    open: Option<CheckpointPart>,
}

impl UnopenedPart {
    /// It.
    ///
    /// # Errors
    /// As [`CheckpointPart::open`].
    pub fn opened(&mut self) -> Result<&mut CheckpointPart, Error> {
        let part = match self.open.take() {
            Some(part) => part,
            None => CheckpointPart::open(self.path.clone(), self.of, self.dtype, &self.hash)?,
        };
        Ok(self.open.insert(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_known_by_their_names() {
        for (found, is) in [
            ("state.100.0", true),
            ("state.100b.12", true),
            ("state.100", false),
            ("state", false),
            ("state.1.x", false),
            ("state.1.2.3", false),
            ("states.1.2", false),
        ] {
            assert_eq!(is_name_of_part(found, "state"), is, "{found}");
        }
    }
}
