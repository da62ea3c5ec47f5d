// SPDX-License-Identifier: MIT OR Apache-2.0
//! numpy's `.npy` arrays: floating-point values as they are, integers and truth values converted.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::iter::{self, Empty};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use half::f16;
use npy_writer::{NumpyArray, NumpyArrayElement, NumpyWriter};
use rayon::prelude::*;
use transform::Stencil;

use super::npy_header::{Header, HeaderError, TOO_LARGE};
use super::npy_values::{self, StorageType};
use super::output::is_stream;
use super::{Output, Staged, positioned};
use problem::region::Region;
use problem::values::Element;
use problem::{Dtype, Error, Grid, Shape, Values, with_dtype};

/// An array as it lies in a file.
struct Array {
    extents: Vec<usize>,
    fortran_order: bool,
    stored: StorageType,
    /// Bytes of the header.
    start: u64,
    /// Bytes that follow the header, where the file has an end.
    bytes: Option<u64>,
}

/// An array in a file of which regions are read, each by itself.
pub struct ArrayFile {
    path: PathBuf,
    file: File,
    array: Array,
    /// Of the array in C order.
    shape: Shape,
    /// Bytes that follow it, which are not looked at.
    pub ignored: u64,
}

impl ArrayFile {
    /// Opens one of `dims` axes.
    ///
    /// # Errors
    /// As [`read_grid`].
    pub fn open(path: &Path, dims: usize) -> Result<Self, Error> {
        let (array, reader) = open(path)?;
        drop(reader);
        let file =
            File::open(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
        let shape = array.shape(path, dims)?;
        array.check_length(path, shape.points())?;
        let ignored = array.ignored(shape);
        Ok(Self { path: path.to_owned(), file, array, shape, ignored })
    }

    /// Opens one of a shape that it had before.
    ///
    /// # Errors
    /// As [`ArrayFile::open`], or it has another one now.
    pub fn of_shape(path: &Path, shape: Shape) -> Result<Self, Error> {
        let file = Self::open(path, shape.dims())?;
        if file.shape != shape {
            return Err(bad(path, &format!("it holds {} values, not {shape}", file.shape)));
        }
        Ok(file)
    }

    /// The extents.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The type that its values become.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.array.stored.becomes()
    }

    /// The values of a region, in its C order.
    ///
    /// # Errors
    /// The file cannot be read, or has become shorter.
    pub fn read(&self, region: Region) -> Result<Values, Error> {
        let (axes, stored) = (self.shape.dims(), self.array.stored);
        // An array whose first axis is the fastest is one in C order with its axes the other way round.
        let turned = self.array.fortran_order && axes > 1;
        let (mut shape, mut from) = (self.shape, region);
        if turned {
            let extents: Vec<usize> = shape.axes().iter().rev().copied().collect();
            shape = Shape::new(&extents)?;
            from.low[3 - axes..].reverse();
            from.high[3 - axes..].reverse();
        }
        let (starts, length) = from.runs(shape);
        let bytes = stored.bytes();
        let mut buffer = vec![0; region.points() * bytes];
        for (to, start) in buffer.chunks_mut(length * bytes).zip(starts) {
            let at = self.array.start + (start * bytes) as u64;
            positioned::read(&self.file, to, at)
                .map_err(|source| unread(&self.path, source, self.shape.points()))?;
        }
        let extents = &region.extents()[3 - axes..];
        with_dtype!(self.dtype(), T => {
            let values = npy_values::read::<T>(&buffer[..], stored, region.points())
                .map_err(|source| unread(&self.path, source, self.shape.points()))?;
            Ok(T::wrap(if turned { to_c_order(&values, extents) } else { values }))
        })
    }
}

impl Array {
    /// Its extents, of a grid of so many axes.
    fn shape(&self, path: &Path, dims: usize) -> Result<Shape, Error> {
        let found = self.extents.len();
        if found != dims {
            return Err(Error::Rank { path: path.to_owned(), found, dims });
        }
        Shape::new(&self.extents).map_err(|error| bad(path, &error.to_string()))
    }

    /// Makes sure that the file is long enough for so many values.
    fn check_length(&self, path: &Path, count: usize) -> Result<(), Error> {
        let need = count as u128 * self.stored.bytes() as u128;
        match self.bytes.is_some_and(|bytes| u128::from(bytes) < need) {
            true => Err(short(path, count)),
            false => Ok(()),
        }
    }

