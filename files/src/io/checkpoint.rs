// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checkpoints: all that a computation needs to go on, in a file that is whole or refused.
//!
//! A file has, in this order: a line that says what it is; the length of the header (8 bytes, the least first); the
//! header as JSON; the values of each array as they are stored (the least byte first); the rows of receivers and of
//! totals as f64; the BLAKE3 hash of all that.
//!
//! Of a computation that several ranks share it is an [index] with a [part] of each rank.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::npy_values::{self, StorageType};
use super::{Output, npy};
use ::problem::observe::{ArrayName, ComputedBy, Snapshot};
use ::problem::values::Element;
use ::problem::{Clock, Dtype, Error, Grid, Shape, Values, View, with_dtype};

pub mod index;
pub mod part;
mod problem;
mod regions;

pub use self::problem::CheckpointProblem;
pub use regions::{States, look};

/// How a checkpoint begins; the number is that of the format.
const MAGIC: &[u8] = b"host checkpoint 1\n";
/// The longest header that is read.
const LONGEST: u64 = 1 << 20;
/// Bytes of the hash.
const HASH: usize = 32;
/// Bytes of an array that are read at a time.
const PIECE_BYTES: usize = 4 << 20;

/// What a checkpoint says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// What is computed, for people.
    pub title: String,
    /// The hash of everything that the result depends on but the values, as digits.
    pub problem: String,
    /// What computed.
    pub by: ComputedBy,
    /// Steps that are done.
    pub step: usize,
    /// Extents, slowest axis first.
    pub shape: Vec<usize>,
    /// How values are stored.
    pub dtype: String,
    /// Field and level of each array.
    pub arrays: Vec<(String, usize)>,
    /// Rows that receivers recorded, and the numbers of each.
    pub records: [usize; 2],
    /// Rows of totals, and the numbers of each.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub series: [usize; 2],
    /// Digits that tell which totals these are of, and how often there is a row.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rows_of: String,
    /// When the next steps are, where their length follows from the values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<Clock>,
}

fn is_nothing(rows: &[usize; 2]) -> bool {
    rows[0] == 0
}

/// A checkpoint that was read.
#[derive(Debug)]
pub struct Checkpoint {
    /// What it says of itself.
    pub header: Header,
    /// Its arrays.
    pub arrays: Vec<(ArrayName, Grid)>,
    /// What receivers recorded.
    pub records: Vec<Vec<f64>>,
    /// What totals were.
    pub series: Vec<Vec<f64>>,
}

/// Bytes of a checkpoint of so many arrays, about.
#[must_use]
pub fn bytes(shape: Shape, dtype: Dtype, arrays: usize) -> u64 {
    shape.points() as u64 * dtype.bytes() as u64 * arrays as u64 + (1 << 16)
}

/// Writes a checkpoint of a computation as it stands after so many steps, with when the next ones are if their number does not say it.
///
/// # Errors
/// The system refuses, or the device; then a checkpoint that was there is as it was.
pub fn write(
    output: &Output,
    title: &str,
    problem: &str,
    (step, clock): (usize, Option<Clock>),
    snapshot: &mut dyn Snapshot,
) -> Result<(), Error> {
    let (names, shape) = (snapshot.arrays(), snapshot.shape());
    let origin = ::problem::Region { low: [0; 3], high: [1; 3] };
    let dtype = snapshot.read(0, origin)?.dtype();
    let extents = |rows: &[Vec<f64>]| [rows.len(), rows.first().map_or(0, Vec::len)];
    let header = Header {
        title: title.to_owned(),
        problem: problem.to_owned(),
        by: snapshot.by(),
        step,
        shape: shape.axes().to_vec(),
        dtype: dtype.to_string(),
        arrays: names.into_iter().map(|name| (name.field, name.level)).collect(),
        records: extents(snapshot.records()),
        series: extents(snapshot.series()),
        rows_of: snapshot.rows_of(),
        clock,
    };
    if snapshot.parts().is_some_and(|parts| parts.len() > 1) && output.is_replaced() {
        return index::write(output, header, snapshot);
    }
    let text = serde_json::to_vec(&header).expect("a header is plain data");
    output.write(|to| {
        let mut to = HashWriter { inner: to, hash: blake3::Hasher::new() };
        to.write_all(MAGIC)?;
        to.write_all(&(text.len() as u64).to_le_bytes())?;
        to.write_all(&text)?;
        for array in 0..header.arrays.len() {
            let read = |region| snapshot.read(array, region).map_err(io::Error::other);
            let write = |values: Values| write_raw(&mut to, &values);
            View::whole(shape).pieces(dtype, PIECE_BYTES, read, write)?;
        }
        for row in snapshot.records().iter().chain(snapshot.series()) {
            npy::write_elements(&mut to, row)?;
        }
        let hash = to.hash.finalize();
        to.inner.write_all(hash.as_bytes())
    })?;
    // Of one that several ranks wrote there before.
    index::remove_parts(output.target(), &[]);
    Ok(())
}

