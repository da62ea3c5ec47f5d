// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a warp fills a stage of a ring with rows from global memory. On sm_90 and later by bulk copies,
//! one lane a row: the stage's barrier counts their bytes, which lane 0 announces. On older chips by
//! `cp.async`, 16 bytes a lane at a time: each lane arrives when its own copies are done. Such an arrival
//! tells of the copies only, so that lane 0 makes another one, for what the producer knows of other
//! blocks ([`crate::progress`]).

use crate::fault::{Fault, planted};
use crate::ring::Ring;
use cuda_std::{barrier, chip, copy, warp};

/// Bytes that a lane copies at a time on chips before sm_90.
const PIECE: u32 = 16;

/// What [`Ring::init`] is to expect for each producer warp that fills stages by [`StageRows::fill`].
#[inline(always)]
#[must_use]
pub fn arrivals() -> u32 {
    if chip::is_sm_90() { 1 } else { warp::SIZE + 1 }
}

/// Where rows of equal length lie in a stage, in bytes; all multiples of 16.
#[derive(Clone, Copy, Debug)]
pub struct StageRows {
    /// How many rows.
    pub count: u32,
    /// Length of a row.
    pub bytes: u32,
    /// Start of the first row.
    pub start: u32,
    /// From the start of a row to that of the next.
    pub pitch: u32,
}

impl StageRows {
    /// Waits until the stage is empty and starts the copies that fill it: row `i` from `source(i)`.
    ///
    /// # Safety
    /// The whole warp calls it, and [`finish`] in the end. The ring is set up for [`arrivals`]; the rows
    /// lie in its stages. The sources are valid for a row's bytes and 16-byte aligned.
    #[inline(always)]
    pub unsafe fn fill(&self, ring: &Ring, source: impl Fn(u32) -> *const u8) {
        let &Self { count, bytes, start, pitch } = self;
        let to = ring.data().offset(start);
        // SAFETY: as the caller promises. On sm_90 the announcement comes before the copies.
        unsafe {
            let lane = warp::lane_id();
            ring.wait_empty();
            if chip::is_sm_90() {
                if lane == 0 {
                    let announced = if planted(Fault::NoAnnouncement) { 0 } else { count * bytes };
                    barrier::arrive_expect(ring.full(), announced);
                }
                warp::sync();
                let mut row = lane;
                while row < count {
                    copy::bulk(to.offset(row * pitch), source(row), bytes, ring.full());
                    row += warp::SIZE;
                }
            } else {
                if lane == 0 {
                    ring.publish();
                }
                let (mut row, mut at) = (0, lane * PIECE);
                loop {
                    // Lanes go on in the next row where one ends, so that none is idle.
                    while at >= bytes {
                        at -= bytes;
                        row += 1;
                    }
                    if row >= count {
                        break;
                    }
                    let from = source(row).wrapping_add(at as usize);
                    copy::async_16(to.offset(row * pitch + at), from);
                    at += warp::SIZE * PIECE;
                }
                if !planted(Fault::NoAnnouncement) {
                    copy::async_arrive(ring.full());
                }
            }
        }
    }
}

/// Ends a producer warp: a thread must not return before the `cp.async` copies that it issued are done.
///
/// # Safety
/// Only in a kernel.
#[inline(always)]
pub unsafe fn finish() {
    if !chip::is_sm_90() && !planted(Fault::NoFinish) {
        // SAFETY: waiting has no precondition.
        unsafe { copy::async_wait_all() };
    }
}