    /// Bytes that follow it.
    fn ignored(&self, shape: Shape) -> u64 {
        let own = shape.points() as u64 * self.stored.bytes() as u64;
        self.bytes.map_or(0, |bytes| bytes.saturating_sub(own))
    }
}

/// How many axes an array has.
///
/// # Errors
/// [`Error::Read`], [`Error::Array`]: it is no array that can be read.
pub fn axes(path: &Path) -> Result<usize, Error> {
    Ok(open(path)?.0.extents.len())
}

/// Reads a grid for a stencil of `dims` axes, in C order, in the file's element type; integers of up to two bytes
/// and truth values become f32, other integers f64.
///
/// # Errors
/// The file cannot be read, is no array of numbers, has another number of axes, holds no point, or does not fit in
/// memory.
pub fn read_grid(path: &Path, dims: usize) -> Result<Grid, Error> {
    Ok(read_noting(path, dims)?.0)
}

/// Reads a grid as [`read_grid`] does, and counts the bytes that follow the array in the file: none, as a rule.
///
/// # Errors
/// As [`read_grid`].
pub fn read_noting(path: &Path, dims: usize) -> Result<(Grid, u64), Error> {
    let (array, reader) = open(path)?;
    let shape = array.shape(path, dims)?;
    let dtype = array.stored.becomes();
    Grid::check_memory(shape, dtype)?;
    let values = with_dtype!(dtype, T => {
        T::wrap(read_values::<T>(path, reader, &array, shape.points())?)
    });
    Ok((Grid { shape, values }, array.ignored(shape)))
}

/// Reads the weights of a stencil: a dense array with odd extents. It is named after the file.
///
/// # Errors
/// The file cannot be read, is no array of numbers, or they make no stencil.
pub fn read_weights(path: &Path) -> Result<Stencil, Error> {
    /// More weights than the largest radius allows on three axes.
    const MOST: usize = 40_000;
    let (array, reader) = open(path)?;
    let weights = |source| Error::Weights { path: path.to_owned(), source };
    let count = array.extents.iter().try_fold(1usize, |count, &n| count.checked_mul(n));
    let Some(count) = count.filter(|count| *count <= MOST) else {
        return Err(bad(path, &format!("too many weights; at most {MOST} are supported")));
    };
    let values: Vec<f64> = with_dtype!(array.stored.becomes(), T => {
        let values = read_values::<T>(path, reader, &array, count)?;
        values.into_iter().map(Element::to_f64).collect()
    });
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    Stencil::dense(&name, &array.extents, &values).map_err(weights)
}

/// Writes a grid beside a file's place, in its own element type, or bf16, which the format lacks, as f32;
/// little-endian, in C order. `read` gives the values of parts of the grid, each of at most so many
/// points.
///
/// # Errors
/// The system refuses, or `read` does; then an existing file is as it was.
pub fn stage<'a>(
    output: &'a Output,
    shape: Shape,
    dtype: Dtype,
    most: usize,
    mut read: impl FnMut(Region) -> Result<Values, Error>,
) -> Result<Staged<'a>, Error> {
    let mut unread = None;
    let staged = output.stage(|to| {
        write_header(to, shape, dtype)?;
        for piece in Region::pieces(shape, most) {
            match read(piece) {
                Ok(values) => write_values(to, &values)?,
                Err(error) => {
                    unread = Some(error);
                    return Err(io::ErrorKind::Other.into());
                }
            }
        }
        Ok(())
    });
    unread.map_or(staged, Err)
}

/// Writes the header of an array of a grid's values.
pub(super) fn write_header(mut to: &mut dyn Write, shape: Shape, dtype: Dtype) -> io::Result<()> {
    match dtype {
        Dtype::F16 => NoValues::<Half>::of(shape).write_npy(&mut to),
        Dtype::Bf16 | Dtype::Tf32 | Dtype::F32 => NoValues::<f32>::of(shape).write_npy(&mut to),
        Dtype::F64 => NoValues::<f64>::of(shape).write_npy(&mut to),
    }
}

/// An array whose values are written by others, after its header.
struct NoValues<T> {
    axes: Vec<usize>,
    of: PhantomData<T>,
}