impl Header {
    /// Shape and type of the arrays.
    ///
    /// # Errors
    /// [`Error::Checkpoint`]: there are no such.
    pub fn grid(&self, path: &Path) -> Result<(Shape, Dtype), Error> {
        let damaged = |what: String| bad(path, format!("the checkpoint is damaged: {what}"));
        let shape = Shape::new(&self.shape).map_err(|error| damaged(error.to_string()))?;
        let dtype = self.dtype.parse().map_err(|_| damaged("an element type".into()))?;
        Ok((shape, dtype))
    }
}

fn bad(path: &Path, reason: String) -> Error {
    Error::Checkpoint { path: path.to_owned(), reason, foreign: false }
}

/// Why a checkpoint cannot be read on.
fn unreadable(path: &Path, source: io::Error) -> Error {
    match source.kind() {
        io::ErrorKind::UnexpectedEof => bad(path, "the checkpoint is incomplete".into()),
        _ => Error::Read { path: path.to_owned(), source },
    }
}

/// Whether a file is the index of one that several ranks wrote.
fn is_index(path: &Path) -> bool {
    let mut begins = [0; index::MAGIC.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut begins));
    read.is_ok() && begins == *index::MAGIC
}

/// A checkpoint in one file, of which the header was read.
struct CheckpointReader {
    header: Header,
    shape: Shape,
    dtype: Dtype,
    from: HashWriter<BufReader<File>>,
    /// Bytes before the values.
    start: u64,
}

/// bf16 as it is, unlike in an array for numpy.
fn write_raw(to: &mut dyn Write, values: &Values) -> io::Result<()> {
    match values {
        Values::Bf16(values) => npy::write_elements(to, values),
        other => npy::write_values(to, other),
    }
}

/// Reads the header, and compares the length of the file with what it says.
fn open(path: &Path) -> Result<CheckpointReader, Error> {
    let unreadable = |source| unreadable(path, source);
    let file = File::open(path).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len();
    let mut from =
        HashWriter { inner: BufReader::with_capacity(1 << 20, file), hash: blake3::Hasher::new() };
    let mut magic = [0; MAGIC.len()];
    let begins = from.read_exact(&mut magic);
    if begins.is_err() || magic != *MAGIC {
        return Err(bad(path, "this is no checkpoint of this program".into()));
    }
    let mut size = [0; 8];
    from.read_exact(&mut size).map_err(unreadable)?;
    let size = u64::from_le_bytes(size);
    if size > LONGEST {
        let reason = "the checkpoint is damaged: its header has no length";
        return Err(bad(path, reason.into()));
    }
    let mut text = vec![0; size as usize];
    from.read_exact(&mut text).map_err(unreadable)?;
    let header: Header = serde_json::from_slice(&text)
        .map_err(|error| bad(path, format!("the checkpoint is damaged: {error}")))?;
    let (shape, dtype) = header.grid(path)?;
    let bytes = |[rows, columns]: [usize; 2]| {
        (rows as u128).saturating_mul(columns as u128).saturating_mul(8)
    };
    let values = shape.points() as u128 * dtype.bytes() as u128 * header.arrays.len() as u128;
    let recorded = bytes(header.records).saturating_add(bytes(header.series));
    let start = (MAGIC.len() + 8) as u64 + size;
    let whole = (u128::from(start) + values + HASH as u128).saturating_add(recorded);
    if u128::from(length) != whole {
        let reason = format!("the checkpoint has {length} bytes, not {whole}");
        return Err(bad(path, reason));
    }
    Ok(CheckpointReader { header, shape, dtype, from, start })
}

/// The header of a checkpoint in one file, the file, and where its values begin.
fn begin(path: &Path) -> Result<(Header, File, u64), Error> {
    let CheckpointReader { header, from, start, .. } = open(path)?;
    Ok((header, from.inner.into_inner(), start))
}

/// The header of a checkpoint in one file, all of which is as it was written.
fn verify(path: &Path) -> Result<Header, Error> {
    let CheckpointReader { header, from, start, .. } = open(path)?;
    let length = from.inner.get_ref().metadata().map_err(|source| unreadable(path, source))?.len();
    let mut rest = from.take(length - start - HASH as u64);
    io::copy(&mut rest, &mut io::sink()).map_err(|source| unreadable(path, source))?;
    check(path, rest.into_inner())?;
    Ok(header)
}

/// Compares the hash of what was read with the one that follows.
fn check(path: &Path, mut from: HashWriter<BufReader<File>>) -> Result<(), Error> {
    let (hash, mut written) = (from.hash.finalize(), [0; HASH]);
    from.inner.read_exact(&mut written).map_err(|source| unreadable(path, source))?;
    if hash == written {
        return Ok(());
    }
    let reason = "the checkpoint is damaged: its checksum is not that of its values";
    Err(bad(path, reason.into()))
}

