// SPDX-License-Identifier: MIT OR Apache-2.0
//! The warps of one time step: from ring to ring.
//!
//! **Registers.** A pair of input rows adds to the sums of `PAIRS` = r + 1 output pairs. The sums of output
//! pair o are in place o % `PAIRS`, so that nothing is moved; a stage is `PAIRS` rounds, which are
//! unrolled, so that each place is a constant. Of radius 2, where output pair o takes input pairs o, o + 1
//! and o + 2 by `a[k]`, k = 0, 1 and 2:
//!
//! ```text
//! round, NEWEST   0              1              2              0 again
//! input pair      3              4              5              6
//! sums, place 0   3 begins, k=0  3, k=1         3 ends, k=2    6 begins, k=0
//! sums, place 1   1 ends, k=2    4 begins, k=0  4, k=1         4 ends, k=2
//! sums, place 2   2, k=1         2 ends, k=2    5 begins, k=0  5, k=1
//! stored          1              2              3              4
//! ```

use super::{Chain, Link, SECTOR, STRIP, STRIPS, row_bytes};
use crate::fault::{Fault, planted};
use crate::layout::SHIFT;
use crate::product::Product;
use crate::ring::Ring;
use crate::sweep2d::{metadata, words};
use cuda_std::shared::Shared;
use cuda_std::{copy, warp};

/// A warp's share of one time step: consumes ring `step`, fills ring `step + 1`. The `FIRST` step
/// reads loaded rows, with `GRID` in a way of their own; the `LAST` one writes what goes to global memory.
struct Step<
    L: Link,
    const PAIRS: usize,
    const PRODUCTS: usize,
    const FIRST: bool,
    const GRID: bool,
    const LAST: bool,
> {
    place: L,
    input: Ring,
    output: Ring,
    a: [[<L::Product as Product>::A; PRODUCTS]; PAIRS],
    metadata: u32,
    /// The sums of the open output pairs; that of pair `o` in place `o % PAIRS`.
    sums: [[[f32; 4]; PAIRS]; STRIPS],
    /// B fragments of the row pair that comes next.
    next: [L::Pair; STRIPS],
    /// Bytes to the lane's place in the warp's stores, from the start of a pair of rows.
    target: u32,
}

impl<
    L: Link,
    const PAIRS: usize,
    const PRODUCTS: usize,
    const FIRST: bool,
    const GRID: bool,
    const LAST: bool,
> Step<L, PAIRS, PRODUCTS, FIRST, GRID, LAST>
{
    /// B fragments of both strips at this lane's place in a row pair.
    ///
    /// # Safety
    /// The place lies in a filled stage.
    #[inline(always)]
    unsafe fn load_pair(&mut self, at: Shared) {
        for strip in 0..STRIPS {
            let at = at.offset(strip as u32 * STRIP * L::BYTES);
            // SAFETY: as the caller promises.
            self.next[strip] = unsafe { if GRID { L::load_grid(at) } else { L::load_kept(at) } };
        }
    }

    /// So many stages.
    ///
    /// # Safety
    /// As [`Self::stage`].
    #[inline(always)]
    unsafe fn stages(&mut self, mut stages: u32, window: u32) {
        while stages > 0 {
            // SAFETY: as the caller promises.
            unsafe { self.stage(window) };
            stages -= 1;
        }
    }

    /// One stage of the input ring, which completes one of the output ring; `window` is the byte offset
    /// of this lane's first chunk. All waits come before the first product, because the sums of `mma`
    /// have no scoreboard: at every branch the warp would wait for all of them.
    ///
    /// # Safety
    /// The whole warp calls it for stage after stage; the rings are set up.
    #[inline(always)]
    unsafe fn stage(&mut self, window: u32) {
        // SAFETY: as the caller promises; the lane's place lies in the filled stage.
        unsafe {
            self.input.wait_full();
            let rows = self.input.data().offset(window);
            self.load_pair(rows);
            self.output.wait_empty();
            self.round::<0>(rows);
            self.round::<1>(rows);
            self.round::<2>(rows);
            self.round::<3>(rows);
        }
        self.input.advance();
        if FIRST {
            self.output.advance();
        } else {
            // Rings of as many stages: one place in both.
            self.output.follow(&self.input);
        }
    }

    /// Multiplies row pair `NEWEST` of a stage into all open sums and stores the one that it
    /// completes. A function of its own, because only so every index is a constant.
    ///
    /// # Safety
    /// Part of [`Self::stage`].
    #[inline(always)]
    unsafe fn round<const NEWEST: usize>(&mut self, rows: Shared) {
        if NEWEST >= PAIRS {
            return;
        }
        let b = self.next;
        // SAFETY: as the caller promises; a lane leaves the stage after its last load.
        unsafe {
            if NEWEST + 1 < PAIRS {
                self.load_pair(rows.offset((NEWEST as u32 + 1) * 2 * row_bytes(L::BYTES)));
            } else {
                if L::MEETS {
                    warp::sync();
                }
                self.input.release();
            }
        }
        for product in 0..PRODUCTS {
            // The sum that this pair completes comes first: it is needed soonest.
            for k in (0..PAIRS).rev() {
                let place = (NEWEST + PAIRS - k) % PAIRS;
                let (a, fresh) = (self.a[k][product], k == 0 && product == 0);
                for (strip, &rows) in b.iter().enumerate() {
                    let sum = if fresh { [0.0; 4] } else { self.sums[strip][place] };
                    let b = L::fragment(rows, product);
                    // SAFETY: all lanes execute it; the host's encoder orders the metadata.
                    self.sums[strip][place] =
                        unsafe { L::Product::begin(a, self.metadata, b, sum) };
                }
            }
            if !L::Product::IS_SPARSE {
                for k in (0..PAIRS).rev() {
                    let (place, a) = ((NEWEST + PAIRS - k) % PAIRS, self.a[k][product]);
                    for (strip, &rows) in b.iter().enumerate() {
                        let (b, sum) = (L::fragment(rows, product), self.sums[strip][place]);
                        // SAFETY: all lanes execute it.
                        self.sums[strip][place] = unsafe { L::Product::end(a, b, sum) };
                    }
                }
            }
        }
        // SAFETY: as the caller promises.
        unsafe { self.store_pair::<NEWEST>() };
    }

    /// Stores the complete sums into the output ring, as pair `NEWEST` of a stage.
    ///
    /// # Safety
    /// The whole warp calls it, for pairs 0, 1, … of stage after stage.
    #[inline(always)]
    unsafe fn store_pair<const NEWEST: usize>(&mut self) {
        // SAFETY: the rows lie in a stage that has been waited for, and no other warp writes these
        // chunks of it; the stage is published when its last pair is written.
        unsafe {
            let rows =
                self.output.data().offset(self.target + NEWEST as u32 * 2 * row_bytes(L::BYTES));
            if NEWEST == PAIRS - 1 && planted(Fault::NoSyncBeforePublish) {
                self.output.publish();
            }
            for strip in 0..STRIPS {
                let at = rows.offset(strip as u32 * STRIP * L::BYTES);
                self.place.keep::<LAST>(at, self.sums[strip][(NEWEST + 1) % PAIRS]);
            }
            if NEWEST == PAIRS - 1 {
                if LAST && !planted(Fault::NoFenceOfStores) {
                    copy::fence_shared();
                }
                if L::MEETS {
                    warp::sync();
                }
                if !planted(Fault::NoSyncBeforePublish) {
                    self.output.publish();
                }
            }
        }
    }
}

