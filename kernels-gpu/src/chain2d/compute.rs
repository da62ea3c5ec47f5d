// SPDX-License-Identifier: MIT OR Apache-2.0
//! The warps of one time step: from ring to ring.

use super::{Chain, ELEMENT, ROW_BYTES, STRIP, STRIPS};
use crate::fault::{Fault, planted};
use crate::half::Half;
use crate::layout::CHUNK;
use crate::ring::Ring;
use core::marker::PhantomData;
use cuda_std::shared::Shared;
use cuda_std::{copy, global, matrix, shared, thread, warp};

/// Words of A and metadata that a lane holds for one step of the product: 4 and 1.
const WORDS_PER_STEP: usize = 5;

/// A warp's share of one time step: consumes ring `step`, fills ring `step + 1`. With `HALF` its
/// windows start in the middle of a chunk; with `LAST` it writes what goes to global memory.
struct Step<H, const PAIRS: usize, const HALF: bool, const LAST: bool> {
    input: Ring,
    output: Ring,
    a: [[u32; 4]; PAIRS],
    metadata: [u32; PAIRS],
    /// The sums of the open output pairs; that of pair `o` in place `o % PAIRS`.
    sums: [[[f32; 4]; PAIRS]; STRIPS],
    /// B fragments of the row pair that comes next.
    next: [[u32; 4]; STRIPS],
    /// Byte offsets of the two halves of this lane's chunk.
    halves: [u32; 2],
    /// Byte offset of the chunk that this lane addresses for the warp's transposed store.
    target: u32,
    /// Which columns of this lane's packed words lie in the grid.
    keep: [u32; STRIPS],
    lane: u32,
    element: PhantomData<H>,
}

impl<H: Half, const PAIRS: usize, const HALF: bool, const LAST: bool> Step<H, PAIRS, HALF, LAST> {
    /// B fragments of both strips at this lane's place in a row pair.
    ///
    /// # Safety
    /// The place lies in a filled stage, aligned to a chunk, or half a chunk with `HALF`.
    #[inline(always)]
    unsafe fn load_pair(&mut self, at: Shared) {
        for strip in 0..STRIPS {
            let at = at.offset(strip as u32 * STRIP * ELEMENT);
            // SAFETY: as the caller promises.
            self.next[strip] = unsafe {
                if HALF {
                    let [a, b] = shared::load_v2(at.offset(self.halves[0]));
                    let [c, d] = shared::load_v2(at.offset(self.halves[1]));
                    [a, b, c, d]
                } else {
                    shared::load_v4(at)
                }
            };
        }
    }

    /// One stage of the input ring; `window` is the byte offset of this lane's first chunk.
    ///
    /// The first output pair of a tile is complete with the last row pair of its first stage: before,
    /// nothing is stored (`STORES`). What the last row pair of the last stage completes, nobody needs
    /// (`OPENS` an output stage). Constants, because the sums of `mma` have no scoreboard: at every
    /// branch the warp would wait for all of them.
    ///
    /// # Safety
    /// The whole warp calls it for stage after stage; the rings are set up.
    #[inline(always)]
    unsafe fn stage<const STORES: bool, const OPENS: bool>(&mut self, window: u32) {
        // SAFETY: as the caller promises; the lane's place lies in the filled stage, and the output
        // stage that the last pair opens is waited for here, away from the products.
        unsafe {
            if OPENS {
                let mut opened = self.output;
                if STORES {
                    opened.advance();
                }
                opened.wait_empty();
            }
            self.input.wait_full();
            let rows = self.input.data().offset(window);
            self.load_pair(rows);
            self.round::<0, STORES, OPENS>(rows);
            self.round::<1, STORES, OPENS>(rows);
            self.round::<2, STORES, OPENS>(rows);
            self.round::<3, STORES, OPENS>(rows);
        }
        self.input.advance();
    }

    /// Multiplies row pair `NEWEST` of a stage into all open sums and stores the one that it
    /// completes. A function of its own, because only so every index is a constant.
    ///
    /// # Safety
    /// Part of [`Self::stage`].
    #[inline(always)]
    unsafe fn round<const NEWEST: usize, const STORES: bool, const OPENS: bool>(
        &mut self,
        rows: Shared,
    ) {
        if NEWEST >= PAIRS {
            return;
        }
        let b = self.next;
        // SAFETY: as the caller promises; the whole warp leaves the stage after its last load.
        unsafe {
            if NEWEST + 1 < PAIRS {
                self.load_pair(rows.offset((NEWEST as u32 + 1) * 2 * ROW_BYTES));
            } else {
                warp::sync();
                if self.lane == 0 {
                    self.input.release();
                }
            }
        }
        // The sum that this pair completes comes first: it is needed soonest.
        for k in (0..PAIRS).rev() {
            let place = (NEWEST + PAIRS - k) % PAIRS;
            for (strip, &b) in b.iter().enumerate() {
                let sum = if k == 0 { [0.0; 4] } else { self.sums[strip][place] };
                // SAFETY: all lanes execute it; the host's encoder orders the metadata.
                self.sums[strip][place] =
                    unsafe { H::product(self.a[k], self.metadata[k], b, sum) };
            }
        }
        let done = (NEWEST + 1) % PAIRS;
        if if done == 0 { OPENS } else { STORES } {
            // SAFETY: all lanes take this branch.
            unsafe { self.store_pair(done) };
        }
    }

