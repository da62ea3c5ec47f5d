// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lies around a grid, written into its halo.
//!
//! The rule of x comes first, then that of y, then that of z: a row's ends follow from its own
//! points, the rows above and below from those of the plane, ends included, and the planes before and
//! behind from whole planes.

use std::ops::Range;

use rayon::prelude::*;

use crate::padded::{Padded, PaddedLayout};
use problem::Boundary;
use problem::boundary::{Image, NeighbourPlace};
use problem::values::Element;

/// Coordinates of an axis that a buffer has room for.
pub struct Window {
    /// Those that are of interest.
    pub coordinates: Range<isize>,
    /// Where in memory the first of them lies.
    pub at: usize,
}

/// Where a point, a row or a plane of a halo comes from; places are counted as in memory.
#[derive(Clone, Copy)]
enum Source<T> {
    /// From there, and what becomes of it.
    Copy(usize, Image),
    Value(T),
}

/// What becomes of a value, as it is stored.
fn made<T: Element>(image: Image, value: T) -> T {
    T::from_f64(image.of(value.to_f64()))
}

/// Copies so many values within an array, and makes of each what becomes of it.
pub(super) fn copy<T: Element>(values: &mut [T], from: Range<usize>, to: usize, image: Image) {
    let count = from.len();
    values.copy_within(from, to);
    if !image.is_same() {
        values[to..to + count].iter_mut().for_each(|value| *value = made(image, *value));
    }
}

/// Where every point, row or plane of the halo that a window shows comes from, as far as that is in the window,
/// too.
fn sources<T: Element>(
    boundary: &Boundary,
    axis: usize,
    extent: usize,
    window: &Window,
) -> Vec<(usize, Source<T>)> {
    let Window { coordinates, at } = window;
    let (start, end) = (coordinates.start, coordinates.end);
    let place = |coordinate: isize| at.strict_add_signed(coordinate - start);
    let outside = (start..end.min(0)).chain(start.max(extent as isize)..end);
    let source = |coordinate| match boundary.resolve(axis, coordinate, extent) {
        NeighbourPlace::Inside(inside, image) => {
            let inside = inside as isize;
            coordinates.contains(&inside).then(|| Source::Copy(place(inside), image))
        }
        NeighbourPlace::Value(value) => Some(Source::Value(T::from_f64(value))),
    };
    outside.filter_map(|coordinate| Some((place(coordinate), source(coordinate)?))).collect()
}

/// The halo of a plane: what lies beside its rows, and above and below them.
pub struct Edges<T> {
    pitch: usize,
    /// Of each point of a row's halo.
    columns: Vec<(usize, Source<T>)>,
    /// Of each point beside a row of the halo above or below the plane, which is not the grid's.
    outside: Vec<(usize, Source<T>)>,
    /// Of each row of a plane's halo.
    rows: Vec<(usize, Source<T>)>,
}

impl<T: Element> Edges<T> {
    /// Those that windows of y and x show, of planes whose rows are so far apart.
    pub fn new(
        boundary: &Boundary,
        extents: [usize; 3],
        pitch: usize,
        [y, x]: &[Window; 2],
    ) -> Self {
        let [_, ny, nx] = extents;
        let (columns, rows) = (sources(boundary, 2, nx, x), sources(boundary, 1, ny, y));
        Self { pitch, outside: columns.clone(), columns, rows }
    }

    /// What has one value for ever, and what follows the grid.
    pub fn split(&self) -> [Self; 2] {
        let part = |fixed: bool| {
            let is_part =
                |(_, source): &&(usize, Source<T>)| matches!(source, Source::Value(_)) == fixed;
            let part = |all: &[(usize, Source<T>)]| all.iter().filter(is_part).copied().collect();
            let (columns, rows) = (part(&self.columns), part(&self.rows));
            Self { pitch: self.pitch, columns, outside: self.outside.clone(), rows }
        };
        [part(true), part(false)]
    }

    /// Sets the halo on the left and right of all rows of a plane, and above and below them.
    pub fn close_all(&self, plane: &mut [T]) {
        plane.chunks_mut(self.pitch).for_each(|row| self.close_row(row));
        self.close_plane(plane);
    }

    /// Whether rows have a halo on their left or right.
    pub fn has_columns(&self) -> bool {
        !self.columns.is_empty()
    }

    /// Sets the halo on the left and right of a row, from its points in the grid.
    pub fn close_row(&self, row: &mut [T]) {
        close_row(&self.columns, row);
    }

