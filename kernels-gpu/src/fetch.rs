// SPDX-License-Identifier: MIT OR Apache-2.0
//! A warp's own ring of rows in shared memory, or of as many rows of a plane at a time, which it fills some ahead. It
//! takes no registers, and no other warp has to be waited for: who reads a row has asked for it.

use crate::fault::{Fault, planted};
use crate::ring::Ring;
use cuda_std::shared::Shared;
use cuda_std::{barrier, chip, copy, warp};

/// Slots of a ring that are not under way: one that is read, and one that was.
const BEHIND: u32 = 2;

/// Bytes that a lane copies at a time on chips before sm_90.
const PIECE: u32 = 16;

/// What a ring is made of.
#[derive(Clone, Copy, Debug)]
pub struct Slots {
    /// How many there are.
    pub count: u32,
    /// Rows of each.
    pub rows: u32,
    /// Bytes of a row.
    pub bytes: u32,
}

impl Slots {
    /// Slots that are under way.
    #[inline(always)]
    #[must_use]
    pub const fn ahead(self) -> u32 {
        self.count - BEHIND
    }

    /// Bytes of a ring in shared memory: a multiple of 16.
    #[inline(always)]
    #[must_use]
    pub const fn shared_bytes(self) -> u32 {
        self.header() + self.count * self.rows * self.bytes
    }

    /// Bytes of the barriers.
    #[inline(always)]
    const fn header(self) -> u32 {
        (self.count * barrier::BYTES).next_multiple_of(16)
    }
}

/// The ring of a warp.
#[derive(Clone, Copy)]
pub struct Fetch {
    /// The next slot to be filled, and the oldest to be read.
    asked: Ring,
    read: Ring,
    slots: Slots,
}

impl Fetch {
    /// The ring of a warp, at a place in shared memory.
    #[inline(always)]
    #[must_use]
    pub fn new(start: Shared, slots: Slots) -> Self {
        let (bytes, data) = (slots.rows * slots.bytes, start.offset(slots.header()));
        let ring = Ring::of(slots.count, start, data, bytes, slots.count);
        Self { asked: ring, read: ring, slots }
    }

    /// Sets up the barriers, which the whole warp must see before [`Fetch::ask`].
    ///
    /// # Safety
    /// By one lane, before the warp meets.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn init(&self) {
        let arrivals = if chip::is_sm_90() { 1 } else { warp::SIZE };
        // SAFETY: as the caller promises.
        unsafe { self.asked.init_full(arrivals) };
    }

    /// Asks for the rows that start at `from`.
    ///
    /// # Safety
    /// All lanes call it. Of the slots asked for at most [`Slots::ahead`] have not been read; the rows lie in bounds, and
    /// start and end at a multiple of 16 bytes.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn ask(&mut self, from: impl Fn(u32) -> *const u8, lane: u32) {
        let (to, full) = (self.asked.data(), self.asked.full());
        let Slots { rows, bytes, .. } = self.slots;
        // SAFETY: as the caller promises. What was in the slot was read before `Fetch::data` made the warp meet the
        // last time.
        unsafe {
            if chip::is_sm_90() {
                if lane == 0 {
                    let announced = if planted(Fault::NoAnnouncement) { 0 } else { rows * bytes };
                    barrier::arrive_expect(full, announced);
                    let mut row = 0;
                    while row < rows {
                        copy::bulk(to.offset(row * bytes), from(row), bytes, full);
                        row += 1;
                    }
                }
            } else {
                let mut row = 0;
                while row < rows {
                    let (start, mut at) = (from(row), lane * PIECE);
                    while at < bytes {
                        copy::async_16(
                            to.offset(row * bytes + at),
                            start.wrapping_add(at as usize),
                        );
                        at += warp::SIZE * PIECE;
                    }
                    row += 1;
                }
                if !planted(Fault::NoAnnouncement) {
                    copy::async_arrive(full);
                }
            }
        }
        self.asked.advance();
    }

    /// The oldest rows that were asked for and not yet read.
    ///
    /// # Safety
    /// All lanes call it, and have read the rows before these.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn data(&mut self) -> Shared {
        // SAFETY: the barriers are set up; what was asked for arrives.
        unsafe {
            self.read.wait_full();
            if !planted(Fault::EarlyRelease) {
                warp::sync();
            }
        }
        let at = self.read.data();
        self.read.advance();
        at
    }
}
