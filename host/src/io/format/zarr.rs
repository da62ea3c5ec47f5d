// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fields as zarr arrays, version 3: a folder that is a group, in it an array for each field, cut into chunks, each a
//! file that is compressed by itself. zarr-python, xarray and others open it, and read parts of it.
//!
//! A step is a group of its own, `u_{step}.zarr`, not an index of one array for all: a group appears whole or not at
//! all, threads write several at a time in any order, and a run that is resumed replaces those that it takes again.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};
use zarrs::array::codec::ZstdCodec;
use zarrs::array::{Array, ArrayBuilder, ArrayBytes, data_type};
use zarrs::filesystem::FilesystemStore;
use zarrs::group::GroupBuilder;

use super::Format;
use crate::io::colours::Look;
use crate::io::content::Content;
use crate::io::npy;
use crate::{Dtype, Shape};

/// Any number of fields, each an array of its element type, of bf16, which few readers know, as f32.
pub struct Zarr;

/// Bytes of the values of a chunk, at most: some milliseconds to read, and few files.
const CHUNK_BYTES: usize = 8 << 20;
/// Of zstd: values of a computation shrink little, whatever time is taken.
const LEVEL: i32 = 1;

impl Format for Zarr {
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

    fn write(&self, _: &mut Content, _: &Look, _: &mut dyn Write) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "a zarr group is a folder"))
    }

    fn write_folder(&self, content: &mut Content, folder: &Path) -> io::Result<()> {
        let store = Arc::new(FilesystemStore::new(folder).map_err(io::Error::other)?);
        let group =
            GroupBuilder::new().attributes(attributes(content)).build(Arc::clone(&store), "/");
        group.map_err(io::Error::other)?.store_metadata().map_err(io::Error::other)?;
        for field in 0..content.fields.len() {
            let (path, chunk) =
                (format!("/{}", content.fields[field]), chunk(content.shape, content.dtype));
            let mut builder = match kind(content.dtype) {
                Dtype::F16 => builder(content, &chunk, data_type::float16(), half::f16::ZERO),
                Dtype::F64 => builder(content, &chunk, data_type::float64(), 0.0_f64),
                _ => builder(content, &chunk, data_type::float32(), 0.0_f32),
            };
            builder.attributes(attributes(content));
            let array = builder.build(Arc::clone(&store), &path).map_err(io::Error::other)?;
            array.store_metadata().map_err(io::Error::other)?;
            fill(&array, content, field, &chunk)?;
        }
        Ok(())
    }
}

fn builder(
    content: &Content,
    chunk: &[u64],
    kind: zarrs::array::DataType,
    zero: impl Into<zarrs::array::builder::ArrayBuilderFillValue>,
) -> ArrayBuilder {
    let extents: Vec<u64> = content.shape.axes().iter().map(|extent| *extent as u64).collect();
    let names = &["z", "y", "x"][3 - extents.len()..];
    let mut builder = ArrayBuilder::new(extents, chunk.to_vec(), kind, zero);
    builder.dimension_names(Some(names.iter().copied()));
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
fn attributes(content: &Content) -> Map<String, Value> {
    let mut attributes = Map::new();
    attributes.insert("step".into(), content.step.into());
    if let Some(time) = content.time {
        attributes.insert("time".into(), time.into());
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
}
