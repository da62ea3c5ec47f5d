// SPDX-License-Identifier: MIT OR Apache-2.0
//! The storer: from the last ring to global memory.

use super::{Chain, row_bytes, stage_rows};
use crate::fault::{Fault, planted};
use crate::layout::CHUNK;
use crate::ring::Ring;
use cuda_std::{copy, grid, warp};

/// Copies the rows of the last ring to global memory, one lane a row.
#[inline(always)]
pub(super) unsafe fn store<const RADIUS: u32>(launch: &Chain, chain: u32) {
    let rows = stage_rows(RADIUS);
    let mut ring = launch.ring(RADIUS, chain);
    // The stage before: released one stage late, so that the engine always has work.
    let mut previous: Option<Ring> = None;
    // SAFETY: reads a special register; the output is what the launch before reads.
    let lane = unsafe {
        grid::wait_for_previous();
        warp::lane_id()
    };
    let mut span = launch.span(RADIUS);
    while span.next < span.end {
        let tile = launch.tile(RADIUS, &mut span);
        let present = ((launch.nx - tile.x) as u32).next_multiple_of(CHUNK);
        let columns = launch.tile_columns();
        let columns = if columns < present { columns } else { present };
        let mut y = tile.y + lane as i32;
        let mut stage = 0;
        while stage < tile.stages {
            // SAFETY: the ring is set up and its writers fence; addresses and bytes are multiples of
            // 16 because columns and pitch are; the row lies in the grid, and its last chunk at most
            // in the frame, where it holds zeros.
            unsafe {
                ring.wait_full();
                if lane < rows && y < launch.ny {
                    let start = y as isize * launch.pitch as isize + tile.x as isize;
                    let to = launch.output.offset(start * launch.bytes as isize);
                    let from = ring.data().offset(lane * row_bytes(launch.bytes));
                    copy::bulk_store(to, from, columns * launch.bytes);
                }
                copy::commit_stores();
                if !planted(Fault::NoWaitStoresRead) {
                    copy::wait_stores_read::<1>();
                }
                warp::sync();
                if let Some(previous) = previous.replace(ring)
                    && lane == 0
                {
                    previous.release();
                }
            }
            y += rows as i32;
            stage += 1;
            ring.advance();
        }
    }
    // SAFETY: only in a kernel; the block's shared memory must outlive the copies.
    unsafe { copy::wait_stores_read::<0>() };
}
