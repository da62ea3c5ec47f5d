// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a 2D grid is cut into strips of columns, along which warps run, and these into segments of rows.
//!
//! A strip's outermost columns, as many as all steps reach, depend on what lies beside it, and are another strip's. At
//! the ends of the grid, beyond which are zeros, there are none: the first strip starts with the grid, the last one ends
//! with it.

use crate::boundary::Range;
use cuda_std::warp;

/// Where a launch computes.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strips {
    /// Rows of the grid.
    pub ny: i32,
    /// Columns of the grid.
    pub nx: i32,
    /// The rows of outputs.
    pub rows: Range,
    /// The columns of outputs; the first is one at which 16 bytes start.
    pub columns: Range,
    /// Rows of outputs of a warp.
    pub segment: i32,
    /// Elements from one row to the next.
    pub pitch: i64,
}

/// The columns of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Width {
    /// How many.
    pub columns: i32,
    /// Those on either side that depend on others: what all steps reach, in whole pieces of 16 bytes; of one step of 32,
    /// since memory takes 64 bytes at a time, and what two strips write of them, twice.
    pub margin: i32,
    /// Those in 16 bytes.
    pub piece: i32,
}

impl Width {
    /// Of a warp that takes so many steps of a radius.
    #[inline(always)]
    #[must_use]
    pub const fn new(columns: u32, radius: usize, steps: usize, element_bytes: u32) -> Self {
        let piece = 16 / element_bytes;
        let reach = (radius * steps) as u32;
        let margin = reach.next_multiple_of(if steps == 1 { 2 * piece } else { piece });
        Self { columns: columns as i32, margin: margin as i32, piece: piece as i32 }
    }

    /// Whether lanes' columns start and end with a grid of so many, so that launches hold zeros beside it in every step:
    /// those of the last strip, wherever it starts, if it is not the first one, too.
    #[inline(always)]
    #[must_use]
    pub const fn ends_with(&self, nx: i32) -> bool {
        nx % (self.columns / warp::SIZE as i32) == 0 || nx % self.piece == 0 && nx >= self.columns
    }

    /// The columns of outputs of a strip that has other strips on both sides.
    #[inline(always)]
    #[must_use]
    pub const fn inner(&self) -> i32 {
        self.columns - 2 * self.margin
    }
}

/// A strip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strip {
    /// Its first column.
    pub start: i32,
    /// Its columns of outputs.
    pub outputs: Range,
}

impl Strip {
    /// Its columns of outputs, counted from its first.
    #[inline(always)]
    pub(super) const fn sent(&self) -> Range {
        Range { low: self.outputs.low - self.start, high: self.outputs.high - self.start }
    }
}

impl Strips {
    /// Where the first strip starts.
    #[inline(always)]
    const fn first(&self, width: Width) -> i32 {
        let start = self.columns.low - width.margin;
        if start < 0 { 0 } else { start }
    }

    /// Strips side by side.
    #[inline(always)]
    #[must_use]
    pub const fn across(&self, width: Width) -> u32 {
        let end = self.columns.high + width.margin;
        let end = if end > self.nx && width.ends_with(self.nx) { self.nx } else { end };
        let left = end - self.first(width) - 2 * width.margin;
        if left > 0 { (left as u32).div_ceil(width.inner() as u32) } else { 1 }
    }

    /// A strip, counted from the left.
    #[inline(always)]
    #[must_use]
    pub const fn strip(&self, index: u32, width: Width) -> Strip {
        let start = self.first(width) + index as i32 * width.inner();
        let (end, Range { low, high }) = (start + width.columns, self.columns);
        let low = if index == 0 { low } else { start + width.margin };
        let inner = end - width.margin;
        let has_end = end >= self.nx && width.ends_with(self.nx);
        let high = if has_end || inner > high { high } else { inner };
        // It ends with the grid, as far to the left as it takes.
        let is_moved = has_end && self.nx >= width.columns;
        let start = if is_moved { self.nx - width.columns } else { start };
        Strip { start, outputs: Range { low, high } }
    }

    /// The rows of outputs of a segment, counted from above.
    #[inline(always)]
    #[must_use]
    pub const fn segment(&self, index: u32) -> Range {
        let Range { low, high } = self.rows;
        let start = low + index as i32 * self.segment;
        let end = start + self.segment;
        Range { low: start, high: if end < high { end } else { high } }
    }

    /// Blocks of a launch.
    #[must_use]
    pub const fn blocks(&self, width: Width) -> u32 {
        self.across(width) * (self.rows.len() as u32).div_ceil(self.segment as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_have_every_column_once_and_what_it_depends_on() {
        for (vector, bytes, steps) in [(4, 8, 12), (6, 8, 8), (12, 4, 8), (8, 4, 1), (8, 2, 4)] {
            let (reach, width) = (steps as i32, Width::new(32 * vector, 1, steps, bytes));
            for nx in (1..1200).chain([10_240, 10_007]) {
                let piece = width.piece;
                let inside = (reach / piece * piece, nx - reach);
                for (low, high) in [(0, nx), inside] {
                    if low >= high {
                        continue;
                    }
                    let columns = Range { low, high };
                    let rows = Range { low: 0, high: 1 };
                    let strips = Strips { ny: 1, nx, rows, columns, segment: 1, pitch: 0 };
                    let mut next = low;
                    for index in 0..strips.across(width) {
                        let Strip { start, outputs } = strips.strip(index, width);
                        let end = start + width.columns;
                        assert_eq!((outputs.low, start % piece), (next, 0), "{strips:?} {index}");
                        next = outputs.high;
                        let of_left = start <= outputs.low - reach || start == 0;
                        let has_end = width.ends_with(nx) && end >= nx;
                        assert!(!has_end || (nx - start) % vector as i32 == 0);
                        let of_right = has_end || end >= outputs.high + reach;
                        assert!(of_left && of_right && start >= 0, "{strips:?} {index}");
                    }
                    assert_eq!(next, high, "{strips:?}");
                }
            }
        }
    }
}
