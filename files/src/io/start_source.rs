// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a grid begins with, said in so few words that whoever needs a part of it makes or reads that by itself.

use std::path::PathBuf;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::checkpoint::States;
use super::npy::ArrayFile;
use problem::values::Element;
use problem::{Dtype, Error, Grid, Region, Shape, ValueLocation, Values, with_dtype, with_values};

/// Bytes of values that are made or read at a time.
const PIECE_BYTES: usize = 4 << 20;

/// What a grid begins with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum StartSource {
    /// Random values in [0, 1) of this seed.
    Random(u64),
    /// This everywhere.
    Constant(f64),
    /// A bell in the middle: 1 there, and e^(-1/2) at a 16th of the grid's extent along each axis.
    Gauss,
    /// The array of a `.npy` file.
    Array(PathBuf),
    /// The array of a checkpoint.
    Checkpoint(PathBuf),
}

/// A value of a grid to start from that is infinite or not a number. Of several the least is told: the first in C order of
/// those that are so before they are rounded, if there are any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NonFiniteValue {
    /// Whether it is so only once it is rounded to the grid's type.
    rounded: bool,
    /// Its place in the whole grid, in C order.
    index: usize,
    /// The bits of the value.
    bits: u64,
}

impl NonFiniteValue {
    /// The error that it is, of a grid of this shape and type.
    #[must_use]
    pub fn error(self, shape: Shape, dtype: Dtype) -> Error {
        let holder =
            if self.rounded { ValueLocation::InputAs(dtype) } else { ValueLocation::Input };
        let (value, position) = (f64::from_bits(self.bits), shape.position(self.index));
        Error::NotFinite { holder, value, position }
    }
}

/// What can be asked for regions of a grid to start from.
pub struct OpenStart {
    of: StartKind,
    shape: Shape,
    dtype: Dtype,
}

enum StartKind {
    Random(u64),
    Constant(f64),
    Gauss,
    Array(ArrayFile),
    Checkpoint(States),
}

impl StartSource {
    /// For a grid of this shape and type.
    ///
    /// # Errors
    /// The file cannot be read, or is none of such a grid.
    pub fn open(&self, shape: Shape, dtype: Dtype) -> Result<OpenStart, Error> {
        let of = match self {
            Self::Random(seed) => StartKind::Random(*seed),
            Self::Constant(value) => StartKind::Constant(*value),
            Self::Gauss => StartKind::Gauss,
            Self::Array(path) => StartKind::Array(ArrayFile::of_shape(path, shape)?),
            Self::Checkpoint(path) => StartKind::Checkpoint(States::open(path, shape, dtype)?),
        };
        Ok(OpenStart { of, shape, dtype })
    }

    /// The whole grid.
    ///
    /// # Errors
    /// [`Error::Memory`]: it does not fit. [`Error::NotFinite`]: a value is not finite, or the type cannot hold it. The
    /// file cannot be read.
    pub fn grid(&self, shape: Shape, dtype: Dtype) -> Result<Grid, Error> {
        Grid::check_memory(shape, dtype)?;
        if let Self::Random(seed) = self {
            return Grid::random(shape, dtype, *seed);
        }
        let (mut opened, mut flaw) = (self.open(shape, dtype)?, None);
        let values = with_dtype!(dtype, T => {
            let mut values: Vec<T> = Vec::with_capacity(shape.points());
            for piece in Region::pieces(shape, opened.piece()) {
                let part = keep(&mut flaw, opened.read(piece)?);
                values.extend(part.as_ref().and_then(T::unwrap).unwrap_or_default());
            }
            T::wrap(values)
        });
        flaw.map_or(Ok(Grid { shape, values }), |flaw| Err(flaw.error(shape, dtype)))
    }

