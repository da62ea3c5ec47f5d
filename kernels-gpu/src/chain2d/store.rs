// SPDX-License-Identifier: MIT OR Apache-2.0
//! The storer: from the last ring to global memory. From sm_90 on by bulk copies, one lane a row; on older chips by
//! loads and stores of 16 bytes a lane.

use super::{Chain, Inner, lead, row_bytes, stage_rows};
use crate::boundary::Range;
use crate::fault::{Fault, planted};
use crate::overlap;
use crate::ring::Ring;
use crate::unroll::unroll;
use cuda_std::shared::{self, Shared};
use cuda_std::{chip, copy, global, warp};

/// The most rows of a stage.
const MOST_ROWS: usize = stage_rows(3) as usize;

/// Bytes that a lane moves at a time without the copy engine.
const PIECE: u32 = 16;

/// Which part of a stage is written, and where.
struct Part {
    /// Its first row in shared memory, and bytes from there to the next row.
    from: Shared,
    apart: u32,
    /// Its place in global memory.
    to: *mut u8,
    pitch: isize,
    /// Bytes of a row, a multiple of 16.
    bytes: u32,
    /// The rows that are written, counted from the stage's first.
    rows: Range,
}

impl Part {
    #[inline(always)]
    fn has(&self, row: u32) -> bool {
        self.rows.low <= row as i32 && (row as i32) < self.rows.high
    }
}

/// Copies the rows of the last ring to global memory.
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
        let mut y = tile.y - (lead * rows) as i32;
        let mut stage = 0;
        while stage < lead + tile.stages {
            let start = y as isize * launch.pitch as isize + left as isize;
            let part = Part {
                from: ring.data().offset(skipped),
                apart: row_bytes(launch.bytes),
                to: launch.output.wrapping_offset(start * launch.bytes as isize),
                pitch: launch.pitch as isize * launch.bytes as isize,
                bytes: bytes as u32,
                rows: Range { low: top - y, high: bottom - y },
            };
            let is_written = stage >= lead && bytes > 0;
            // SAFETY: the ring is set up and its writers fence; addresses and bytes are multiples of
            // 16 because columns and pitch are; the points lie in the grid.
            unsafe {
                ring.wait_full();
                if chip::is_sm_90() {
                    if is_written {
                        part.send::<RADIUS>(lane);
                    }
                    copy::commit_stores();
                    if !planted(Fault::NoWaitStoresRead) {
                        copy::wait_stores_read::<1>();
                    }
                    if let Some(previous) = previous.replace(ring) {
                        previous.release();
                    }
                } else {
                    if planted(Fault::EarlyRelease) {
                        ring.release();
                    }
                    if is_written {
                        part.copy::<RADIUS>(lane);
                    }
                    if !planted(Fault::EarlyRelease) {
                        ring.release();
                    }
                }
            }
            y += rows as i32;
            stage += 1;
            ring.advance();
        }
    }
    if chip::is_sm_90() {
        // SAFETY: only in a kernel; the block's shared memory must outlive the copies.
        unsafe { copy::wait_stores_read::<0>() };
    }
}

impl Part {
    /// By the copy engine, one lane a row, in the threads' open groups.
    ///
    /// # Safety
    /// All lanes call it. The stage is full, and its writers have fenced; the points are the caller's to write.
    #[inline(always)]
    unsafe fn send<const RADIUS: u32>(&self, lane: u32) {
        if lane < stage_rows(RADIUS) && self.has(lane) {
            let to = self.to.wrapping_offset(lane as isize * self.pitch);
            let from = self.from.offset(lane * self.apart);
            // SAFETY: as the caller promises.
            unsafe { copy::bulk_store(to, from, self.bytes) };
        }
    }

    /// By the lanes, all rows at once, so that none of the loads waits for another.
    ///
    /// # Safety
    /// All lanes call it. The stage is full; the points are the caller's to write.
    #[inline(always)]
    unsafe fn copy<const RADIUS: u32>(&self, lane: u32) {
        let mut at = lane * PIECE;
        while at < self.bytes {
            let mut words = [[0; 4]; MOST_ROWS];
            unroll!(row < stage_rows(RADIUS) as usize => {
                // SAFETY: as the caller promises.
                words[row] = unsafe { shared::load_v4(self.from.offset(row as u32 * self.apart + at)) }
            });
            unroll!(row < stage_rows(RADIUS) as usize => {
                if self.has(row as u32) {
                    let to = self.to.wrapping_offset(row as isize * self.pitch + at as isize);
                    // SAFETY: as the caller promises.
                    unsafe { global::store_v4(to.cast(), words[row]) };
                }
            });
            at += warp::SIZE * PIECE;
        }
    }
}
