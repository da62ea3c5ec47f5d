// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the spectra of a torus lie while they are transformed, and which of its columns are transformed in two parts.

use kernels_gpu::spectral::columns;
use kernels_gpu::spectral::complex::ComplexPart;
use kernels_gpu::spectral::line::pitch;
use transform::spectral::Axis;

use super::part_bytes;
use problem::Dtype;

/// The spectra of a torus.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectra {
    /// Its axes (z, y, x); that of tiles has the points of the grid and the length of a tile.
    pub axes: [Axis; 3],
    /// Which of the axes z and y are transformed in two parts.
    pub cut: [bool; 2],
    /// Axes of the grid.
    pub dims: usize,
    dtype: Dtype,
}

/// Bytes side by side of columns that are transformed at once, at least: where fewer fit half of the shared memory, columns are
/// cut in two.
const FEWEST_BYTES: u32 = 64;

/// The longest column: beyond, its parts would not fit either.
pub const LONGEST_COLUMN: usize = 1 << 20;

/// Complex values that lines of a type can have in so many bytes of shared memory.
pub fn most_values(dtype: Dtype, shared_bytes: u32) -> usize {
    let values = shared_bytes as usize / (2 * part_bytes(dtype));
    values >> swizzle(dtype) << swizzle(dtype)
}

fn swizzle(dtype: Dtype) -> u32 {
    if dtype == Dtype::F64 { f64::SWIZZLE } else { f32::SWIZZLE }
}

impl Spectra {
    /// Of grids of a type with so many axes, on a GPU with so much shared memory for a block.
    pub fn new(axes: [Axis; 3], dims: usize, dtype: Dtype, shared_bytes: u32) -> Self {
        let is_cut = |axis: &Axis| {
            let bytes = 2 * part_bytes(dtype) as u32;
            let shared = columns::shared_bytes(FEWEST_BYTES / bytes, axis.length as u32, bytes);
            shared > shared_bytes / 2
        };
        let cut = [&axes[0], &axes[1]].map(is_cut);
        Self { axes, cut, dims, dtype }
    }

    /// Points of the torus (z, y, x).
    pub fn lengths(&self) -> [usize; 3] {
        self.axes.each_ref().map(|axis| axis.length)
    }

    /// Complex values of a row of the torus, two real ones each.
    pub fn half(&self) -> usize {
        self.axes[2].length / 2
    }

    /// Complex values from one row of the spectra to the next, of so many columns: whole lines of 128 bytes.
    pub fn pitch_of(&self, columns: usize) -> usize {
        pitch(columns as u32, 1, swizzle(self.dtype)) as usize
    }

    /// Complex values from one row of the spectra to the next if all waves matter: whole lines of 128 bytes.
    pub fn pitch(&self) -> usize {
        self.pitch_of(self.half() + 1)
    }

    /// Rows of a plane of the spectra: of the torus where planes are transformed, too, else of the grid.
    pub fn rows(&self) -> usize {
        if self.dims == 3 { self.axes[1].length } else { self.axes[1].points }
    }

    /// Complex values in all; none of tiles.
    pub fn values(&self) -> usize {
        let wide = [0, 1].map(|axis| if self.is_wide(axis) { self.values_with(axis) } else { 0 });
        self.values_of_rows() + wide[0].max(wide[1])
    }

    /// Of them those of the rows of the grid, which come first.
    pub fn values_of_rows(&self) -> usize {
        if self.dims == 1 { 0 } else { self.axes[0].points * self.rows() * self.pitch() }
    }

    /// Complex values of the whole torus.
    pub fn values_of_torus(&self) -> usize {
        let [z, y, _] = self.lengths();
        z * y * self.pitch()
    }

    /// Whether a cut axis (z, y) has images, which another block reads than writes their place: then what lies between its
    /// parts has a place of its own.
    pub fn is_wide(&self, axis: usize) -> bool {
        self.cut[axis] && self.axes[axis].length > self.axes[axis].points
    }

    /// Complex values with the whole of an axis (z, y).
    fn values_with(&self, axis: usize) -> usize {
        let [z, y] = [self.axes[0].points, self.rows()];
        let lines = if axis == 0 { y } else { z };
        lines * self.axes[axis].length * self.pitch()
    }
}
