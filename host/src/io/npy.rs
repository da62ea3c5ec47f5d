// SPDX-License-Identifier: MIT OR Apache-2.0
//! numpy's `.npy` arrays of f2, f4 and f8 values.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use npyz::{DType, Endianness, NpyHeader, Order, TypeChar, WriteOptions, WriterBuilder};
use rayon::prelude::*;
use transform::Stencil;

use super::Output;
use crate::grid::Element;
use crate::{Dtype, Error, Grid, Shape, with_dtype, with_values};

/// An array as it lies in a file.
struct Array {
    extents: Vec<usize>,
    order: Order,
    dtype: Dtype,
    swapped: bool,
}

/// Reads a grid for a stencil of `dims` axes, in the file's element type, in C order.
///
/// # Errors
/// The file cannot be read, is no array of floating-point values, has another number of axes, holds
/// no point, or does not fit in memory.
pub fn read_grid(path: &Path, dims: usize) -> Result<Grid, Error> {
    let (array, reader) = open(path)?;
    let found = array.extents.len();
    if found != dims {
        return Err(Error::Rank { path: path.to_owned(), found, dims });
    }
    let shape = Shape::new(&array.extents).map_err(|error| bad(path, &error.to_string()))?;
    Grid::check_memory(shape, array.dtype)?;
    with_dtype!(array.dtype, T => {
        let values = read_values::<T>(path, reader, &array, shape.points())?;
        Ok(Grid { shape, values: T::wrap(values) })
    })
}

/// Reads the weights of a stencil: a dense array with odd extents. It is named after the file.
///
/// # Errors
/// The file cannot be read, is no array of floating-point values, or they make no stencil.
pub fn read_weights(path: &Path) -> Result<Stencil, Error> {
    /// More weights than the largest radius allows on three axes.
    const MOST: usize = 40_000;
    let (array, reader) = open(path)?;
    let weights = |source| Error::Weights { path: path.to_owned(), source };
    let count = array.extents.iter().try_fold(1usize, |count, &n| count.checked_mul(n));
    let Some(count) = count.filter(|count| *count <= MOST) else {
        return Err(bad(path, &format!("too many weights; at most {MOST} are supported")));
    };
    let values: Vec<f64> = with_dtype!(array.dtype, T => {
        let values = read_values::<T>(path, reader, &array, count)?;
        values.into_iter().map(Element::to_f64).collect()
    });
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    Stencil::dense(&name, &array.extents, &values).map_err(weights)
}

/// Writes a grid in its own element type, little-endian, in C order.
///
/// # Errors
/// The system refuses; then an existing file is as it was.
pub fn write_grid(output: &Output, grid: &Grid) -> Result<(), Error> {
    let descr = match grid.dtype() {
        Dtype::F16 => "<f2",
        Dtype::F32 => "<f4",
        Dtype::F64 => "<f8",
    };
    let dtype = DType::new_scalar(descr.parse().expect("a type numpy knows"));
    let shape: Vec<u64> = grid.shape.axes().iter().map(|&extent| extent as u64).collect();
    output.write(|to| {
        let options = WriteOptions::new_header_only().dtype(dtype).shape(&shape);
        let to = options.writer(to).write_header_only()?;
        with_values!(&grid.values, values => write_values(to, values))
    })
}

fn write_values<T: Element>(to: &mut dyn Write, values: &[T]) -> io::Result<()> {
    if cfg!(target_endian = "little") {
        return to.write_all(bytemuck::cast_slice(values));
    }
    for value in values {
        let mut value = *value;
        bytemuck::bytes_of_mut(&mut value).reverse();
        to.write_all(bytemuck::bytes_of(&value))?;
    }
    Ok(())
}

