// SPDX-License-Identifier: MIT OR Apache-2.0
//! FlashFFTStencil in 1D: tiles of 240 = 16 × 15 points.

use super::{SIDE, Tiles, run};
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::kernel;

/// Points of a tile whose transform is one of 15 and one of 16, which have no factor in common.
pub const POINTS: u32 = ROWS * SIDE;

/// Rows of the matrix that a tile is.
pub const ROWS: u32 = 15;

/// Rounds in which a tile is moved.
const ROUNDS: usize = ROWS as usize;

/// How a line is cut into tiles.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineTiling {
    /// Columns of the grid.
    pub nx: u32,
    /// Points of a tile before its first output.
    pub before: u32,
    /// Outputs of a tile.
    pub own: u32,
    /// Pairs of tiles.
    pub pairs: u32,
}

impl LineTiling {
    /// For steps that reach so far to the left and to the right: less than a tile together.
    #[must_use]
    pub const fn new(nx: u32, [left, right]: [u32; 2]) -> Self {
        let own = POINTS - left - right;
        Self { nx, before: left, own, pairs: nx.div_ceil(2 * own) }
    }
}

impl Tiles for LineTiling {
    const ROUNDS: usize = ROUNDS;
    const ROWS: u32 = ROWS;

    #[inline(always)]
    fn pairs(&self) -> u32 {
        self.pairs
    }

    /// Point 16·round + column, modulo 15.
    #[inline(always)]
    fn row(column: u32, round: u32) -> u32 {
        let row = column + round;
        if row < ROWS { row } else { row - ROWS }
    }

    #[inline(always)]
    fn start(&self, pair: u32, layer: u32) -> [i32; 2] {
        [0, ((2 * pair + layer) * self.own) as i32 - self.before as i32]
    }

    #[inline(always)]
    fn source(&self, [_, start]: [i32; 2], column: u32, round: u32) -> isize {
        let (x, last) = (start + (round * SIDE + column) as i32, self.nx as i32);
        (if x < last { x } else { last }) as isize
    }

    #[inline(always)]
    fn target(&self, [_, start]: [i32; 2], column: u32, round: u32) -> (bool, isize) {
        let point = round * SIDE + column;
        let x = start + point as i32;
        let is_right = point.wrapping_sub(self.before) < self.own;
        (is_right & (x < self.nx as i32), x as isize)
    }
}

/// So many steps of a stencil on a line, in f64.
///
/// # Safety
/// Launch blocks of [`super::THREADS`] with [`super::SHARED_BYTES`] of dynamic shared memory. `input` and `output` point
/// at grid point 0 of two different arrays laid out as in [`crate::layout`]; `line` is of `nx` columns, fewer than 2³¹ by
/// two tiles, and its steps reach to the left no farther than the zeros there. `matrices` are those of 16 and of 15 points,
/// `symbols` the steps' symbol over the points of a tile, as `stencil::families::flashfft` makes them.
// Two blocks on a multiprocessor.
#[kernel(registers = 255)]
pub unsafe fn flashfft1d_f64(
    input: *const f64,
    output: *mut f64,
    matrices: *const u32,
    symbols: *const u32,
    line: LineTiling,
) {
    // SAFETY: the launch is as this function's contract says.
    unsafe { run::<LineTiling, ROUNDS>(input, output, matrices, 2, symbols, &line) };
}

/// A kernel's parameters, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters = (*const f64, *mut f64, *const u32, *const u32, LineTiling);

/// The kernel.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn kernel() -> Entry<Parameters> {
    Entry::of::<flashfft1d_f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_lie_on_the_diagonal_of_15_rows_and_16_columns() {
        for point in 0..POINTS {
            assert_eq!(LineTiling::row(point % SIDE, point / SIDE), point % ROWS, "{point}");
        }
    }

    #[test]
    fn every_column_is_an_output_of_one_tile() {
        for (nx, reach) in
            [(1, [0, 0]), (240, [60, 60]), (1000, [64, 64]), (997, [0, 7]), (480, [119, 120])]
        {
            let line = LineTiling::new(nx, reach);
            let mut counts = vec![0; nx as usize];
            for pair in 0..line.pairs {
                for layer in 0..2 {
                    let start = line.start(pair, layer);
                    for point in 0..POINTS {
                        let (column, round) = (point % SIDE, point / SIDE);
                        let (wanted, x) = line.target(start, column, round);
                        if wanted {
                            counts[x as usize] += 1;
                            assert_eq!(line.source(start, column, round), x);
                        }
                    }
                }
            }
            assert!(counts.iter().all(|count| *count == 1), "{line:?}");
        }
    }
}
