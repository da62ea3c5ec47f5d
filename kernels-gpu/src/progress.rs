// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several time steps in one launch, without a barrier between them: the blocks know from counters in
//! global memory, one for each row of tiles, how far their neighbours have come.
//!
//! A tile of a step may start as soon as all tiles of the step before are finished that lie within its
//! reach: they wrote what it reads, and they have read what it overwrites, because the two grids take
//! turns as input and output.
//!
//! **Order.** Blocks take tiles in one order of all tiles of all steps ([`TileOrder`]): row by row, and
//! either step after step, so that a step starts while the last one still ends; or several steps as a
//! wavefront, each some rows behind the one before, so that it reads what the L2 cache still holds.
//!
//! **No deadlock.** A tile waits only for tiles that come before it in this order, and a block takes its
//! tiles in order: the first unfinished tile can always go on. But each block must run in the end without
//! another one leaving: a launch has no more blocks than fit the GPU at once.

use crate::fault::{Fault, planted};
use crate::overlap;
use crate::ring::Ring;
use cuda_std::{copy, global, thread, warp};

/// Tiles that a block's consumers may have finished before the signaller has counted them.
pub const UNCOUNTED: u32 = 1;

/// The order of all tiles of all steps. In a wavefront of `depth` steps, row `y` of a step comes right before
/// row `y - lag` of the next one.
#[derive(Clone, Copy, Debug)]
pub struct TileOrder {
    /// Rows of tiles.
    pub rows: u32,
    /// Tiles in a row.
    pub columns: u32,
    /// Time steps of the launch.
    pub steps: u32,
    /// Steps of a wavefront, at least 1; the last wavefront may have fewer.
    pub depth: u32,
    /// Larger than the reach of a tile, in rows of tiles, unless a wavefront has one step.
    pub lag: u32,
}

/// The tiles that a block takes: every so-many-th one, for as many blocks. Unless `MANY` the launch has
/// one step, and nothing is left of the others.
#[derive(Clone, Copy, Debug)]
pub struct Turns<const MANY: bool> {
    order: TileOrder,
    step: u32,
    row: u32,
    column: u32,
}

impl<const MANY: bool> Turns<MANY> {
    /// The block's first tile.
    ///
    /// # Safety
    /// Only in a kernel.
    #[inline(always)]
    #[must_use]
    pub unsafe fn new(order: TileOrder) -> Self {
        let mut turns = Self { order, step: 0, row: 0, column: 0 };
        turns.skip(thread::block_idx_x());
        turns
    }

    /// Whether there are no tiles left.
    #[inline(always)]
    #[must_use]
    pub fn is_over(&self) -> bool {
        if MANY { self.step >= self.order.steps } else { self.row >= self.order.rows }
    }

    /// The time step of the tile.
    #[inline(always)]
    #[must_use]
    pub fn step(&self) -> u32 {
        self.step
    }

    /// Whether others wait for the tile.
    #[inline(always)]
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        MANY && self.step + 1 < self.order.steps
    }

    /// The tile's row of tiles.
    #[inline(always)]
    #[must_use]
    pub fn row(&self) -> u32 {
        self.row
    }

    /// The tile's index in its row.
    #[inline(always)]
    #[must_use]
    pub fn column(&self) -> u32 {
        self.column
    }

    /// Goes on to the block's next tile.
    ///
    /// # Safety
    /// Only in a kernel.
    #[inline(always)]
    pub unsafe fn advance(&mut self) {
        self.skip(thread::grid_dim_x());
    }

    /// Goes on by some tiles of the order.
    #[inline(always)]
    fn skip(&mut self, tiles: u32) {
        let TileOrder { rows, columns, depth, .. } = self.order;
        let next = self.column + tiles;
        self.column = next % columns;
        if MANY && depth > 1 {
            return self.skip_rows(next / columns);
        }
        self.row += next / columns;
        while MANY && self.row >= rows {
            self.row -= rows;
            self.step += 1;
        }
    }

    /// Goes on by some rows of an order of wavefronts, which start at multiples of their depth.
    #[inline(always)]
    fn skip_rows(&mut self, count: u32) {
        let TileOrder { rows, steps, depth, lag, .. } = self.order;
        let mut left = count;
        let mut behind = self.step % depth;
        let mut first = self.step - behind;
        // The row that the first step has come to.
        let mut front = self.row + lag * behind;
        while left > 0 && first < steps {
            let depth = if depth < steps - first { depth } else { steps - first };
            behind += 1;
            if behind == depth {
                behind = 0;
                front += 1;
            }
            if front == rows + lag * (depth - 1) {
                front = 0;
                first += depth;
            }
            // Unless the step has no such row, yet or any longer.
            if front.wrapping_sub(lag * behind) < rows {
                left -= 1;
            }
        }
        self.step = first + behind;
        self.row = front.wrapping_sub(lag * behind);
    }
}