    /// Sets the rows above and below a plane, whose own rows have their halo.
    pub fn close_plane(&self, plane: &mut [T]) {
        let pitch = self.pitch;
        for &(to, source) in &self.rows {
            match source {
                Source::Copy(from, image) => {
                    copy(plane, from * pitch..(from + 1) * pitch, to * pitch, image);
                    if !image.is_same() {
                        close_row(&self.outside, &mut plane[to * pitch..(to + 1) * pitch]);
                    }
                }
                Source::Value(value) => {
                    self.fill_row(&mut plane[to * pitch..(to + 1) * pitch], value);
                }
            }
        }
    }

    /// A plane of the halo that has one value but for its ends.
    pub fn fill_plane(&self, plane: &mut [T], value: T) {
        plane.chunks_mut(self.pitch).for_each(|row| self.fill_row(row, value));
        self.close_plane(plane);
    }

    /// A row of the halo that has one value but for its ends.
    fn fill_row(&self, row: &mut [T], value: T) {
        row.fill(value);
        close_row(&self.outside, row);
    }
}

fn close_row<T: Element>(columns: &[(usize, Source<T>)], row: &mut [T]) {
    for &(to, source) in columns {
        row[to] = match source {
            Source::Copy(from, image) if image.is_same() => row[from],
            Source::Copy(from, image) => made(image, row[from]),
            Source::Value(value) => value,
        };
    }
}

/// The halo of a grid.
pub struct Halo<T> {
    layout: PaddedLayout,
    edges: Edges<T>,
    /// Of each plane of the halo.
    planes: Vec<(usize, Source<T>)>,
}

impl<T: Element> Halo<T> {
    /// The halo of a boundary that is not zero everywhere.
    pub fn new(boundary: &Boundary, layout: PaddedLayout) -> Self {
        let PaddedLayout { extents, margins, left, pitch } = layout;
        // Where the halo begins along an axis: in a row behind some unused values.
        let first = [0, 0, left - margins[2]];
        let window = |axis: usize| {
            let (n, margin) = (extents[axis] as isize, margins[axis] as isize);
            Window { coordinates: -margin..n + margin, at: first[axis] }
        };
        let edges = Edges::new(boundary, extents, pitch, &[window(1), window(2)]);
        Self { layout, edges, planes: sources(boundary, 0, extents[0], &window(0)) }
    }

    /// Sets all of it, from the points of the grid.
    pub fn close(&self, grid: &mut Padded<T>, parallel: bool) {
        let PaddedLayout { extents: [nz, ny, _], margins: [mz, my, _], pitch, .. } = self.layout;
        let plane = self.layout.plane();
        if self.edges.has_columns() {
            let planes = &mut grid.planes_mut()[mz * plane..(mz + nz) * plane];
            let rows = |plane: &mut [T]| {
                let rows = &mut plane[my * pitch..(my + ny) * pitch];
                rows.chunks_mut(pitch).for_each(|row| self.close_row(row));
            };
            if parallel && nz == 1 {
                let rows = planes[my * pitch..(my + ny) * pitch].par_chunks_mut(pitch);
                rows.for_each(|row| self.close_row(row));
            } else if parallel {
                planes.par_chunks_mut(plane).for_each(rows);
            } else {
                planes.chunks_mut(plane).for_each(rows);
            }
        }
        self.close_around(grid, parallel);
    }

    /// Sets what lies on the left and right of a row of the grid.
    pub fn close_row(&self, row: &mut [T]) {
        self.edges.close_row(row);
    }

    /// Whether the rows above and below a plane keep their values, whatever the grid's are.
    pub fn has_fixed_rows(&self) -> bool {
        self.edges.rows.iter().all(|(_, source)| matches!(source, Source::Value(_)))
    }

    /// Sets the rows above and below a plane of the grid, which have their halo on their left and right.
    pub fn close_plane(&self, plane: &mut [T]) {
        self.edges.close_plane(plane);
    }

    /// Sets the rows and planes around those of the grid, which have their halo on their left and right.
    pub fn close_around(&self, grid: &mut Padded<T>, parallel: bool) {
        let PaddedLayout { extents: [nz, ..], margins: [mz, ..], .. } = self.layout;
        let plane = self.layout.plane();
        let planes = grid.planes_mut();
        let inside = &mut planes[mz * plane..(mz + nz) * plane];
        if parallel && nz > 1 {
            inside.par_chunks_mut(plane).for_each(|plane| self.edges.close_plane(plane));
        } else {
            inside.chunks_mut(plane).for_each(|plane| self.edges.close_plane(plane));
        }
        for &(to, source) in &self.planes {
            match source {
                Source::Copy(from, image) => {
                    copy(planes, from * plane..(from + 1) * plane, to * plane, image);
                    if !image.is_same() {
                        self.edges.close_all(&mut planes[to * plane..(to + 1) * plane]);
                    }
                }
                Source::Value(value) => {
                    self.edges.fill_plane(&mut planes[to * plane..(to + 1) * plane], value);
                }
            }
        }
    }
}
