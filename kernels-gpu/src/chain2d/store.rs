// SPDX-License-Identifier: MIT OR Apache-2.0
//! The storer: from the last ring to global memory.

use super::{Chain, Inner, lead, row_bytes, stage_rows};
use crate::boundary::Range;
use crate::fault::{Fault, planted};
use crate::overlap;
use crate::ring::Ring;
use cuda_std::{copy, warp};

/// Copies the rows of the last ring to global memory, one lane a row.
#[inline(always)]
pub(super) unsafe fn store<const RADIUS: u32>(launch: &Chain, chain: u32) {
    let rows = stage_rows(RADIUS);
    let mut ring = launch.ring(RADIUS, chain);
    // The stage before: released one stage late, so that the engine always has work.
    let mut previous: Option<Ring> = None;
    // SAFETY: reads a special register; the output is what the launch before reads.
    let lane = unsafe {
        overlap::wait_before_stores();
        warp::lane_id()
    };
    let mut span = launch.span(RADIUS);
    while span.next < span.end {
        let tile = launch.tile(RADIUS, &mut span);
        let inner = if planted(Fault::WholeGrid) {
            Inner::all(launch.ny as u32, launch.nx as u32)
        } else {
            launch.inner
        };
        let Inner { rows: Range { low: top, high: bottom }, columns } = inner;
        let end = tile.x + launch.tile_columns() as i32;
        let left = if tile.x < columns.low { columns.low } else { tile.x };
        let right = if end < columns.high { end } else { columns.high };
        let bytes = (right - left) * launch.bytes as i32;
        let skipped = (left - tile.x) as u32 * launch.bytes;
        let lead = lead(RADIUS, chain);
        let mut y = tile.y + lane as i32 - (lead * rows) as i32;
        let mut stage = 0;
        while stage < lead + tile.stages {
            // SAFETY: the ring is set up and its writers fence; addresses and bytes are multiples of
            // 16 because columns and pitch are; the points lie in the grid.
            unsafe {
                ring.wait_full();
                if lane < rows && stage >= lead && bytes > 0 && top <= y && y < bottom {
                    let start = y as isize * launch.pitch as isize + left as isize;
                    let to = launch.output.offset(start * launch.bytes as isize);
                    let row = ring.data().offset(lane * row_bytes(launch.bytes));
                    copy::bulk_store(to, row.offset(skipped), bytes as u32);
                }
                copy::commit_stores();
                if !planted(Fault::NoWaitStoresRead) {
                    copy::wait_stores_read::<1>();
                }
                if let Some(previous) = previous.replace(ring) {
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
