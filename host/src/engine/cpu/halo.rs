// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lies around a grid, written into its halo.
//!
//! The rule of x comes first, then that of y, then that of z: a row's ends follow from its own
//! points, the rows above and below from those of the plane, ends included, and the planes before and
//! behind from whole planes.

use rayon::prelude::*;

use super::padded::{Layout, Padded};
use crate::Boundary;
use crate::problem::boundary::Place;
use crate::values::Element;

/// Where the halo's values come from.
pub struct Halo<T> {
    layout: Layout,
    /// Of each point of a row's halo.
    columns: Vec<(usize, Source<T>)>,
    /// Of each row of a plane's halo.
    rows: Vec<(usize, Source<T>)>,
    /// Of each plane of the halo.
    planes: Vec<(usize, Source<T>)>,
}

/// Where a point, a row or a plane of the halo comes from; places are counted as in memory.
#[derive(Clone, Copy)]
enum Source<T> {
    Copy(usize),
    Value(T),
}

impl<T: Element> Halo<T> {
    /// The halo of a boundary that is not zero everywhere.
    pub fn new(boundary: &Boundary, layout: Layout) -> Self {
        // Where the grid begins along an axis: in a row behind some unused values.
        let Layout { extents, radii, left, .. } = layout;
        let first = [radii[0], radii[1], left];
        let sources = |axis: usize| {
            let (n, r) = (extents[axis] as isize, radii[axis] as isize);
            let source = |at| match boundary.resolve(axis, at, extents[axis]) {
                Place::Inside(at) => Source::Copy(first[axis] + at),
                Place::Value(value) => Source::Value(T::from_f64(value)),
            };
            let outside = (-r..0).chain(n..n + r);
            outside.map(|at| (first[axis].strict_add_signed(at), source(at))).collect()
        };
        Self { layout, columns: sources(2), rows: sources(1), planes: sources(0) }
    }

    /// Sets the halo on the left and right of a row, from its points in the grid.
    pub fn close_row(&self, row: &mut [T]) {
        for &(to, source) in &self.columns {
            row[to] = match source {
                Source::Copy(from) => row[from],
                Source::Value(value) => value,
            };
        }
    }

    /// Sets the rest of the halo, once the rows of the grid have theirs.
    pub fn close(&self, grid: &mut Padded<T>, parallel: bool) {
        let ([nz, ..], [rz, ..], plane) =
            (self.layout.extents, self.layout.radii, self.layout.plane());
        let planes = grid.planes_mut();
        let inside = &mut planes[rz * plane..(rz + nz) * plane];
        if parallel && nz > 1 {
            inside.par_chunks_mut(plane).for_each(|plane| self.close_plane(plane));
        } else {
            inside.chunks_mut(plane).for_each(|plane| self.close_plane(plane));
        }
        for &(to, source) in &self.planes {
            match source {
                Source::Copy(from) => {
                    planes.copy_within(from * plane..(from + 1) * plane, to * plane);
                }
                Source::Value(value) => {
                    let to = &mut planes[to * plane..(to + 1) * plane];
                    to.chunks_mut(self.layout.pitch).for_each(|row| self.fill_row(row, value));
                    self.close_plane(to);
                }
            }
        }
    }

    /// Sets the rows above and below a plane.
    fn close_plane(&self, plane: &mut [T]) {
        let pitch = self.layout.pitch;
        for &(to, source) in &self.rows {
            match source {
                Source::Copy(from) => {
                    plane.copy_within(from * pitch..(from + 1) * pitch, to * pitch);
                }
                Source::Value(value) => {
                    self.fill_row(&mut plane[to * pitch..(to + 1) * pitch], value);
                }
            }
        }
    }

    /// A row of the halo that has one value but for its ends.
    fn fill_row(&self, row: &mut [T], value: T) {
        let Layout { left, extents: [_, _, nx], .. } = self.layout;
        row[left..left + nx].fill(value);
        self.close_row(row);
    }
}
