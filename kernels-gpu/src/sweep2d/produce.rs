// SPDX-License-Identifier: MIT OR Apache-2.0
//! The producer: from global memory into the ring.

use super::{Lane, Sweep, lead, row_bytes, rows_per_stage};
use crate::fault::{Fault, planted};
use crate::fill::{self, Rows};
use crate::layout::{CHUNK, STRIP};
use crate::ring::Ring;
use cuda_std::{grid, thread};

/// Copies the input rows of tile after tile into the ring.
///
/// # Safety
/// The whole warp calls it; the ring is set up and the launch valid.
#[inline(always)]
pub(super) unsafe fn produce<L: Lane, const RADIUS: i32, const STEPS: usize>(
    sweep: &Sweep,
    mut ring: Ring,
) {
    let count = rows_per_stage(RADIUS as u32);
    let last_row = sweep.ny - 1 + RADIUS;
    // SAFETY: reads special registers; the input is what the launch before writes.
    let (blocks, mut index) = unsafe {
        if !planted(Fault::NoWaitForPrevious) {
            grid::wait_for_previous();
        }
        (thread::grid_dim_x(), thread::block_idx_x())
    };
    while index < sweep.tiles() {
        let tile = sweep.tile(index);
        let bytes = (tile.strips * STRIP + 2 * CHUNK) * L::BYTES;
        let (start, pitch) = (lead(L::BYTES), row_bytes(L::BYTES));
        let rows = Rows { count, bytes, start, pitch };
        let mut y = tile.y - RADIUS + i32::from(planted(Fault::Halo));
        let mut stage = 0;
        while stage < tile.stages(STEPS as u32) {
            let source = |row: u32| {
                let y = y + row as i32;
                let y = if y < last_row { y } else { last_row };
                let shift = CHUNK as i32 - i32::from(planted(Fault::UnalignedCopy));
                sweep.input.wrapping_offset(sweep.offset(L::BYTES, y, tile.x - shift))
            };
            // SAFETY: the ring is set up; `bytes` and all addresses are multiples of 16 because
            // window starts, pitch and origins are; rows up to `last_row` and columns up to the
            // last strip's window lie in the array.
            unsafe { rows.fill(&ring, source) };
            y += count as i32;
            stage += 1;
            ring.advance();
        }
        index += blocks;
    }
    // SAFETY: this warp's last copies have been issued.
    unsafe { fill::finish() };
}