    /// The largest absolute value of the grid.
    ///
    /// # Errors
    /// As [`StartSource::grid`].
    pub fn largest(&self, shape: Shape, dtype: Dtype) -> Result<f64, Error> {
        if !matches!(self, Self::Array(_) | Self::Checkpoint(_)) {
            return Ok(1.0);
        }
        let (mut opened, mut flaw, mut largest) = (self.open(shape, dtype)?, None, 0.0_f64);
        for piece in Region::pieces(shape, opened.piece()) {
            if let Some(values) = keep(&mut flaw, opened.read(piece)?) {
                largest = with_values!(&values, values => {
                    values.iter().fold(largest, |most, value| most.max(Element::to_f64(*value).abs()))
                });
            }
        }
        flaw.map_or(Ok(largest), |flaw| Err(flaw.error(shape, dtype)))
    }
}

/// The values, if none has a flaw, of which the least is kept.
pub fn keep(
    flaw: &mut Option<NonFiniteValue>,
    values: Result<Values, NonFiniteValue>,
) -> Option<Values> {
    match values {
        Ok(values) => Some(values),
        Err(found) => {
            *flaw = Some(flaw.map_or(found, |before| before.min(found)));
            None
        }
    }
}

impl OpenStart {
    /// Points that are asked for at a time.
    #[must_use]
    pub fn piece(&self) -> usize {
        PIECE_BYTES / self.dtype.bytes()
    }

    /// The values of a region, in its C order, rounded to the grid's type; or what is wrong with one of them.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(&mut self, region: Region) -> Result<Result<Values, NonFiniteValue>, Error> {
        let (shape, dtype) = (self.shape, self.dtype);
        let values = match &mut self.of {
            StartKind::Random(seed) => {
                return Ok(Ok(Grid::random_region(shape, dtype, *seed, region)));
            }
            StartKind::Constant(value) => filled(region, dtype, |_| *value),
            StartKind::Gauss => filled(region, dtype, |at| bell(shape, at)),
            StartKind::Array(file) => file.read(region)?,
            StartKind::Checkpoint(states) => states.read(region)?,
        };
        let flawed = |values: &Values, rounded| match values.first_not_finite() {
            None => Ok(()),
            Some((place, value)) => Err(NonFiniteValue {
                rounded,
                index: place_in(region, place, shape),
                bits: value.to_bits(),
            }),
        };
        let sound = flawed(&values, false);
        let values = values.cast(dtype);
        Ok(sound.and_then(|()| flawed(&values, true)).map(|()| values))
    }
}

/// The place in a grid of a point of a region, given by its place there.
fn place_in(region: Region, place: usize, shape: Shape) -> usize {
    let width = region.extents()[2];
    region.row_in(place / width, shape) + place % width
}

/// Values of a function of (z, y, x).
fn filled(region: Region, dtype: Dtype, value: impl Fn([usize; 3]) -> f64 + Sync) -> Values {
    let ([_, ny, nx], low) = (region.extents(), region.low.map(|low| low as usize));
    with_dtype!(dtype, T => {
        let mut values = vec![<T as Default>::default(); region.points()];
        values.par_iter_mut().enumerate().for_each(|(i, to)| {
            let at = [low[0] + i / (ny * nx), low[1] + i / nx % ny, low[2] + i % nx];
            *to = T::from_f64(value(at));
        });
        T::wrap(values)
    })
}