fn open(path: &Path) -> Result<(Array, BufReader<File>), Error> {
    let unreadable = |source| Error::Read { path: path.to_owned(), source };
    let file = File::open(path).map_err(unreadable)?;
    let mut reader = BufReader::with_capacity(1 << 20, file);
    const TOO_LARGE: &str = "more points than this machine can address";
    if overflows(reader.fill_buf().map_err(unreadable)?) {
        return Err(bad(path, TOO_LARGE));
    }
    let header = NpyHeader::from_reader(&mut reader).map_err(|source| match source.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            // The parser quotes the place over several lines.
            let reason = source.to_string();
            bad(path, &format!("no .npy array: {}", reason.lines().next().unwrap_or_default()))
        }
        _ => unreadable(source),
    })?;
    let DType::Plain(kind) = header.dtype() else {
        return Err(bad(path, "the array has fields; plain floating-point values are supported"));
    };
    let dtype = match (kind.type_char(), kind.size_field()) {
        (TypeChar::Float, 2) => Dtype::F16,
        (TypeChar::Float, 4) => Dtype::F32,
        (TypeChar::Float, 8) => Dtype::F64,
        _ => {
            return Err(bad(path, &format!("element type {kind}; f2, f4 and f8 are supported")));
        }
    };
    let extents: Result<Vec<usize>, _> =
        header.shape().iter().map(|&extent| usize::try_from(extent)).collect();
    let extents = extents.map_err(|_| bad(path, TOO_LARGE))?;
    let swapped = kind.endianness() != Endianness::of_machine();
    Ok((Array { extents, order: header.order(), dtype, swapped }, reader))
}

/// Whether the extents in a header, multiplied, exceed 64 bits: the parser does not check that.
fn overflows(start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&start[..start.len().min(1 << 16)]);
    let shape = text.split_once("shape").map_or("", |(_, rest)| rest);
    let extents = shape.split(')').next().unwrap_or_default().split(|c: char| !c.is_ascii_digit());
    let mut extents = extents.filter_map(|extent| extent.parse::<u64>().ok());
    extents.try_fold(1u64, |points, extent| points.checked_mul(extent.max(1))).is_none()
}

fn read_values<T: Element>(
    path: &Path,
    mut reader: impl Read,
    array: &Array,
    count: usize,
) -> Result<Vec<T>, Error> {
    let mut values = vec![T::default(); count];
    reader.read_exact(bytemuck::cast_slice_mut(&mut values)).map_err(|source| {
        if source.kind() == io::ErrorKind::UnexpectedEof {
            return bad(path, &format!("the file ends before its {count} values do"));
        }
        Error::Read { path: path.to_owned(), source }
    })?;
    if array.swapped {
        values.par_iter_mut().for_each(|value| bytemuck::bytes_of_mut(value).reverse());
    }
    if array.order == Order::Fortran && array.extents.len() > 1 {
        values = to_c_order(&values, &array.extents);
    }
    Ok(values)
}

/// Reorders an array whose first axis is the fastest.
fn to_c_order<T: Element>(values: &[T], extents: &[usize]) -> Vec<T> {
    let columns = extents[extents.len() - 1].max(1);
    let stride = values.len() / columns;
    let mut ordered = vec![T::default(); values.len()];
    ordered.par_chunks_mut(columns).enumerate().for_each(|(row, to)| {
        let mut rest = row;
        let mut start = 0;
        for axis in (0..extents.len() - 1).rev() {
            let distance: usize = extents[..axis].iter().product();
            start += rest % extents[axis] * distance;
            rest /= extents[axis];
        }
        to.iter_mut().enumerate().for_each(|(x, to)| *to = values[start + x * stride]);
    });
    ordered
}

fn bad(path: &Path, reason: &str) -> Error {
    Error::Array { path: path.to_owned(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fortran_order_becomes_c_order() {
        // Element (i, j, k) of shape 2x3x4 is 100 i + 10 j + k.
        let value = |i: usize, j: usize, k: usize| (100 * i + 10 * j + k) as f64;
        let (mut fortran, mut c) = (vec![0.0; 24], vec![0.0; 24]);
        for (i, j, k) in (0..24).map(|n| (n / 12, n / 4 % 3, n % 4)) {
            fortran[i + 2 * j + 6 * k] = value(i, j, k);
            c[12 * i + 4 * j + k] = value(i, j, k);
        }
        assert_eq!(to_c_order(&fortran, &[2, 3, 4]), c);
    }
}
