// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fields as zarr arrays, version 3: a folder that is a group, in it an array for each field, cut into chunks, each a
//! file that is compressed by itself. zarr-python, xarray and others open it, and read parts of it.
//!
//! A step is a group of its own, `u_{step}.zarr`, not an index of one array for all: a group appears whole or not at
//! all, threads write several at a time in any order, and a run that is resumed replaces those that it takes again.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};
use zarrs::array::codec::ZstdCodec;
use zarrs::array::{Array, ArrayBuilder, ArrayBytes, data_type};
use zarrs::filesystem::FilesystemStore;
use zarrs::group::GroupBuilder;

use super::FileFormat;
use crate::io::colours::PictureStyle;
use crate::io::content::{Content, ContentInfo, as_io_error};
use crate::io::rows::{ReadRegion, SharedFields, WriterPart};
use crate::io::{Output, Staged, absolute, npy};
use problem::observe::{PartContent, PartFile};
use problem::{Dtype, Error, Region, Shape, ViewLayout};

/// Any number of fields, each an array of its element type, of bf16, which few readers know, as f32.
pub struct Zarr;

/// Bytes of the values of a chunk, at most: some milliseconds to read, and few files.
const CHUNK_BYTES: usize = 8 << 20;
/// Of zstd: values of a computation shrink little, whatever time is taken.
const LEVEL: i32 = 1;

impl FileFormat for Zarr {
    fn extensions(&self) -> &'static [&'static str] {
        &["zarr"]
    }

    fn holds_many(&self) -> bool {
        true
    }

    fn is_folder(&self) -> bool {
        true
    }

    /// Of values that do not shrink.
    fn bytes(&self, shape: Shape, dtype: Dtype, fields: usize) -> Option<u64> {
        let own = array_bytes(shape, dtype);
        Some(fields as u64 * (own + own / 64 + 4096) + 4096)
    }

    fn write(&self, _: &mut Content, _: &PictureStyle, _: &mut dyn Write) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "a zarr group is a folder"))
    }

    fn write_folder(&self, content: &mut Content, folder: &Path) -> io::Result<()> {
        let chunk = chunk(content.shape, content.dtype);
        let arrays = begin(folder, &content.about, content.shape, content.dtype, &chunk)?;
        for (field, array) in arrays.into_iter().enumerate() {
            fill(&array, content, field, &chunk)?;
        }
        Ok(())
    }

    fn has_parts(&self, shape: Shape, dtype: Dtype, parts: &[Region]) -> bool {
        shared_chunk(shape, dtype, parts).is_some()
    }

    fn stage_parts<'a>(
        &self,
        output: &'a Output,
        shared: &mut SharedFields,
    ) -> Result<Staged<'a>, Error> {
        let SharedFields { ref about, shape, dtype, ref parts, ref mut by } = *shared;
        let chunk = shared_chunk(shape, dtype, parts).expect("it was asked whether there is one");
        output.stage_folder(|folder| {
            begin(folder, about, shape, dtype, &chunk)?;
            let field = about.fields.first().cloned().unwrap_or_default();
            let own = |_: &Region| PartFile {
                name: output.path().to_owned(),
                path: absolute(folder),
                what: PartContent::Chunks { field: field.clone(), chunk: chunk.clone() },
            };
            let files: Vec<PartFile> = parts.iter().map(own).collect();
            by.write_parts(&files).map(drop).map_err(as_io_error)
        })
    }
}

/// Makes the group and its arrays, without values.
fn begin(
    folder: &Path,
    about: &ContentInfo,
    shape: Shape,
    dtype: Dtype,
    chunk: &[u64],
) -> io::Result<Vec<Array<FilesystemStore>>> {
    let store = Arc::new(FilesystemStore::new(folder).map_err(io::Error::other)?);
    let group = GroupBuilder::new().attributes(attributes(about)).build(Arc::clone(&store), "/");
    group.map_err(io::Error::other)?.store_metadata().map_err(io::Error::other)?;
    let array = |field: &String| {
        let mut builder = match kind(dtype) {
            Dtype::F16 => builder(shape, chunk, data_type::float16(), half::f16::ZERO),
            Dtype::F64 => builder(shape, chunk, data_type::float64(), 0.0_f64),
            _ => builder(shape, chunk, data_type::float32(), 0.0_f32),
        };
        builder.attributes(attributes(about));
        builder.dimension_names(Some(about.layout.axes().map(ViewLayout::name)));
        let array =
            builder.build(Arc::clone(&store), &format!("/{field}")).map_err(io::Error::other)?;
        array.store_metadata().map_err(io::Error::other)?;
        Ok(array)
    };
    about.fields.iter().map(array).collect()
}

