// SPDX-License-Identifier: MIT OR Apache-2.0
//! One time step: which thread computes which rows, and in which order.

use fearless_simd::{Level, dispatch};
use rayon::prelude::*;
use transform::Stencil;

use super::halo::Halo;
use super::padded::{Layout, Padded};
use super::storage::Row;
use super::storage::Storage;
use crate::Dtype;
use crate::check::seams::Seams;
use crate::values::Element;

/// What the rows that are in use together may take of a core's second-level cache, in bytes.
const CACHE: usize = 1 << 18;
/// How far ahead of its use a value is to be on its way from memory, in bytes of its row.
const AHEAD: usize = 1 << 12;
/// Rows that a thread takes at once, at most.
const BAND: usize = 16;
/// Parts of the grid for each thread, at least, so that a thread that is held up can be helped out.
const PARTS: usize = 4;
/// Products of a time step up to which one thread is faster than several that have to meet.
const SERIAL: usize = 1 << 18;
/// Products that are worth being handed to another thread.
const PART: usize = 1 << 15;
const _: () = assert!(PART <= SERIAL, "a step that is split has at least one part");

/// A stencil, ready to be applied to grids of one layout.
pub struct Sweep<T: Storage> {
    level: Level,
    layout: Layout,
    taps: Vec<(isize, T::Sum)>,
    ahead: Vec<isize>,
    /// Columns of the grid that are swept over together.
    columns: usize,
    split: Split,
    /// What lies around the grid; nothing to be done if that is zeros.
    halo: Option<Halo<T>>,
}

/// How a time step is split among threads.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Split {
    /// Not at all.
    Serial,
    /// Into bands of so many rows.
    Bands(usize),
    /// Into pieces of so many points of a row.
    Pieces(usize),
}

impl Split {
    fn new(layout: &Layout, taps: usize, threads: usize) -> Self {
        let [nz, ny, nx] = layout.extents;
        let (rows, products) = (nz * ny, nz * ny * nx * taps);
        if threads == 1 || products <= SERIAL {
            return Self::Serial;
        }
        let parts = (PARTS * threads).min(products / PART);
        if rows < parts {
            Self::Pieces(nx.div_ceil(parts.div_ceil(rows)))
        } else {
            Self::Bands((rows / parts).min(BAND))
        }
    }
}

impl<T: Storage> Sweep<T> {
    /// Weights are rounded to `dtype`, whatever the type of the products.
    pub fn new(stencil: &Stencil, dtype: Dtype, layout: Layout, halo: Option<Halo<T>>) -> Self {
        let stencil = dtype.round_weights(stencil);
        let taps = stencil.taps().iter();
        let taps: Vec<_> =
            taps.map(|tap| (layout.distance(tap.offset), T::Sum::from_f64(tap.weight))).collect();
        // Each plane's rows that are in use, and the first one that is not yet.
        let mut planes: Vec<(i32, i32, i32)> = Vec::new();
        for [z, y, _] in stencil.taps().iter().map(|tap| tap.offset) {
            match planes.last_mut() {
                Some((plane, _, last)) if *plane == z => *last = y,
                _ => planes.push((z, y, y)),
            }
        }
        let later = AHEAD.div_ceil(layout.pitch * size_of::<T>()) as i32;
        let several = layout.extents[..2] != [1, 1];
        let ahead = planes.iter().filter(|_| several);
        let ahead = ahead.map(|(z, _, last)| layout.distance([*z, last + later, 0])).collect();
        let rows: i32 = planes.iter().map(|(_, first, last)| last - first + 1 + later).sum();
        let most = CACHE / size_of::<T>() / (rows as usize + 1);
        let nx = layout.extents[2];
        let columns = nx.div_ceil(nx.div_ceil(most));
        let split = Split::new(&layout, taps.len(), rayon::current_num_threads());
        Self { level: Level::new(), layout, taps, ahead, columns, split, halo }
    }

    /// Whether one thread computes a whole time step.
    pub fn is_serial(&self) -> bool {
        self.split == Split::Serial
    }

    /// Where what one thread computes, and what is swept over together, ends.
    pub fn seams(&self) -> Seams {
        let [nz, ny, nx] = self.layout.extents;
        let seams = Seams::none().every(0, 1, nz).every(2, self.columns, nx);
        match self.split {
            Split::Serial => seams,
            Split::Bands(rows) => seams.every(1, rows, ny),
            Split::Pieces(columns) => seams.every(1, 1, ny).every(2, columns, nx),
        }
    }

    /// Sets the halo of a grid.
    pub fn close(&self, grid: &mut Padded<T>) {
        if let Some(halo) = &self.halo {
            grid.for_rows(|_, row| halo.close_row(row));
            halo.close(grid, true);
        }
    }

    /// Writes the next time step and its halo.
    pub fn run(&self, from: &Padded<T>, to: &mut Padded<T>) {
        let pitch = self.layout.pitch;
        let rows = to.rows_mut();
        match self.split {
            Split::Serial => self.band(from, 0, rows),
            Split::Bands(count) => {
                let bands = rows.par_chunks_mut(count * pitch).enumerate();
                bands.for_each(|(band, rows)| self.band(from, band * count, rows));
            }
            Split::Pieces(columns) => self.pieces(from, rows, columns),
        }
        if let Some(halo) = &self.halo {
            halo.close(to, !self.is_serial());
        }
    }

    /// Computes rows from number `first` on.
    fn band(&self, from: &Padded<T>, first: usize, rows: &mut [T]) {
        let Layout { left, pitch, extents: [_, _, nx], .. } = self.layout;
        let inside = |number: &usize| self.layout.is_inside(*number);
        for start in (0..nx).step_by(self.columns) {
            let end = nx.min(start + self.columns);
            let rows = (first..).zip(rows.chunks_mut(pitch)).filter(|(number, _)| inside(number));
            for (number, row) in rows {
                self.points(from, from.origin(number) + start, &mut row[left + start..left + end]);
            }
        }
        if let Some(halo) = &self.halo {
            let rows = (first..).zip(rows.chunks_mut(pitch)).filter(|(number, _)| inside(number));
            rows.for_each(|(_, row)| halo.close_row(row));
        }
    }

    /// Computes row after row, each on all threads.
    fn pieces(&self, from: &Padded<T>, rows: &mut [T], columns: usize) {
        let Layout { left, pitch, extents: [_, _, nx], .. } = self.layout;
        for (number, row) in rows.chunks_mut(pitch).enumerate() {
            if !self.layout.is_inside(number) {
                continue;
            }
            let origin = from.origin(number);
            let pieces = row[left..left + nx].par_chunks_mut(columns).enumerate();
            pieces.for_each(|(piece, to)| self.points(from, origin + piece * columns, to));
            if let Some(halo) = &self.halo {
                halo.close_row(row);
            }
        }
    }

    /// Computes points of a row.
    fn points(&self, from: &Padded<T>, origin: usize, to: &mut [T]) {
        let Self { taps, ahead, .. } = self;
        let row = Row { taps, ahead, from: from.values(), origin, to };
        dispatch!(self.level, simd => T::row(simd, row));
    }
}

#[cfg(test)]
mod tests;