/// How many tiles of each row of tiles are finished, over all steps.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// A counter for each row of tiles.
    pub counters: *mut u32,
    /// What the counters held when the launch began; they count on, and wrap around.
    pub start: u32,
}

impl Progress {
    /// Producer: waits until all steps before a tile's are finished in its row of tiles and `reach`
    /// more above and below, 15 at most. What is copied then, by any lane, is what they wrote.
    ///
    /// # Safety
    /// The whole warp calls it, and has waited for the launch before.
    #[inline(always)]
    pub unsafe fn wait<const MANY: bool>(&self, turns: &Turns<MANY>, reach: u32) {
        if !MANY || turns.step == 0 || planted(Fault::NoWaitForRows) {
            return;
        }
        let finished = self.start.wrapping_add(turns.step * turns.order.columns);
        let (first, end) = (turns.row.saturating_sub(reach), turns.row + reach + 1);
        // SAFETY: there is a counter for each row of tiles. Lanes that issue copies fence them against
        // ordinary stores, other blocks' as well.
        unsafe {
            let row = first + warp::lane_id();
            if row < end && row < turns.order.rows {
                global::wait_at_least(self.counters.wrapping_add(row as usize), finished);
            }
            warp::sync();
            if !planted(Fault::NoFenceOfSteps) {
                copy::fence_global();
            }
        }
    }

    /// Signaller: counts the tiles that the block's consumers have finished, in all steps but the last one,
    /// for which nobody waits. A warp of its own does it, because counting takes as long as it takes to
    /// show all of a tile to the whole GPU.
    ///
    /// # Safety
    /// By one thread. `finished` is a ring of [`UNCOUNTED`] empty stages, with one arrival from each
    /// consumer warp for each tile of those steps.
    #[inline(always)]
    pub unsafe fn count(&self, mut finished: Ring, mut turns: Turns<true>) {
        // SAFETY: the counters are used by the launch before, too.
        unsafe { overlap::wait_before_stores() };
        while !turns.is_over() {
            let awaited = turns.is_awaited();
            let counter = self.counters.wrapping_add(turns.row as usize);
            // SAFETY: only in a kernel.
            unsafe { turns.advance() };
            if !awaited {
                continue;
            }
            // SAFETY: the ring is set up; the counter is valid. To have seen a stage full is to have
            // seen all that its publishers did before.
            unsafe {
                if !planted(Fault::EarlyCount) {
                    finished.wait_full();
                }
                if !planted(Fault::NoCount) {
                    global::add_release(counter, 1);
                }
                if planted(Fault::EarlyCount) {
                    finished.wait_full();
                }
                finished.release();
            }
            finished.advance();
        }
    }
}

/// Consumer: tells the signaller that this warp has finished a tile: read all of its input and stored its
/// output.
///
/// # Safety
/// The whole warp calls it; the ring is the one of [`Progress::count`].
#[inline(always)]
pub unsafe fn report(finished: &mut Ring) {
    // SAFETY: as the caller promises; lane 0 speaks for its warp.
    unsafe {
        if !planted(Fault::NoSyncBeforePublish) {
            warp::sync();
        }
        if warp::lane_id() == 0 {
            finished.wait_empty();
            finished.publish();
        }
    }
    finished.advance();
}