/// A bell in the middle of a grid.
fn bell(shape: Shape, at: [usize; 3]) -> f64 {
    let part = |axis: usize| {
        let extent = shape.extents()[axis] as f64;
        let away = at[axis] as f64 - (extent - 1.0) / 2.0;
        let axes = 3 - axis <= shape.dims();
        if axes { (away / (extent / 16.0)).powi(2) } else { 0.0 }
    };
    (-0.5 * (part(0) + part(1) + part(2))).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::npy;

    fn shape(text: &str) -> Shape {
        text.parse().unwrap()
    }

    #[test]
    fn bells_and_constants_are_made() {
        let grid =
            |initial: StartSource, size: &str| initial.grid(shape(size), Dtype::F64).unwrap();
        assert_eq!(grid(StartSource::Constant(-1.5), "3").get(2), -1.5);
        let bell = grid(StartSource::Gauss, "33x65");
        assert_eq!(bell.get(16 * 65 + 32), 1.0);
        let aside = (-0.5f64 * (4.0 * 16.0 / 65.0f64).powi(2)).exp();
        assert!((bell.get(16 * 65 + 36) - aside).abs() < 1e-12);
        assert_eq!(bell.get(16 * 65 + 28), bell.get(16 * 65 + 36));
        let error = StartSource::Constant(1e300).grid(shape("3"), Dtype::F16).unwrap_err();
        assert_eq!(error.to_string(), "the input holds inf at (x) = (0)");
    }

    /// A `.npy` file by hand.
    fn file(
        folder: &std::path::Path,
        descr: &str,
        fortran: bool,
        size: &str,
        bytes: &[u8],
    ) -> PathBuf {
        let order = if fortran { "True" } else { "False" };
        let text =
            format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({size}), }}\n");
        let length = (text.len() as u16).to_le_bytes();
        let path = folder.join("a.npy");
        std::fs::write(&path, [b"\x93NUMPY\x01\x00", &length[..], text.as_bytes(), bytes].concat())
            .unwrap();
        path
    }

    #[test]
    fn any_region_of_any_array_is_that_of_the_whole() {
        let folder = tempfile::tempdir().unwrap();
        let numbers: Vec<u16> = (0..3 * 4 * 5).map(|i| i * 7 % 64).collect();
        let little = |n: &u16| n.to_le_bytes();
        let floats = |n: &u16| f64::from(*n).to_be_bytes();
        let half = |n: &u16| half::f16::from_f32(f32::from(*n)).to_le_bytes();
        for (descr, bytes) in [
            ("<u2", numbers.iter().flat_map(little).collect::<Vec<u8>>()),
            (">f8", numbers.iter().flat_map(floats).collect()),
            ("<f2", numbers.iter().flat_map(half).collect()),
        ] {
            for (size, dims) in [("3, 4, 5", 3), ("12, 5", 2), ("60,", 1)] {
                for fortran in [false, true] {
                    let path = file(folder.path(), descr, fortran, size, &bytes);
                    let whole = npy::read_grid(&path, dims).unwrap();
                    let shape = whole.shape;
                    for dtype in [Dtype::F32, Dtype::Bf16] {
                        let mut opened =
                            StartSource::Array(path.clone()).open(shape, dtype).unwrap();
                        let whole = whole.clone().stored_as(dtype).unwrap();
                        let middle = shape.extents().map(|extent| extent as isize / 2);
                        for region in [
                            Region::whole(shape),
                            Region { low: [0; 3], high: middle.map(|at| at + 1) },
                            Region { low: middle, high: Region::whole(shape).high },
                        ] {
                            let read = opened.read(region).unwrap().unwrap();
                            assert_eq!(read, whole.read(region), "{descr} {size} {fortran}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn of_values_that_are_wrong_the_first_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let told = |values: [f64; 4], dtype| {
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            let path = file(folder.path(), "<f8", false, "2, 2", &bytes);
            let expected =
                npy::read_grid(&path, 2).unwrap().stored_as(dtype).unwrap_err().to_string();
            let error = StartSource::Array(path).grid(shape("2x2"), dtype).unwrap_err().to_string();
            assert_eq!(error, expected);
            error
        };
        assert_eq!(
            told([1e9, 0.0, f64::NAN, 1.0], Dtype::F16),
            "the input holds NaN at (y, x) = (1, 0)"
        );
        assert_eq!(
            told([0.0, 1e9, 1e10, 1.0], Dtype::F16),
            "the input as f16 holds inf at (y, x) = (0, 1)"
        );
    }
}
