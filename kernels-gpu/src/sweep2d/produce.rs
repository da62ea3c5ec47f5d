// SPDX-License-Identifier: MIT OR Apache-2.0
//! The producer: from global memory into the ring.

use super::{Lane, Sweep, lead, row_bytes, rows_per_stage};
use crate::fault::{Fault, planted};
use crate::layout::{CHUNK, STRIP};
use crate::ring::Ring;
use cuda_std::{barrier, copy, grid, thread, warp};

/// Copies the input rows of tile after tile into the ring, one lane a row.
///
/// # Safety
/// The whole warp calls it; the ring is set up and the launch valid.
#[inline(always)]
pub(super) unsafe fn produce<L: Lane, const RADIUS: i32, const STEPS: usize>(
    sweep: &Sweep,
    mut ring: Ring,
) {
    let rows = rows_per_stage(RADIUS as u32);
    // SAFETY: reads special registers.
    let (lane, blocks) = unsafe { (warp::lane_id(), thread::grid_dim_x()) };
    let last_row = sweep.ny - 1 + RADIUS;
    // SAFETY: as above; the input is what the launch before writes.
    let mut index = unsafe {
        if !planted(Fault::NoWaitForPrevious) {
            grid::wait_for_previous();
        }
        thread::block_idx_x()
    };
    while index < sweep.tiles() {
        let tile = sweep.tile(index);
        let bytes = (tile.strips * STRIP + 2 * CHUNK) * L::BYTES;
        let mut y = tile.y - RADIUS + lane as i32 + i32::from(planted(Fault::Halo));
        let mut stage = 0;
        while stage < tile.stages(STEPS as u32) {
            // SAFETY: the ring is set up; `bytes` and all addresses are multiples of 16 because
            // window starts, pitch and origins are; rows up to `last_row` and columns up to the
            // last strip's window lie in the array. The announcement comes before the copies.
            unsafe {
                ring.wait_empty();
                if lane == 0 {
                    let announced = if planted(Fault::NoAnnouncement) { 0 } else { rows * bytes };
                    barrier::arrive_expect(ring.full(), announced);
                }
                warp::sync();
                if lane < rows {
                    let row = if y < last_row { y } else { last_row };
                    let shift = CHUNK as i32 - i32::from(planted(Fault::UnalignedCopy));
                    let from = sweep.input.offset(sweep.offset(L::BYTES, row, tile.x - shift));
                    let to = ring.data().offset(lane * row_bytes(L::BYTES) + lead(L::BYTES));
                    copy::bulk(to, from, bytes, ring.full());
                }
            }
            y += rows as i32;
            stage += 1;
            ring.advance();
        }
        index += blocks;
    }
}
