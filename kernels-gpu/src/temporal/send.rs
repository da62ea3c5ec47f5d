// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a row of outputs goes to memory: on chips with a copy engine by way of shared memory, from the slot of the ring
//! in which a row came. Where lanes that have 32 bytes of a row stored them by themselves, 16 at a time, every
//! instruction would write half of each 32-byte sector, and the L2 cache would take each sector twice, which bound
//! single steps (`docs/decisions/0028-stores-by-copy-engine.md`).

use super::strips::{Strip, Width};
use crate::element::Element;
use crate::fault::{Fault, planted};
use cuda_std::shared::{self, Shared};
use cuda_std::{chip, copy, global, warp};

/// Bytes that a lane stores at a time.
const PIECE: u32 = 16;

/// Where a warp's rows of outputs go.
pub(super) struct Send<E: Element> {
    /// The strip's first column in the next row.
    to: *mut E::Stored,
    /// The columns that are stored, from the strip's first on: from `low` on, where 16 bytes start, and below `high`.
    low: i32,
    high: i32,
    /// The end of those that are stored 16 bytes at a time.
    whole: i32,
}

impl<E: Element> Send<E> {
    /// Of a strip, whose first column in the first row of outputs is at `to`.
    #[inline(always)]
    pub(super) fn new(to: *mut E::Stored, strip: Strip, width: Width) -> Self {
        let (low, high) = (strip.outputs.low - strip.start, strip.outputs.high - strip.start);
        Self { to, low, high, whole: high - high % width.piece }
    }

    /// Waits until the copy engine has read what the slot that is asked for next has held.
    ///
    /// # Safety
    /// All lanes call it, before every `Fetch::ask` for a slot of which a row was sent two rounds ago.
    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn wait() {
        if chip::is_sm_90() && !planted(Fault::NoWaitStoresRead) {
            // SAFETY: in a kernel; the last row's store may still be under way.
            unsafe { copy::wait_stores_read::<1>() };
        }
    }

    /// Waits until it has read all.
    ///
    /// # Safety
    /// All lanes call it before they end.
    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn finish() {
        if chip::is_sm_90() {
            // SAFETY: in a kernel.
            unsafe { copy::wait_stores_read::<0>() };
        }
    }

    /// Sends a row, and turns to the next one, `pitch` elements on. `slot` is where a row of the strip has been read.
    ///
    /// # Safety
    /// All 32 lanes call it. The columns are in bounds, the first of them at a multiple of 16 bytes, and no other warp has
    /// them; the slot is not asked for before [`Send::wait`] in the next round but one.
    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn row<const VECTOR: usize, const WORDS: usize>(
        &mut self,
        row: &[E::Real; VECTOR],
        slot: Shared,
        lane: u32,
        pitch: i64,
    ) {
        let parts = WORDS / 4;
        let columns = PIECE / E::BYTES;
        // SAFETY: as the caller promises.
        unsafe {
            let word = |index| E::word(row, index);
            let part = |part: usize| {
                [word(4 * part), word(4 * part + 1), word(4 * part + 2), word(4 * part + 3)]
            };
            if chip::is_sm_90() {
                let own = slot.offset(lane * parts as u32 * PIECE);
                for index in 0..parts {
                    shared::store_v4(own.offset(index as u32 * PIECE), part(index));
                }
                if !planted(Fault::NoFenceOfStores) {
                    copy::fence_shared();
                }
                warp::sync();
                if lane == 0 {
                    if self.whole > self.low {
                        let to = self.to.wrapping_offset(self.low as isize).cast();
                        let bytes = (self.whole - self.low) as u32 * E::BYTES;
                        copy::bulk_store(to, slot.offset(self.low as u32 * E::BYTES), bytes);
                    }
                    copy::commit_stores();
                }
            } else {
                for index in 0..parts {
                    let column = ((lane * parts as u32 + index as u32) * columns) as i32;
                    if column >= self.low && column < self.whole {
                        let at = self.to.wrapping_offset(column as isize).cast();
                        global::store_v4(at, part(index));
                    }
                }
            }
            if self.whole < self.high {
                for index in 0..VECTOR {
                    let column = (lane * VECTOR as u32 + index as u32) as i32;
                    if column >= self.whole && column >= self.low && column < self.high {
                        E::store(self.to.wrapping_offset(column as isize), row[index]);
                    }
                }
            }
        }
        self.to = self.to.wrapping_offset(pitch as isize);
    }
}
