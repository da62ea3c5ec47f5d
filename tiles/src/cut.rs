// SPDX-License-Identifier: MIT OR Apache-2.0
//! The grid that a pass writes, in parts of which each belongs to one tile.

use std::vec::IntoIter;

use crate::padded::PaddedLayout;
use problem::values::Element;

/// A tile's part of the grid.
pub struct TilePart<'a, T> {
    /// Its first point, as (z, y, x).
    pub low: [usize; 3],
    /// Behind its last point along each axis.
    pub high: [usize; 3],
    /// Its rows in the order of z and y: one by one, or all rows of a plane together, with what lies between
    /// them.
    pieces: IntoIter<&'a mut [T]>,
    /// Where in a row of a piece the tile's points begin, and how far apart rows are.
    left: usize,
    pitch: usize,
}

impl<T> TilePart<'_, T> {
    /// The rows of its next plane, the lowest first.
    pub fn next_plane(&mut self) -> Vec<&mut [T]> {
        let (rows, width) = (self.high[1] - self.low[1], self.high[2] - self.low[2]);
        let (left, pitch) = (self.left, self.pitch);
        let mut plane = Vec::with_capacity(rows);
        while plane.len() < rows {
            let piece = self.pieces.next().expect("a piece for each plane or row");
            plane.extend(piece.chunks_mut(pitch).map(|row| &mut row[left..left + width]));
        }
        plane
    }
}

/// Cuts a grid, given by the rows from its first to its last, into tiles of this size, and what is left at its ends.
pub fn cut<'a, T: Element>(
    rows_of_grid: &'a mut [T],
    layout: &PaddedLayout,
    tile: [usize; 3],
) -> Vec<TilePart<'a, T>> {
    let PaddedLayout { extents, left, pitch, .. } = *layout;
    let [_, ny, nx] = extents;
    let [tz, ty, tx] = tile;
    let [_, rows, columns] = [0, 1, 2].map(|axis| extents[axis].div_ceil(tile[axis]));
    let mut pieces: Vec<Vec<&mut [T]>> = Vec::new();
    for (z, plane) in rows_of_grid.chunks_mut(layout.plane()).enumerate() {
        if z % tz == 0 {
            pieces.extend((0..rows * columns).map(|_| Vec::new()));
        }
        let first = z / tz * rows * columns;
        for (row, band) in plane[..ny * pitch].chunks_mut(ty * pitch).enumerate() {
            let pieces = &mut pieces[first + row * columns..][..columns];
            if columns == 1 {
                pieces[0].push(band);
                continue;
            }
            for row in band.chunks_mut(pitch) {
                let parts = row[left..left + nx].chunks_mut(tx);
                parts.zip(&mut *pieces).for_each(|(part, pieces)| pieces.push(part));
            }
        }
    }
    let part = |(number, pieces): (usize, Vec<&'a mut [T]>)| {
        let place = [number / columns / rows, number / columns % rows, number % columns];
        let low: [usize; 3] = std::array::from_fn(|axis| place[axis] * tile[axis]);
        let high = std::array::from_fn(|axis| extents[axis].min(low[axis] + tile[axis]));
        let (left, pitch) = if columns == 1 { (left, pitch) } else { (0, high[2] - low[2]) };
        TilePart { low, high, pieces: pieces.into_iter(), left, pitch }
    };
    pieces.into_iter().enumerate().map(part).collect()
}
