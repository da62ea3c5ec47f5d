// SPDX-License-Identifier: MIT OR Apache-2.0
//! The loader: from global memory into the first ring.

use super::{Chain, RING_COLUMNS, lead, row_bytes, stage_rows};
use crate::layout::{CHUNK, HALO};
use crate::overlap;
use cuda_std::{barrier, copy, warp};

/// Copies the input rows of tile after tile into the first ring, one lane a row.
#[inline(always)]
pub(super) unsafe fn load<const RADIUS: u32>(launch: &Chain, chain: u32) {
    let rows = stage_rows(RADIUS);
    let mut ring = launch.ring(RADIUS, 0);
    // SAFETY: reads a special register; the input is what the launch before writes.
    let lane = unsafe {
        overlap::wait_for_previous();
        overlap::start_next();
        warp::lane_id()
    };
    let mut span = launch.span(RADIUS);
    while span.next < span.end {
        let tile = launch.tile(RADIUS, &mut span);
        let x = launch.load_column(tile.x);
        let phase = launch.phase(tile.x);
        // Columns right of the grid are zeros; a chunk of them is all that a window can need.
        let present = (launch.nx - x) as u32 + CHUNK;
        let columns = RING_COLUMNS + 2 * CHUNK;
        let columns = if columns < present { columns } else { present.next_multiple_of(CHUNK) };
        let bytes = columns * launch.bytes;
        let lead = lead(RADIUS, chain);
        let mut y = tile.y + (chain * RADIUS) as i32 - (lead * rows) as i32 + lane as i32;
        let mut stage = 0;
        while stage < lead + tile.stages {
            // SAFETY: the ring is set up; `bytes` and all addresses are multiples of 16 because
            // columns and pitch are; rows are clamped to the halo, and columns end at most a chunk
            // behind the grid. The announcement comes before the copies.
            unsafe {
                ring.wait_empty();
                if lane == 0 {
                    barrier::arrive_expect(ring.full(), rows * bytes);
                }
                warp::sync();
                if lane < rows {
                    let (first, last) = (-(HALO as i32), launch.ny - 1 + HALO as i32);
                    let row = if y < first {
                        first
                    } else if y > last {
                        last
                    } else {
                        y
                    };
                    let start = row as isize * launch.pitch as isize + x as isize;
                    let from = launch.input.offset(start * launch.bytes as isize);
                    let to = ring.data().offset(lane * row_bytes(launch.bytes) + phase);
                    copy::bulk(to, from, bytes, ring.full());
                }
            }
            y += rows as i32;
            stage += 1;
            ring.advance();
        }
    }
}