/// Sweeps tile after tile; all but the first step need not know where they are.
#[inline(always)]
pub(super) unsafe fn compute<
    L: Link,
    const RADIUS: u32,
    const PAIRS: usize,
    const PRODUCTS: usize,
    const FIRST: bool,
    const GRID: bool,
    const LAST: bool,
>(
    launch: &Chain,
    fragments: *const u32,
    step: u32,
    part: u32,
) {
    const { assert!(PAIRS <= 4, "a stage is unrolled by hand") };
    let lane = warp::lane_id();
    let place = L::new(lane, ());
    let strip = part * STRIPS as u32 * STRIP;
    // SAFETY: the launch gives the words of each product.
    let word = unsafe { words::<L::Product>(fragments, lane) };
    let mut a = [[Default::default(); PRODUCTS]; PAIRS];
    for (k, a) in a.as_flattened_mut().iter_mut().enumerate() {
        *a = L::Product::operand(|index| word(k, index));
    }
    let mut state = Step::<L, PAIRS, PRODUCTS, FIRST, GRID, LAST> {
        place,
        input: launch.ring(RADIUS, step),
        output: launch.ring(RADIUS, step + 1),
        a,
        // All products have one metadata word.
        metadata: metadata::<L::Product>(|index| word(0, index)),
        sums: [[[0.0; 4]; PAIRS]; STRIPS],
        next: [L::Pair::default(); STRIPS],
        target: strip * L::BYTES + place.target(),
    };
    let window = strip * L::BYTES + place.source();

    let late = if GRID && launch.is_late() { SHIFT * L::BYTES } else { 0 };
    let mut span = launch.span(RADIUS);
    // Where columns of tiles start alike, one loop is enough, and needs fewer registers.
    if FIRST && !(launch.tile_columns() * L::BYTES).is_multiple_of(SECTOR) {
        while span.next < span.end {
            let tile = launch.tile(RADIUS, &mut span);
            let window = window + late + launch.phase(tile.x);
            // SAFETY: the rings are set up, and the producers fill as many stages.
            unsafe { state.stages(launch.stages(RADIUS, &tile), window) };
        }
    } else {
        let mut stages = 0;
        while span.next < span.end {
            let tile = launch.tile(RADIUS, &mut span);
            stages += launch.stages(RADIUS, &tile);
        }
        let window = if FIRST { window + late + launch.phase(0) } else { window };
        // SAFETY: as above.
        unsafe { state.stages(stages, window) };
    }
}