impl<T> NoValues<T> {
    fn of(shape: Shape) -> Self {
        Self { axes: shape.axes().to_vec(), of: PhantomData }
    }
}

impl<T: NumpyArrayElement> NumpyArray for NoValues<T> {
    type Elem = T;
    type Iter = Empty<T>;

    fn npy_shape(&self) -> Vec<usize> {
        self.axes.clone()
    }

    fn npy_elements(self) -> Self::Iter {
        iter::empty()
    }
}

/// `half::f16`, as numpy names it.
struct Half(f16);

impl NumpyArrayElement for Half {
    const DATA_SIZE: usize = 2;
    const DATA_FORMAT: &'static str = "<f2";

    fn encode_npy_element<W: Write>(&self, to: &mut W) -> io::Result<()> {
        to.write_all(&self.0.to_le_bytes())
    }
}

/// Writes values, little-endian; bf16 as f32.
pub(super) fn write_values(to: &mut dyn Write, values: &Values) -> io::Result<()> {
    match values {
        Values::Bf16(values) => {
            let wide: Vec<f32> = values.par_iter().map(|value| value.to_f32()).collect();
            write_elements(to, &wide)
        }
        Values::F16(values) => write_elements(to, values),
        Values::F32(values) => write_elements(to, values),
        Values::F64(values) => write_elements(to, values),
    }
}

/// Writes values, little-endian; f16 and bf16 as f32.
pub(super) fn write_wide(to: &mut dyn Write, values: &Values) -> io::Result<()> {
    match values {
        Values::F16(values) => {
            let wide: Vec<f32> = values.par_iter().map(|value| value.to_f32()).collect();
            write_elements(to, &wide)
        }
        other => write_values(to, other),
    }
}

/// Writes values as they are, little-endian.
pub(super) fn write_elements<T: Element>(to: &mut dyn Write, values: &[T]) -> io::Result<()> {
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

fn open(path: &Path) -> Result<(Array, Box<dyn Read>), Error> {
    let unreadable = |source| Error::Read { path: path.to_owned(), source };
    let (mut reader, length): (Box<dyn Read>, _) = if is_stream(path) {
        (Box::new(io::stdin().lock()), None)
    } else {
        let file = File::open(path).map_err(unreadable)?;
        let about = file.metadata().map_err(unreadable)?;
        let length = about.is_file().then_some(about.len());
        (Box::new(BufReader::with_capacity(1 << 20, file)), length)
    };
    let header = Header::read(&mut reader).map_err(|error| match error {
        HeaderError::Read(source) => unreadable(source),
        HeaderError::Bad(reason) => bad(path, &reason),
    })?;
    let Some(stored) = StorageType::parse(&header.descr) else {
        let kind = header.descr.escape_debug();
        let known = "floats of 2, 4 and 8 bytes, integers and truth values are supported";
        return Err(bad(path, &format!("element type {kind}; {known}")));
    };
    let points = header.shape.iter().try_fold(1usize, |points, &n| points.checked_mul(n.max(1)));
    if points.is_none() {
        return Err(bad(path, TOO_LARGE));
    }
    let array = Array {
        extents: header.shape,
        fortran_order: header.fortran_order,
        stored,
        start: header.bytes,
        bytes: length.map(|length| length.saturating_sub(header.bytes)),
    };
    Ok((array, reader))
}

fn read_values<T: Element>(
    path: &Path,
    reader: impl Read,
    array: &Array,
    count: usize,
) -> Result<Vec<T>, Error> {
    // Before memory is taken for them: a header promises any number.
    array.check_length(path, count)?;
    let mut values = npy_values::read::<T>(reader, array.stored, count)
        .map_err(|source| unread(path, source, count))?;
    if array.fortran_order && array.extents.len() > 1 {
        values = to_c_order(&values, &array.extents);
    }
    Ok(values)
}

/// Why so many values could not be read.
fn unread(path: &Path, source: io::Error, count: usize) -> Error {
    match source.kind() {
        io::ErrorKind::UnexpectedEof => short(path, count),
        _ => Error::Read { path: path.to_owned(), source },
    }
}

fn short(path: &Path, count: usize) -> Error {
    bad(path, &format!("the file ends before its {count} values do"))
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