    /// Stores a complete pair of rows into the output ring.
    ///
    /// # Safety
    /// The whole warp calls it, for pairs 0, 1, … of stage after stage.
    #[inline(always)]
    unsafe fn store_pair(&mut self, pair: usize) {
        // SAFETY: the rows lie in a stage that has been waited for, and no other warp writes these
        // chunks of it; the stage is published when its last pair is written.
        unsafe {
            let rows = self.output.data().offset(self.target + pair as u32 * 2 * ROW_BYTES);
            for strip in 0..STRIPS {
                let [c0, c1, c2, c3] = self.sums[strip][pair];
                let upper = H::pack(c0, c1) & self.keep[strip];
                let lower = H::pack(c2, c3) & self.keep[strip];
                let at = rows.offset(strip as u32 * STRIP * ELEMENT);
                matrix::store_transposed_x2(at, upper, lower);
            }
            if pair == PAIRS - 1 {
                if LAST {
                    copy::fence_shared();
                }
                if !planted(Fault::NoSyncBeforePublish) {
                    warp::sync();
                }
                if self.lane == 0 {
                    self.output.publish();
                }
                self.output.advance();
            }
        }
    }
}

/// Sweeps tile after tile.
#[inline(always)]
pub(super) unsafe fn compute<
    H: Half,
    const RADIUS: u32,
    const PAIRS: usize,
    const HALF: bool,
    const LAST: bool,
>(
    launch: &Chain,
    fragments: *const u32,
    step: u32,
    part: u32,
) {
    const { assert!(PAIRS <= 4, "a stage is unrolled by hand") };
    // SAFETY: reads special registers.
    let (lane, blocks) = unsafe { (warp::lane_id(), thread::grid_dim_x()) };
    let (group, pair) = (lane / 4, lane % 4);
    let first_chunk = part * (STRIPS as u32 * STRIP / CHUNK);
    let half = CHUNK / 2 * ELEMENT;
    // The operand comes twice: for whole chunks, then for half chunks.
    let operand = if HALF { PAIRS * WORDS_PER_STEP * warp::SIZE as usize } else { 0 };
    let word = |k: usize, index: usize| {
        let at = operand + (k * WORDS_PER_STEP + index) * warp::SIZE as usize + lane as usize;
        // SAFETY: the launch gives 2 × PAIRS × WORDS_PER_STEP × 32 words, which nobody writes.
        unsafe { global::load_constant(fragments.add(at)) }
    };
    let mut a = [[0; 4]; PAIRS];
    let mut metadata = [0; PAIRS];
    for k in 0..PAIRS {
        a[k] = [word(k, 0), word(k, 1), word(k, 2), word(k, 3)];
        metadata[k] = word(k, 4);
    }
    let mut state = Step::<H, PAIRS, HALF, LAST> {
        input: launch.ring(RADIUS, step),
        output: launch.ring(RADIUS, step + 1),
        a,
        metadata,
        sums: [[[0.0; 4]; PAIRS]; STRIPS],
        next: [[0; 4]; STRIPS],
        halves: [pair / 2 * half, (1 - pair / 2) * half],
        // Lanes 0 to 7 address the upper row's chunks, 8 to 15 the lower row's.
        target: lane / 8 % 2 * ROW_BYTES + (first_chunk + lane % 8) * CHUNK * ELEMENT,
        keep: [u32::MAX; STRIPS],
        lane,
        element: PhantomData,
    };
    let window = pair / 2 * ROW_BYTES + (first_chunk + group + pair % 2) * CHUNK * ELEMENT;

    // SAFETY: reads a special register.
    let mut index = unsafe { thread::block_idx_x() };
    while index < launch.tiles(RADIUS) {
        let tile = launch.tile(RADIUS, index);
        let late = if step > 0 { 0 } else { launch.phase(&tile) + if HALF { half } else { 0 } };
        if LAST {
            // A packed word holds column `group` of chunks 2·pair and 2·pair + 1; columns right of
            // the grid become zeros, because the frame must stay zero.
            for strip in 0..STRIPS {
                let chunk = first_chunk + strip as u32 * (STRIP / CHUNK) + 2 * pair;
                let x = tile.x + (chunk * CHUNK + group) as i32;
                let low = if x < launch.nx { 0x0000_ffff } else { 0 };
                let high = if x + (CHUNK as i32) < launch.nx { 0xffff_0000 } else { 0 };
                state.keep[strip] = low | high;
            }
        }
        let stages = launch.tile_stages + launch.steps - step;
        // SAFETY: the rings are set up, and the producers fill as many stages: at least two.
        unsafe {
            state.stage::<false, true>(window + late);
            let mut stage = 2;
            while stage < stages {
                state.stage::<true, true>(window + late);
                stage += 1;
            }
            state.stage::<true, false>(window + late);
        }
        index += blocks;
    }
}
