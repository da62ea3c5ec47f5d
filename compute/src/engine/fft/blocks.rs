// SPDX-License-Identifier: MIT OR Apache-2.0
//! Spectra in tiles of a few rows and columns, so that rows and columns are both read in pieces of cache lines, and
//! threads can share them.

use num_complex::Complex64;

/// Columns of a tile: two cache lines.
pub const WIDTH: usize = 8;
/// Rows of a tile, at most.
const HEIGHT: usize = 16;

/// How many tiles there are, of what size. Tiles of a band of rows follow each other, bands of a plane, and planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// Planes.
    pub planes: usize,
    /// Rows of a plane.
    pub rows: usize,
    /// Values of a row.
    pub columns: usize,
    /// Rows of a tile.
    pub height: usize,
}

impl Blocks {
    /// For so many planes of rows of columns.
    pub fn new(planes: usize, rows: usize, columns: usize) -> Self {
        Self { planes, rows, columns, height: rows.min(HEIGHT) }
    }

    /// Tiles beside each other.
    pub fn across(&self) -> usize {
        self.columns.div_ceil(WIDTH)
    }

    /// Values of a tile.
    pub fn tile(&self) -> usize {
        self.height * WIDTH
    }

    /// Values of a band of tiles.
    pub fn band(&self) -> usize {
        self.across() * self.tile()
    }

    /// Values of a plane.
    pub fn plane(&self) -> usize {
        self.rows.div_ceil(self.height) * self.band()
    }

    /// Values in all, and what lies between them.
    pub fn values(&self) -> usize {
        self.planes * self.plane()
    }

    /// Bytes, of grids of any size.
    pub fn bytes(&self) -> u128 {
        let row = self.across() as u128 * WIDTH as u128 * size_of::<Complex64>() as u128;
        self.planes as u128 * self.rows.next_multiple_of(self.height) as u128 * row
    }

    /// Puts the values of a row of a band into its tiles.
    pub fn put(&self, band: &mut [Complex64], row: usize, values: &[Complex64]) {
        for (tile, values) in band.chunks_mut(self.tile()).zip(values.chunks(WIDTH)) {
            tile[row * WIDTH..][..values.len()].copy_from_slice(values);
        }
    }

    /// Takes the values of a row of a band out of its tiles.
    pub fn take(&self, band: &[Complex64], row: usize, values: &mut [Complex64]) {
        for (tile, values) in band.chunks(self.tile()).zip(values.chunks_mut(WIDTH)) {
            values.copy_from_slice(&tile[row * WIDTH..][..values.len()]);
        }
    }

    /// The tiles of a plane, those above each other together.
    pub fn above_each_other<'a>(
        &self,
        plane: &'a mut [Complex64],
    ) -> Vec<Vec<&'a mut [Complex64]>> {
        transposed(plane.chunks_mut(self.band()), self.tile(), self.across())
    }

    /// The tiles of all planes, those behind each other together.
    pub fn behind_each_other<'a>(&self, all: &'a mut [Complex64]) -> Vec<Vec<&'a mut [Complex64]>> {
        let tiles = self.plane() / self.tile();
        transposed(all.chunks_mut(self.plane()), self.tile(), tiles)
    }
}

/// Cuts every part into `count` pieces of so many values; the first pieces together, the second ones, and so on.
fn transposed<'a>(
    parts: impl ExactSizeIterator<Item = &'a mut [Complex64]>,
    size: usize,
    count: usize,
) -> Vec<Vec<&'a mut [Complex64]>> {
    let mut all: Vec<_> = (0..count).map(|_| Vec::with_capacity(parts.len())).collect();
    for part in parts {
        part.chunks_mut(size).zip(&mut all).for_each(|(piece, pieces)| pieces.push(piece));
    }
    all
}
