// SPDX-License-Identifier: MIT OR Apache-2.0
//! FlashFFTStencil in 2D: tiles of 16 × 16 points.

use super::{SIDE, Tiles, place, run};
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::kernel;

/// Rounds in which a tile is moved: its rows.
const ROUNDS: usize = SIDE as usize;

/// How a plane is cut into tiles, of which two side by side are a pair.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaneTiling {
    /// Elements from one row of the grid to the next.
    pub pitch: i64,
    /// Rows and columns of the grid.
    pub extents: [u32; 2],
    /// Rows and columns of a tile before its first output.
    pub before: [u32; 2],
    /// Rows and columns of outputs of a tile.
    pub own: [u32; 2],
    /// Pairs of tiles side by side.
    pub across: u32,
    /// Pairs of tiles.
    pub pairs: u32,
}

impl PlaneTiling {
    /// For steps that reach so far up, down, to the left and to the right: along an axis less than a tile together.
    #[must_use]
    pub const fn new(pitch: i64, extents: [u32; 2], [y, x]: [[u32; 2]; 2]) -> Self {
        let own = [SIDE - y[0] - y[1], SIDE - x[0] - x[1]];
        let across = extents[1].div_ceil(2 * own[1]);
        let pairs = across * extents[0].div_ceil(own[0]);
        Self { pitch, extents, before: [y[0], x[0]], own, across, pairs }
    }
}

impl Tiles for PlaneTiling {
    const ROUNDS: usize = ROUNDS;
    const ROWS: u32 = SIDE;

    #[inline(always)]
    fn pairs(&self) -> u32 {
        self.pairs
    }

    #[inline(always)]
    fn row(_: u32, round: u32) -> u32 {
        round
    }

    #[inline(always)]
    fn start(&self, pair: u32, layer: u32) -> [i32; 2] {
        let (row, column) = place(pair, self.across);
        let column = 2 * column + layer;
        let start =
            |tile: u32, axis: usize| (tile * self.own[axis]) as i32 - self.before[axis] as i32;
        [start(row, 0), start(column, 1)]
    }

    #[inline(always)]
    fn source(&self, [y, x]: [i32; 2], column: u32, round: u32) -> isize {
        let [rows, columns] = self.extents.map(|extent| extent as i32);
        let (y, x) = (y + round as i32, x + column as i32);
        // There are fewer zeros above the grid than columns of them beside it.
        let y = if y < -1 { -1 } else { y };
        let (y, x) = (if y < rows { y } else { rows }, if x < columns { x } else { columns });
        (i64::from(y) * self.pitch) as isize + x as isize
    }

    #[inline(always)]
    fn target(&self, [y, x]: [i32; 2], column: u32, round: u32) -> (bool, isize) {
        let is_right = (round.wrapping_sub(self.before[0]) < self.own[0])
            & (column.wrapping_sub(self.before[1]) < self.own[1]);
        let (y, x) = (y + round as i32, x + column as i32);
        let is_there = (y < self.extents[0] as i32) & (x < self.extents[1] as i32);
        (is_right & is_there, (i64::from(y) * self.pitch) as isize + x as isize)
    }
}

/// So many steps of a stencil on a plane, in f64.
///
/// # Safety
/// Launch blocks of [`super::THREADS`] with [`super::SHARED_BYTES`] of dynamic shared memory. `input` and `output` point
/// at grid point (0, 0) of two different arrays laid out as in [`crate::layout`]; `plane` is of its pitch and extents, of
/// fewer than 2³¹ pairs. `matrices` is that of 16
/// points, `symbols` the steps' symbol over the points of a tile, as `stencil::families::flashfft` makes them.
// Two blocks on a multiprocessor.
#[kernel(registers = 255)]
pub unsafe fn flashfft2d_f64(
    input: *const f64,
    output: *mut f64,
    matrices: *const u32,
    symbols: *const u32,
    plane: PlaneTiling,
) {
    // SAFETY: the launch is as this function's contract says.
    unsafe { run::<PlaneTiling, ROUNDS>(input, output, matrices, 1, symbols, &plane) };
}

/// A kernel's parameters, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters = (*const f64, *mut f64, *const u32, *const u32, PlaneTiling);

/// The kernel.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn kernel() -> Entry<Parameters> {
    Entry::of::<flashfft2d_f64>()
}
