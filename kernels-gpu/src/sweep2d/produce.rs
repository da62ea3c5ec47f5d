// SPDX-License-Identifier: MIT OR Apache-2.0
//! The producer: from global memory into the ring.

use super::{Lane, Sweep, lead, row_bytes, rows_per_stage};
use crate::fault::{Fault, planted};
use crate::fill::{self, StageRows};
use crate::layout::{CHUNK, STRIP};
use crate::overlap;
use crate::progress::Turns;
use crate::ring::Ring;

/// Copies the input rows of tile after tile into the ring.
///
/// # Safety
/// The whole warp calls it; the ring is set up and the launch valid.
#[inline(always)]
pub(super) unsafe fn produce<L: Lane, const RADIUS: i32, const STEPS: usize, const MANY: bool>(
    sweep: &Sweep,
    mut ring: Ring,
) {
    let count = rows_per_stage(RADIUS as u32);
    // How many rows of tiles above and below its own a tile reads of.
    let reach = (RADIUS as u32).div_ceil(sweep.tile_rows as u32);
    // SAFETY: the input is what the launch before writes.
    let mut turns = unsafe {
        overlap::wait_for_previous();
        overlap::start_next();
        Turns::<MANY>::new(sweep.order)
    };
    while !turns.is_over() {
        let tile = sweep.tile(&turns);
        let (input, _) = sweep.grids(turns.step());
        // SAFETY: the whole warp has waited for the launch before.
        unsafe { sweep.progress.wait(&turns, reach) };
        // The last stage may have more rows than the tile needs; others may be writing those.
        let last_row = tile.y + tile.rows - 1 + RADIUS;
        let bytes = (tile.strips * STRIP + 2 * CHUNK) * L::BYTES;
        let (start, pitch) = (lead(L::BYTES), row_bytes(L::BYTES));
        let rows = StageRows { count, bytes, start, pitch };
        let mut y = tile.y - RADIUS + i32::from(planted(Fault::Halo));
        let mut stage = 0;
        while stage < tile.stages(STEPS as u32) {
            let source = |row: u32| {
                let y = y + row as i32;
                let y = if y < last_row { y } else { last_row };
                let shift = CHUNK as i32 - i32::from(planted(Fault::UnalignedCopy));
                input.wrapping_offset(sweep.offset(L::BYTES, y, tile.x - shift))
            };
            // SAFETY: the ring is set up; `bytes` and all addresses are multiples of 16 because
            // window starts, pitch and origins are; rows up to `last_row` and columns up to the
            // last strip's window lie in the array.
            unsafe { rows.fill(&ring, source) };
            y += count as i32;
            stage += 1;
            ring.advance();
        }
        // SAFETY: only in a kernel.
        unsafe { turns.advance() };
    }
    // SAFETY: this warp's last copies have been issued.
    unsafe { fill::finish() };
}
