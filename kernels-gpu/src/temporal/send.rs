// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a row of outputs goes to memory. Lanes store 16 bytes at a time, pieces of what they have. Where that is one
//! piece, a warp's store is of whole lines; where it is two, each store is of every other 16 bytes, and the two are
//! whole sectors together, which takes the L2 cache little longer. Where it is an odd number, sectors are of two lanes:
//! then the copy engine stores the row, on chips that have one, from the slot of the ring in which a row came
//! (`docs/decisions/0028-temporal-stores.md`).

use crate::boundary::Range;
use crate::element::Element;
use crate::fault::{Fault, planted};
use crate::unroll::unroll;
use cuda_std::shared::{self, Shared};
use cuda_std::{chip, copy, global, warp};

/// Words that a lane stores at a time.
const PIECE: usize = 4;

/// Whether the copy engine stores rows of which a lane has so many words.
#[inline(always)]
fn by_engine(words: usize) -> bool {
    chip::is_sm_90() && is_for_engine(words)
}

/// Whether sectors of such rows are of two lanes.
#[inline(always)]
pub(super) const fn is_for_engine(words: usize) -> bool {
    words / PIECE > 1 && words / PIECE % 2 == 1
}

/// Waits until the copy engine has read what the slot that is asked for next has held.
///
/// # Safety
/// All lanes call it, before every `Fetch::ask` for a slot from which a row was sent two rounds ago.
#[inline(always)]
#[track_caller]
pub(super) unsafe fn wait(words: usize) {
    if by_engine(words) && !planted(Fault::NoWaitStoresRead) {
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
pub(super) unsafe fn finish(words: usize) {
    if by_engine(words) {
        // SAFETY: in a kernel.
        unsafe { copy::wait_stores_read::<0>() };
    }
}

/// Which columns of a row are stored.
#[derive(Clone, Copy)]
pub(super) struct StoredColumns {
    /// They, counted from the first that a warp has.
    columns: Range,
    /// Which of its pieces a lane stores by itself: a bit for each.
    pieces: u32,
}

impl StoredColumns {
    /// These, of which the first is at a multiple of 16 bytes, and what is left of the last 16, counted from the first that
    /// a warp has. A lane has `VECTOR` columns, which are `WORDS`.
    #[inline(always)]
    pub(super) fn new<const VECTOR: usize, const WORDS: usize>(columns: Range, lane: u32) -> Self {
        let Range { low, high } = columns;
        let piece = (VECTOR * PIECE / WORDS) as i32;
        let first = (lane * VECTOR as u32) as i32;
        let mut pieces = 0;
        unroll!(index < WORDS / PIECE => {
            let column = first + index as i32 * piece;
            if column >= low && column < high {
                pieces |= 1 << index;
            }
        });
        Self { columns: Range { low, high: high + (piece - high % piece) % piece }, pieces }
    }

    /// Where [`StoredColumns::send`] wants a row, whose first column goes to `row`: there, or where the lane's own columns go.
    #[inline(always)]
    pub(super) fn start<T, const VECTOR: usize, const WORDS: usize>(
        row: *mut T,
        lane: u32,
    ) -> *mut T {
        if by_engine(WORDS) { row } else { row.wrapping_add((lane * VECTOR as u32) as usize) }
    }

    /// Sends a row to where [`StoredColumns::start`] says. `slot` is where a row of the warp has been read.
    ///
    /// # Safety
    /// All 32 lanes call it. The columns are in bounds, and no other warp has them; what lies beside the grid is zero. The
    /// slot is not asked for before [`wait`] in the next round but one.
    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn send<E: Element, const VECTOR: usize, const WORDS: usize>(
        &self,
        to: *mut E::Stored,
        row: &[E::Real; VECTOR],
        slot: Shared,
        lane: u32,
    ) {
        let Self { columns, pieces } = *self;
        // SAFETY: as the caller promises.
        unsafe {
            let word = |index| E::word(row, index);
            let piece = |piece: usize| {
                let first = PIECE * piece;
                [word(first), word(first + 1), word(first + 2), word(first + 3)]
            };
            if by_engine(WORDS) {
                let own = slot.offset(4 * lane * WORDS as u32);
                unroll!(index < WORDS / PIECE => {
                    shared::store_v4(own.offset(16 * index as u32), piece(index))
                });
                if !planted(Fault::NoFenceOfStores) {
                    copy::fence_shared();
                }
                warp::sync();
                if lane == 0 {
                    if columns.high > columns.low {
                        let bytes = columns.len() as u32 * E::BYTES;
                        let at = to.wrapping_offset(columns.low as isize).cast();
                        copy::bulk_store(at, slot.offset(columns.low as u32 * E::BYTES), bytes);
                    }
                    copy::commit_stores();
                }
            } else {
                unroll!(index < WORDS / PIECE => {
                    if pieces & 1 << index != 0 {
                        global::store_v4(to.cast::<u32>().wrapping_add(PIECE * index), piece(index));
                    }
                });
            }
        }
    }
}
