// SPDX-License-Identifier: MIT OR Apache-2.0
//! One step from an array into another, both in C order in the memory of their owners: what lies around the grid is
//! gathered for the points that need it, instead of a copy of the grid into a halo.

use std::ops::Range;

use fearless_simd::Simd;
use rayon::prelude::*;
use transform::Stencil;

use crate::at_level;
use crate::cut::{TilePart, cut};
use crate::padded::{CACHE_LINE, PaddedLayout};
use crate::storage::{ROWS, Storage};
use crate::tiling::Tiling;
use crate::window::Window;
use problem::boundary::{Image, NeighbourPlace};
use problem::values::Element;
use problem::{Boundary, Dtype, Error, Shape};

/// Rows that are computed, and looked at while they are in the caches.
const BAND: usize = 4 * ROWS;
/// Columns of a window, at most.
const COLUMNS: usize = 1024;
/// Columns at an end of a row that are computed from a window, at least: as many as a vector has values.
const STRIP: usize = 16;
/// Products between two looks at whether to go on: some hundredths of a second.
const PRODUCTS: usize = 1 << 28;

/// A stencil, ready to be applied to arrays of one shape.
pub trait Sweep<T>: Send + Sync {
    /// Writes the values after one step. Returns whether all values of both arrays are finite; if not, not all need be written.
    ///
    /// # Errors
    /// What `go_on` fails with, which is asked now and then.
    fn run(
        &self,
        from: &[T],
        to: &mut [T],
        go_on: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<bool, Error>;
}

/// A sweep by tiles.
pub(crate) struct TiledSweep<T: Storage> {
    pub(crate) sums: Window<T>,
    layout: PaddedLayout,
    boundary: Boundary,
    reach: [usize; 3],
    taps: usize,
    tile: [usize; 3],
}

impl<T: Storage> Sweep<T> for TiledSweep<T> {
    fn run(
        &self,
        from: &[T],
        to: &mut [T],
        go_on: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<bool, Error> {
        let points: usize = self.layout.extents.iter().product();
        assert!(from.len() == points && to.len() == points, "arrays of the shape");
        let tile = self.tile.iter().product::<usize>().saturating_mul(self.taps);
        let mut parts = cut(to, &self.layout, self.tile);
        if let [part] = &mut parts[..]
            && tile <= PRODUCTS
        {
            go_on()?;
            return Ok(self.part(from, part));
        }
        let group = (PRODUCTS / tile).max(2 * rayon::current_num_threads());
        let mut finite = true;
        for group in parts.chunks_mut(group) {
            go_on()?;
            finite &= group
                .par_iter_mut()
                .map(|part| self.part(from, part))
                .reduce(|| true, |one, other| one & other);
        }
        Ok(finite)
    }
}

/// A value or a row of values before what lies beyond the ends of x.
enum Base<'a, T> {
    Value(T),
    /// Of the grid, and what becomes of each value along z and then y.
    Row(&'a [T], [Image; 2]),
}

impl<T: Element> Base<'_, T> {
    fn at(&self, column: usize) -> T {
        match self {
            Self::Value(value) => *value,
            Self::Row(row, [z, y]) => made(*y, made(*z, row[column])),
        }
    }
}

/// What becomes of a value, as it is stored.
fn made<T: Element>(image: Image, value: T) -> T {
    if image.is_same() { value } else { T::from_f64(image.of(value.to_f64())) }
}

impl<T: Storage> TiledSweep<T> {
    /// Weights are rounded to `dtype`, whatever the type of the products.
    pub(crate) fn new(
        stencil: &Stencil,
        boundary: &Boundary,
        dtype: Dtype,
        shape: Shape,
        tiling: Tiling,
    ) -> Self {
        let reach = stencil.radii();
        let rounded = dtype.round_weights(stencil);
        let sums = Window::new(rounded.taps(), reach[0]);
        let extents = shape.extents();
        let layout = PaddedLayout { extents, margins: [0; 3], left: 0, pitch: extents[2] };
        let (taps, tile) = (rounded.taps().len().max(1), tiling.tile);
        Self { sums, layout, boundary: *boundary, reach, taps, tile }
    }

    /// Computes a part, and looks whether all values are finite, also those that it is of.
    fn part(&self, from: &[T], part: &mut TilePart<T>) -> bool {
        let [_, ny, nx] = self.layout.extents;
        let (low, high) = (part.low, part.high);
        let rows = inner(ny, self.reach[1], low[1]..high[1]);
        let strip = if self.reach[2] == 0 { 0 } else { self.reach[2].max(STRIP) };
        let columns = inner(nx, strip, low[2]..high[2]);
        let (mut window, mut finite) = (Vec::new(), true);
        for z in low[0]..high[0] {
            let mut plane = part.next_plane();
            let planes = self.planes(from, z);
            let mut y = low[1];
            while y < high[1] {
                // A band has no points on both sides of an end of the inner rows.
                let end = if y < rows.start {
                    rows.start
                } else if y < rows.end {
                    rows.end
                } else {
                    high[1]
                };
                let end = end.min(y + BAND);
                let to = &mut plane[y - low[1]..end - low[1]];
                let direct = match planes.is_empty() || !rows.contains(&y) {
                    true => high[2]..high[2],
                    false => columns.clone(),
                };
                for columns in [low[2]..direct.start, direct.end..high[2]] {
                    self.around(from, [z, y], columns, low[2], to, &mut window);
                }
                if !direct.is_empty() {
                    let origin = y * nx + direct.start;
                    let ahead = (ROWS + self.reach[1]) * nx;
                    self.sums.rows(&planes, nx, origin, ahead, &mut cropped(to, direct, low[2]));
                }
                for (row, to) in (y..end).zip(to) {
                    let from = &from[(z * ny + row) * nx..][low[2]..high[2]];
                    finite &= at_level!(self.sums.level(), simd => all_finite(simd, from) & all_finite(simd, to));
                }
                y = end;
            }
        }
        finite
    }

