// SPDX-License-Identifier: MIT OR Apache-2.0
//! Regions of the one array of a stencil's checkpoint, whether it is one file or one of each rank.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::index::{self, UnopenedPart};
use super::{Header, begin, is_index, verify};
use crate::io::npy_values::{self, StorageType};
use crate::io::positioned;
use problem::values::Element;
use problem::{Dtype, Error, Grid, Region, Shape, Values, with_dtype};

/// What a checkpoint says of itself. Makes sure that it is whole: of one file, that all of it is as it was written; of
/// several, that all are there, and whoever reads a region of one makes sure of that.
///
/// # Errors
/// [`Error::Checkpoint`]: it is none, cut, or damaged. [`Error::Read`].
pub fn look(path: &Path) -> Result<Header, Error> {
    if !is_index(path) {
        return verify(path);
    }
    let index = index::read(path)?;
    let (shape, dtype) = index.header.grid(path)?;
    index.check(path, shape, dtype)?;
    Ok(index.header)
}

/// A checkpoint of one array whose regions are read.
pub struct States {
    path: PathBuf,
    shape: Shape,
    dtype: Dtype,
    of: StateValues,
}

enum StateValues {
    /// A file, and where its values begin.
    One(File, u64),
    Parts(Vec<UnopenedPart>),
}

impl States {
    /// Opens one of a grid of this shape and type.
    ///
    /// # Errors
    /// [`Error::Checkpoint`]: it is of another one, or none. [`Error::Read`].
    pub fn open(path: &Path, shape: Shape, dtype: Dtype) -> Result<Self, Error> {
        let (header, of) = if is_index(path) {
            let index = index::read(path)?;
            let parts = index.parts(path, dtype.stored())?;
            (index.header, StateValues::Parts(parts))
        } else {
            let (header, file, start) = begin(path)?;
            (header, StateValues::One(file, start))
        };
        if header.grid(path)? != (shape, dtype.stored()) {
            let reason =
                format!("this is a checkpoint of another grid than {shape} {dtype} values");
            return Err(Error::Checkpoint { path: path.to_owned(), reason, foreign: true });
        }
        Ok(Self { path: path.to_owned(), shape, dtype: dtype.stored(), of })
    }

    /// The values of a region, in its C order.
    ///
    /// # Errors
    /// [`Error::Checkpoint`]: it is damaged. [`Error::Read`].
    pub fn read(&mut self, region: Region) -> Result<Values, Error> {
        with_dtype!(self.dtype, T => self.read_as::<T>(region).map(T::wrap))
    }

    fn read_as<T: Element>(&mut self, region: Region) -> Result<Vec<T>, Error> {
        let mut result = vec![T::default(); region.points()];
        let unreadable = |source| Error::Read { path: self.path.clone(), source };
        match &mut self.of {
            StateValues::One(file, start) => {
                let (starts, length) = region.runs(self.shape);
                let (bytes, stored) = (size_of::<T>(), StorageType::of_floats(size_of::<T>()));
                let mut row = vec![0; length * bytes];
                for (to, place) in result.chunks_mut(length).zip(starts) {
                    positioned::read(file, &mut row, *start + (place * bytes) as u64)
                        .map_err(unreadable)?;
                    let values = npy_values::read::<T>(&row[..], stored, length);
                    to.copy_from_slice(&values.map_err(unreadable)?);
                }
            }
            StateValues::Parts(parts) => {
                for part in parts.iter_mut().filter(|part| part.of.common(region).is_some()) {
                    part.opened()?.read(region, |piece, values| {
                        let values = T::unwrap(values).expect("a checkpoint has one type");
                        copy(&mut result, region, values, piece);
                    })?;
                }
            }
        }
        Ok(result)
    }

    /// The whole grid.
    ///
    /// # Errors
    /// As [`States::read`], or it does not fit in memory.
    pub fn grid(&mut self) -> Result<Grid, Error> {
        Grid::check_memory(self.shape, self.dtype)?;
        let values = self.read(Region::whole(self.shape))?;
        Ok(Grid { shape: self.shape, values })
    }
}

/// Copies the points that two boxes have in common from the values of one to those of the other.
fn copy<T: Copy>(to: &mut [T], region: Region, from: &[T], piece: Region) {
    let Some(both) = region.common(piece) else { return };
    let [_, ny, nx] = both.extents();
    let place = |of: Region, row: usize| {
        let at = [row / ny, row % ny, 0].map(|at| at as isize);
        let point = |axis: usize| (both.low[axis] + at[axis] - of.low[axis]) as usize;
        let [_, rows, columns] = of.extents();
        (point(0) * rows + point(1)) * columns + point(2)
    };
    for row in 0..both.extents()[0] * ny {
        let (to_start, from_start) = (place(region, row), place(piece, row));
        to[to_start..to_start + nx].copy_from_slice(&from[from_start..from_start + nx]);
    }
}