/// Writes the chunks of a rank's own points, which no other rank has points of.
///
/// # Errors
/// What `failed` makes of those of the system, or those of `read`.
pub fn write_chunks(
    folder: &Path,
    (field, chunk): (&str, &[u64]),
    place: WriterPart,
    read: &mut ReadRegion,
    failed: impl Fn(io::Error) -> Error,
) -> Result<(), Error> {
    // A store makes the folders that it lacks: those of another machine's disk.
    fs::metadata(folder.join(field).join("zarr.json")).map_err(&failed)?;
    let opened = FilesystemStore::new(folder).map_err(io::Error::other);
    let store = Arc::new(opened.map_err(&failed)?);
    let array = Array::open(store, &format!("/{field}")).map_err(io::Error::other);
    let array = array.map_err(&failed)?;
    let dims = chunk.len();
    let mut extents = [1; 3];
    for (extent, own) in extents[3 - dims..].iter_mut().zip(chunk) {
        *extent = *own as usize;
    }
    let (own, value) = (place.own, kind(place.dtype).bytes());
    let along = |axis: usize| {
        own.cut(axis, extents[axis]).map(move |piece| [piece.low[axis], piece.high[axis]])
    };
    for z in along(0) {
        for y in along(1) {
            for x in along(2) {
                let region = Region { low: [z[0], y[0], x[0]], high: [z[1], y[1], x[1]] };
                let mut bytes = Vec::new();
                npy::write_values(&mut bytes, &read(region)?).map_err(&failed)?;
                let bytes = widened(&bytes, region.extents(), extents, value);
                let index = |axis: usize| (region.low[axis] as usize / extents[axis]) as u64;
                let indices: Vec<u64> = (3 - dims..3).map(index).collect();
                array
                    .store_chunk(&indices, ArrayBytes::from(bytes))
                    .map_err(|error| failed(io::Error::other(error)))?;
            }
        }
    }
    Ok(())
}

/// The values of a chunk that is cut by the end of the grid as a whole one, with zeros beyond.
fn widened(bytes: &[u8], found: [usize; 3], whole: [usize; 3], value: usize) -> Vec<u8> {
    let mut all = vec![0; whole.iter().product::<usize>() * value];
    for (row, from) in bytes.chunks(found[2] * value).enumerate() {
        let start = (row / found[1] * whole[1] + row % found[1]) * whole[2] * value;
        all[start..start + from.len()].copy_from_slice(from);
    }
    all
}

/// Extents of chunks that no two ranks have points of, if they need not be many times as small as they would be otherwise.
fn shared_chunk(shape: Shape, dtype: Dtype, parts: &[Region]) -> Option<Vec<u64>> {
    const MOST_TIMES: usize = 16;
    let most = CHUNK_BYTES / kind(dtype).bytes();
    let (mut left, mut chunk) = (most, [1; 3]);
    for axis in (0..3).rev() {
        let cuts = parts.iter().map(|part| part.low[axis] as usize).filter(|low| *low > 0);
        chunk[axis] = match cuts.reduce(greatest_divisor) {
            None => shape.extents()[axis].min(left),
            Some(common) => (1..=common.min(left)).rev().find(|size| common % size == 0)?,
        };
        left = (left / chunk[axis]).max(1);
    }
    let least = parts.iter().map(Region::points).min()?.min(most);
    let enough = chunk.iter().product::<usize>() * MOST_TIMES >= least;
    let own = &chunk[3 - shape.dims()..];
    enough.then(|| own.iter().map(|extent| *extent as u64).collect())
}

fn greatest_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}

fn builder(
    shape: Shape,
    chunk: &[u64],
    kind: zarrs::array::DataType,
    zero: impl Into<zarrs::array::builder::ArrayBuilderFillValue>,
) -> ArrayBuilder {
    let extents: Vec<u64> = shape.axes().iter().map(|extent| *extent as u64).collect();
    let mut builder = ArrayBuilder::new(extents, chunk.to_vec(), kind, zero);
    builder.bytes_to_bytes_codecs(vec![Arc::new(ZstdCodec::new(LEVEL, false))]);
    builder
}

/// Writes the values of a field chunk by chunk. A chunk is a part of the C order, so that none waits for another.
fn fill(
    array: &Array<FilesystemStore>,
    content: &mut Content,
    field: usize,
    chunk: &[u64],
) -> io::Result<()> {
    let extents = content.shape.axes().to_vec();
    let chunk: Vec<usize> = chunk.iter().map(|extent| *extent as usize).collect();
    let value = kind(content.dtype).bytes();
    // The axis that chunks cut; they have one point of those before, and all of those after.
    let cut = chunk.iter().position(|extent| *extent > 1).unwrap_or(chunk.len() - 1);
    let row = extents[cut + 1..].iter().product::<usize>() * value;
    let full = chunk[cut] * row;
    let (mut waiting, mut done) = (Vec::new(), 0);
    let counts: Vec<usize> =
        extents.iter().zip(&chunk).map(|(extent, chunk)| extent.div_ceil(*chunk)).collect();
    let store = |place: usize, mut bytes: Vec<u8>| {
        // The last chunk of an axis is a whole one, with zeros beyond the end.
        bytes.resize(full, 0);
        let mut indices = vec![0; counts.len()];
        let mut rest = place;
        for axis in (0..=cut).rev() {
            indices[axis] = (rest % counts[axis]) as u64;
            rest /= counts[axis];
        }
        array.store_chunk(&indices, ArrayBytes::from(bytes)).map_err(io::Error::other)
    };
    // Bytes of the chunk at a place among those along the cut axis.
    let length = |place: usize| {
        let first = place % counts[cut] * chunk[cut];
        (extents[cut] - first).min(chunk[cut]) * row
    };
    content.values(field, &mut |values| {
        npy::write_values(&mut waiting, values)?;
        let mut start = 0;
        while waiting.len() - start >= length(done) {
            let end = start + length(done);
            store(done, waiting[start..end].to_vec())?;
            (start, done) = (end, done + 1);
            if done == counts[..=cut].iter().product::<usize>() {
                break;
            }
        }
        waiting.drain(..start);
        Ok(())
    })
}