    /// The planes that the inner points of one are computed from; none where some of them lie beyond the grid and are not the same as one
    /// of it.
    fn planes<'a>(&self, from: &'a [T], z: usize) -> Vec<&'a [T]> {
        let (reach, nz) = (self.reach[0] as isize, self.layout.extents[0]);
        let size = self.layout.plane();
        let plane = |z: isize| match self.boundary.resolve(0, z, nz) {
            NeighbourPlace::Inside(z, image) if image.is_same() => Some(&from[z * size..][..size]),
            _ => None,
        };
        let z = z as isize;
        (z - reach..=z + reach).map(plane).collect::<Option<_>>().unwrap_or_default()
    }

    /// Computes columns of rows from the first at (z, y) on, whose neighbours need not be of the grid. The rows begin at column
    /// `left`.
    fn around(
        &self,
        from: &[T],
        [z, y]: [usize; 2],
        columns: Range<usize>,
        left: usize,
        to: &mut [&mut [T]],
        window: &mut Vec<T>,
    ) {
        let [rz, ry, rx] = self.reach;
        let rows = to.len();
        let unit = CACHE_LINE / size_of::<T>();
        let mut start = columns.start;
        while start < columns.end {
            let end = columns.end.min(start + COLUMNS);
            let pitch = (end - start + 2 * rx).next_multiple_of(unit);
            let plane = (rows + 2 * ry) * pitch;
            window.resize(window.len().max((2 * rz + 1) * plane), T::default());
            for (number, row) in
                window.chunks_mut(pitch).take((2 * rz + 1) * (rows + 2 * ry)).enumerate()
            {
                let z = (z + number / (rows + 2 * ry)) as isize - rz as isize;
                let y = (y + number % (rows + 2 * ry)) as isize - ry as isize;
                self.gather(
                    from,
                    [z, y],
                    start as isize - rx as isize,
                    &mut row[..end - start + 2 * rx],
                );
            }
            let planes: Vec<&[T]> = window.chunks(plane).take(2 * rz + 1).collect();
            let origin = ry * pitch + rx;
            self.sums.rows(&planes, pitch, origin, 0, &mut cropped(to, start..end, left));
            start = end;
        }
    }

    /// The values of a row from column `first` on, wherever they lie.
    fn gather(&self, from: &[T], [z, y]: [isize; 2], first: isize, to: &mut [T]) {
        let [nz, ny, nx] = self.layout.extents;
        let resolved = [self.boundary.resolve(0, z, nz), self.boundary.resolve(1, y, ny)];
        let base = match resolved {
            [_, NeighbourPlace::Value(value)] => Base::Value(T::from_f64(value)),
            [NeighbourPlace::Value(value), NeighbourPlace::Inside(_, image)] => {
                Base::Value(made(image, T::from_f64(value)))
            }
            [NeighbourPlace::Inside(z, along_z), NeighbourPlace::Inside(y, along_y)] => {
                Base::Row(&from[(z * ny + y) * nx..][..nx], [along_z, along_y])
            }
        };
        let last = first + to.len() as isize;
        let inside = first.clamp(0, nx as isize)..last.clamp(0, nx as isize);
        let place = |column: isize| (column - first) as usize;
        let beyond = (first..inside.start.max(first).min(last)).chain(inside.end.max(first)..last);
        for column in beyond {
            to[place(column)] = match self.boundary.resolve(2, column, nx) {
                NeighbourPlace::Value(value) => T::from_f64(value),
                NeighbourPlace::Inside(column, image) => made(image, base.at(column)),
            };
        }
        if inside.is_empty() {
            return;
        }
        let to = &mut to[place(inside.start)..place(inside.end)];
        match base {
            Base::Value(value) => to.fill(value),
            Base::Row(row, images) => {
                to.copy_from_slice(&row[inside.start as usize..inside.end as usize]);
                for image in images.into_iter().filter(|image| !image.is_same()) {
                    to.iter_mut().for_each(|value| *value = made(image, *value));
                }
            }
        }
    }
}

/// Of a range of coordinates those that are at least so far from both ends of an axis.
fn inner(extent: usize, reach: usize, range: Range<usize>) -> Range<usize> {
    let start = reach.clamp(range.start, range.end);
    start..extent.saturating_sub(reach).clamp(start, range.end)
}

/// Columns of rows that begin at column `left`.
fn cropped<'a, T>(
    rows: &'a mut [&mut [T]],
    columns: Range<usize>,
    left: usize,
) -> Vec<&'a mut [T]> {
    rows.iter_mut().map(|row| &mut row[columns.start - left..columns.end - left]).collect()
}

/// A loop that ended where it finds one that is not would look at one value at a time.
#[inline(always)]
fn all_finite<T: Element>(_: impl Simd, values: &[T]) -> bool {
    !values.iter().fold(false, |any, value| any | !value.is_finite())
}