/// Reads a checkpoint, of one rank or several.
///
/// # Errors
/// [`Error::Checkpoint`]: it is none, cut, or damaged. [`Error::Read`], [`Error::Memory`].
pub fn read(path: &Path) -> Result<Checkpoint, Error> {
    if is_index(path) {
        let header = look(path)?;
        let (shape, dtype) = header.grid(path)?;
        let grid = States::open(path, shape, dtype)?.grid()?;
        let names = header.arrays.iter().cloned();
        let name = names.map(|(field, level)| ArrayName { field, level }).next();
        let arrays = name.map(|name| (name, grid)).into_iter().collect();
        return Ok(Checkpoint { header, arrays, records: Vec::new(), series: Vec::new() });
    }
    let CheckpointReader { header, shape, dtype, mut from, start } = open(path)?;
    let unreadable = |source| unreadable(path, source);
    let length = from.inner.get_ref().metadata().map_err(unreadable)?.len();
    ::problem::memory::require("a checkpoint", u128::from(length - start))?;
    let mut arrays = Vec::new();
    for (field, level) in header.arrays.clone() {
        let values = with_dtype!(dtype, T => {
            let stored = StorageType::of_floats(dtype.bytes());
            T::wrap(npy_values::read::<T>(&mut from, stored, shape.points()).map_err(unreadable)?)
        });
        arrays.push((ArrayName { field, level }, Grid { shape, values }));
    }
    let mut rows = |[rows, columns]: [usize; 2]| {
        let values = npy_values::read::<f64>(&mut from, StorageType::of_floats(8), rows * columns);
        let values = values.map_err(unreadable)?;
        Ok::<_, Error>(values.chunks(columns.max(1)).map(<[f64]>::to_vec).collect())
    };
    let (records, series) = (rows(header.records)?, rows(header.series)?);
    check(path, from)?;
    Ok(Checkpoint { header, arrays, records, series })
}

/// Hashes what goes through.
struct HashWriter<S> {
    inner: S,
    hash: blake3::Hasher,
}

impl<W: Write> Write for HashWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.hash.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<R: Read> Read for HashWriter<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(bytes)?;
        self.hash.update(&bytes[..count]);
        Ok(count)
    }
}

/// The hash of texts that say what is computed, as digits.
#[must_use]
pub fn hash_of(parts: &[&[u8]]) -> String {
    let mut hash = blake3::Hasher::new();
    for part in parts {
        // Their lengths, so that no text runs into the next.
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::problem::Region;
    use half::bf16;

    /// Two arrays of bf16, what two receivers recorded, and a total.
    struct Fields(Vec<Grid>, [Vec<Vec<f64>>; 2]);

    impl Snapshot for Fields {
        fn shape(&self) -> Shape {
            self.0[0].shape
        }
        fn arrays(&self) -> Vec<ArrayName> {
            (0..2).map(|level| ArrayName { field: "p".into(), level }).collect()
        }
        fn by(&self) -> ComputedBy {
            ComputedBy { engine: "cpu".into(), how: String::new() }
        }
        fn read(&mut self, array: usize, region: Region) -> Result<Values, Error> {
            Ok(self.0[array].read(region))
        }
        fn check_finite(&mut self) -> Result<(), Error> {
            Ok(())
        }
        fn records(&self) -> &[Vec<f64>] {
            &self.1[0]
        }
        fn series(&self) -> &[Vec<f64>] {
            &self.1[1]
        }
    }

    fn fields() -> Fields {
        let grid = |first: f32| {
            let values = (0..15).map(|i| bf16::from_f32(first + i as f32)).collect::<Vec<_>>();
            Grid::new(&[3, 5], values).unwrap()
        };
        Fields(
            vec![grid(0.0), grid(100.0)],
            [vec![vec![0.0, 1.5], vec![0.1, 2.5]], vec![vec![7.0, 0.1, -3.0]]],
        )
    }

    #[test]
    fn what_is_written_is_read_and_anything_else_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let (output, mut fields) = (Output::new(&path).unwrap(), fields());
        write(&output, "waves", "abc", (7, None), &mut fields).unwrap();
        let Checkpoint { header, arrays, records, series } = read(&path).unwrap();
        assert_eq!((header.step, header.problem.as_str(), header.by), (7, "abc", fields.by()));
        let grids: Vec<Grid> = arrays.into_iter().map(|(_, grid)| grid).collect();
        assert_eq!((grids, [records, series]), (fields.0, fields.1));

        let whole = std::fs::read(&path).unwrap();
        let refused = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            let error = read(&path).unwrap_err();
            assert!(matches!(error, Error::Checkpoint { foreign: false, .. }), "{error}");
            error.to_string()
        };
        for cut in 0..whole.len() {
            let text = refused(&whole[..cut]);
            assert!(
                text.contains("is incomplete")
                    || text.contains(" bytes, not ")
                    || text.contains("no checkpoint"),
                "{cut}: {text}"
            );
        }
        // Any bit anywhere.
        for place in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[place] ^= 1 << (place % 8);
            refused(&bytes);
        }
        let longer = [&whole[..], &[0]].concat();
        assert!(refused(&longer).contains(" bytes, not "));
    }

    #[test]
    fn texts_do_not_run_into_each_other() {
        assert_ne!(hash_of(&[b"ab", b"c"]), hash_of(&[b"a", b"bc"]));
        assert_eq!(hash_of(&[b"ab"]).len(), 64);
    }
}