/// How values are stored.
fn kind(dtype: Dtype) -> Dtype {
    match dtype {
        Dtype::Bf16 | Dtype::Tf32 => Dtype::F32,
        other => other,
    }
}

fn array_bytes(shape: Shape, dtype: Dtype) -> u64 {
    shape.points() as u64 * kind(dtype).bytes() as u64
}

/// Extents of the chunks: as many points of the last axes as fit, of those before one.
fn chunk(shape: Shape, dtype: Dtype) -> Vec<u64> {
    let extents = shape.axes();
    let mut left = CHUNK_BYTES / kind(dtype).bytes();
    let mut chunk = vec![1; extents.len()];
    for axis in (0..extents.len()).rev() {
        chunk[axis] = extents[axis].min(left.max(1)) as u64;
        left /= extents[axis].max(1);
        if chunk[axis] < extents[axis] as u64 {
            break;
        }
    }
    chunk
}

/// What is said of all fields.
fn attributes(about: &ContentInfo) -> Map<String, Value> {
    let mut attributes = Map::new();
    attributes.insert("step".into(), about.step.into());
    if let Some(time) = about.time {
        attributes.insert("time".into(), time.into());
    }
    // As the axes of the arrays; the place of a slice by the name of the axis that it cuts.
    let ViewLayout { origin, spacing, cut, .. } = about.layout;
    let along =
        |numbers: [f64; 3]| about.layout.axes().map(|axis| numbers[axis]).collect::<Vec<_>>();
    attributes.insert("origin".into(), along(origin).into());
    attributes.insert("spacing".into(), along(spacing).into());
    if let Some(axis) = cut {
        let at = Map::from_iter([(ViewLayout::name(axis).to_owned(), Value::from(origin[axis]))]);
        attributes.insert("slice".into(), at.into());
    }
    attributes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_parts_of_the_c_order() {
        let of = |extents: &[usize], dtype| chunk(Shape::new(extents).unwrap(), dtype);
        assert_eq!(of(&[100], Dtype::F32), [100]);
        assert_eq!(of(&[10_000_000], Dtype::F32), [2 << 20]);
        assert_eq!(of(&[480, 640], Dtype::F64), [480, 640]);
        assert_eq!(of(&[10_240, 10_240], Dtype::F16), [409, 10_240]);
        assert_eq!(of(&[512, 512, 512], Dtype::F32), [8, 512, 512]);
        assert_eq!(of(&[4, 10_240, 10_240], Dtype::F32), [1, 204, 10_240]);
        assert_eq!(of(&[3, 2, 5_000_000], Dtype::F64), [1, 1, 1 << 20]);
    }

    #[test]
    fn chunks_of_ranks_end_where_parts_do() {
        let of = |extents: &[usize], counts: [usize; 3], dtype| {
            let shape = Shape::new(extents).unwrap();
            let part = |rank: usize| {
                let [.., y, x] = counts;
                let at = [rank / (y * x), rank / x % y, rank % x];
                let cut =
                    |axis: usize, at: usize| (at * shape.extents()[axis] / counts[axis]) as isize;
                Region {
                    low: std::array::from_fn(|axis| cut(axis, at[axis])),
                    high: std::array::from_fn(|axis| cut(axis, at[axis] + 1)),
                }
            };
            let parts: Vec<Region> = (0..counts.iter().product()).map(part).collect();
            shared_chunk(shape, dtype, &parts)
        };
        assert_eq!(of(&[10_240, 10_240], [1, 2, 1], Dtype::F16).unwrap(), [320, 10_240]);
        assert_eq!(of(&[1024, 1024, 1024], [8, 8, 1], Dtype::F32).unwrap(), [16, 128, 1024]);
        assert_eq!(of(&[100], [1, 1, 4], Dtype::F64).unwrap(), [25]);
        // Cuts at 3413 and 6826, and at 1462, 2925 and so on.
        assert_eq!(of(&[10_240, 1024], [1, 3, 1], Dtype::F32), None);
        assert_eq!(of(&[10_240, 1024], [1, 7, 1], Dtype::F32), None);
    }
}
