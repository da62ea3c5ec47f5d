// SPDX-License-Identifier: MIT OR Apache-2.0
//! The loader: from global memory into the first ring.

use super::{Chain, RING_COLUMNS, lead, row_bytes, stage_rows};
use crate::fill::{self, Rows};
use crate::layout::{CHUNK, HALO};
use crate::overlap;

/// Copies the input rows of tile after tile into the first ring.
#[inline(always)]
pub(super) unsafe fn load<const RADIUS: u32>(launch: &Chain, chain: u32) {
    let rows = stage_rows(RADIUS);
    let mut ring = launch.ring(RADIUS, 0);
    // SAFETY: the input is what the launch before writes.
    unsafe {
        overlap::wait_for_previous();
        overlap::start_next();
    }
    let mut span = launch.span(RADIUS);
    while span.next < span.end {
        let tile = launch.tile(RADIUS, &mut span);
        let x = launch.load_column(tile.x);
        // Columns right of the grid are zeros; a chunk of them is all that a window can need.
        let present = (launch.nx - x) as u32 + CHUNK;
        let columns = RING_COLUMNS + 2 * CHUNK;
        let columns = if columns < present { columns } else { present.next_multiple_of(CHUNK) };
        let (start, pitch) = (launch.phase(tile.x), row_bytes(launch.bytes));
        let all = Rows { count: rows, bytes: columns * launch.bytes, start, pitch };
        let lead = lead(RADIUS, chain);
        let mut y = tile.y + (chain * RADIUS) as i32 - (lead * rows) as i32;
        let mut stage = 0;
        while stage < lead + tile.stages {
            let source = |row: u32| {
                let (first, last) = (-(HALO as i32), launch.ny - 1 + HALO as i32);
                let y = y + row as i32;
                let y = if y < first {
                    first
                } else if y > last {
                    last
                } else {
                    y
                };
                let start = y as isize * launch.pitch as isize + x as isize;
                launch.input.wrapping_offset(start * launch.bytes as isize)
            };
            // SAFETY: the ring is set up; the bytes of a row and all addresses are multiples of 16
            // because columns and pitch are; rows are clamped to the halo, and columns end at most a
            // chunk behind the grid.
            unsafe { all.fill(&ring, source) };
            y += rows as i32;
            stage += 1;
            ring.advance();
        }
    }
    // SAFETY: this warp's last copies have been issued.
    unsafe { fill::finish() };
}
