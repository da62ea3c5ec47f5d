// SPDX-License-Identifier: MIT OR Apache-2.0
//! The warps that sum: from the ring to global memory.

use super::{ELEMENT, LEAD, ROW_BYTES, Reach, Segment, Sweep};
use crate::half::Half;
use crate::layout::{CHUNK, SHIFT, STRIP};
use crate::overlap;
use crate::ring::Ring;
use core::marker::PhantomData;
use cuda_std::{global, matrix, shared, warp};

/// Row pairs of outputs.
const PAIRS: usize = super::PAIRS as usize;

/// Words of A and metadata that a lane is given for one product: 4 and 1.
const WORDS_PER_STEP: usize = 5;

/// Bytes of half a chunk.
const HALF: u32 = CHUNK / 2 * ELEMENT;

/// A warp's share of the tile, 64 columns × `PAIRS` row pairs.
struct Part<E, const STEPS: usize, const DEPTH: usize, const DIAMOND: bool> {
    ring: Ring,
    /// A of each offset along z and row pair.
    a: [[[u32; 4]; STEPS]; DEPTH],
    metadata: u32,
    /// The sums of the open output planes; those of plane `z` in place `z % DEPTH`, counted from the
    /// first plane that the segment's first input plane reaches.
    sums: [[[f32; 4]; PAIRS]; DEPTH],
    /// Byte offset in a stage of this lane's window in the first row pair.
    window: u32,
    /// Byte offset of the window's halves.
    halves: [u32; 2],
    lane: u32,
    element: PhantomData<E>,
}

/// Where a lane stores.
struct Target {
    /// The lane's two columns of the warp's first row, in the plane that the next input plane
    /// completes.
    at: *mut u16,
    pitch: usize,
    /// Elements to the plane that is taken next.
    plane: isize,
    /// That plane, counted from the first of the segment: before it, and behind the last, nothing is
    /// stored.
    z: u32,
    planes: u32,
    /// Rows that exist; none if neither of the two columns does.
    rows: u32,
    /// Which of the columns exist: the halo beside the grid must stay zero, so a word that is half
    /// outside gets a zero there.
    keep: u32,
}

impl<E: Half, const STEPS: usize, const DEPTH: usize, const DIAMOND: bool>
    Part<E, STEPS, DEPTH, DIAMOND>
{
    /// Multiplies an input plane into all open sums and stores those that it completes. A function
    /// of its own, because only so every index is a constant.
    ///
    /// # Safety
    /// The whole warp calls it for plane after plane, with `PHASE` counting modulo `DEPTH`.
    #[inline(always)]
    unsafe fn plane<const PHASE: usize>(&mut self, target: &mut Target) {
        if PHASE >= DEPTH {
            return;
        }
        // SAFETY: the ring is set up, and the producer fills as many stages.
        unsafe { self.ring.wait_full() };
        // SAFETY: as the caller promises; the stage is filled.
        unsafe {
            self.row_pair::<PHASE, 0>();
            self.row_pair::<PHASE, 1>();
            self.row_pair::<PHASE, 2>();
            self.row_pair::<PHASE, 3>();
            self.row_pair::<PHASE, 4>();
        }
        // SAFETY: all lanes come here; the oldest plane is complete.
        unsafe { target.store::<E>(&self.sums[(PHASE + 1) % DEPTH]) };
        self.ring.advance();
    }

    /// Multiplies row pair `PAIR` of an input plane into all open sums. A constant, too.
    ///
    /// # Safety
    /// Part of [`Self::plane`]: the stage is filled.
    #[inline(always)]
    unsafe fn row_pair<const PHASE: usize, const PAIR: usize>(&mut self) {
        if PAIR >= PAIRS + STEPS - 1 {
            return;
        }
        let at = self.ring.data().offset(self.window + PAIR as u32 * 2 * ROW_BYTES);
        // SAFETY: the window lies in the stage, aligned to 8 bytes; the whole warp leaves the stage
        // after its last load.
        let b = unsafe {
            let [a, b] = shared::load_v2(at.offset(self.halves[0]));
            let [c, d] = shared::load_v2(at.offset(self.halves[1]));
            if PAIR == PAIRS + STEPS - 2 {
                warp::sync();
                if self.lane == 0 {
                    self.ring.release();
                }
            }
            [a, b, c, d]
        };
        // The sums that are needed soonest come first.
        self.products::<PHASE, PAIR, 2>(b);
        self.products::<PHASE, PAIR, 1>(b);
        self.products::<PHASE, PAIR, 0>(b);
    }

    /// Multiplies row pair `PAIR` into the outputs that are `STEP` pairs further up, in all planes.
    #[inline(always)]
    fn products<const PHASE: usize, const PAIR: usize, const STEP: usize>(&mut self, b: [u32; 4]) {
        if STEP >= STEPS || STEP > PAIR || PAIR - STEP >= PAIRS {
            return;
        }
        for offset in (0..DEPTH).rev() {
            let place = (PHASE + DEPTH - offset) % DEPTH;
            let sum = &mut self.sums[place][PAIR - STEP];
            if offset == 0 && STEP == 0 {
                *sum = [0.0; 4];
            }
            let reach = if DIAMOND { Reach::Diamond } else { Reach::Box };
            if !reach.meets(STEPS as i32 - 1, offset as i32, STEP as i32) {
                continue;
            }
            // SAFETY: all lanes execute it; the host's encoder orders the metadata.
            *sum = unsafe { E::product(self.a[offset][STEP], self.metadata, b, *sum) };
        }
    }
}

impl Target {
    /// Stores the sums of a plane and goes on to the next.
    ///
    /// # Safety
    /// The whole warp calls it; no other lane stores the words of this one.
    #[inline(always)]
    unsafe fn store<E: Half>(&mut self, sums: &[[f32; 4]; PAIRS]) {
        let rows = if self.z < self.planes { self.rows } else { 0 };
        let mut at = self.at;
        for (pair, sum) in sums.iter().enumerate() {
            let halves = [[sum[0], sum[1]], [sum[2], sum[3]]];
            for (row, [low, high]) in halves.into_iter().enumerate() {
                // Rows of the sum are columns of the grid: transpose, so that a warp stores 128
                // consecutive bytes.
                // SAFETY: all lanes execute it; row and columns belong to this lane alone.
                unsafe {
                    let word = matrix::transpose(E::pack(low, high));
                    if (2 * pair + row) < rows as usize {
                        global::store(at.cast(), word & self.keep);
                    }
                }
                at = at.wrapping_add(self.pitch);
            }
        }
        self.at = self.at.wrapping_offset(self.plane);
        self.z = self.z.wrapping_add(1);
    }
}

/// Computes one part of a segment.
///
/// # Safety
/// One whole warp of the launch that the kernel's contract describes, `warp` < [`super::WarpGrid::warps`].
#[inline(always)]
pub(super) unsafe fn compute<
    E: Half,
    const RADIUS: u32,
    const STEPS: usize,
    const DEPTH: usize,
    const DIAMOND: bool,
>(
    sweep: &Sweep,
    segment: &Segment,
    ring: Ring,
    fragments: *const u32,
    warp: u32,
) {
    const { assert!(DEPTH <= 5 && PAIRS + STEPS <= 6, "rounds and planes are unrolled by hand") };
    let lane = warp::lane_id();
    let (group, pair) = (lane / 4, lane % 4);
    let word = |product: usize, index: usize| {
        let at = (product * WORDS_PER_STEP + index) * warp::SIZE as usize + lane as usize;
        // SAFETY: the launch gives DEPTH × STEPS × WORDS_PER_STEP × 32 words, which nobody writes.
        unsafe { global::load_constant(fragments.add(at)) }
    };
    let mut a = [[[0; 4]; STEPS]; DEPTH];
    for (offset, a) in a.iter_mut().enumerate() {
        for (step, a) in a.iter_mut().enumerate() {
            // From the last plane on, the planes before are those behind.
            let offset = if sweep.upwards { DEPTH - 1 - offset } else { offset };
            let product = offset * STEPS + step;
            *a = [word(product, 0), word(product, 1), word(product, 2), word(product, 3)];
        }
    }
    let (strip, warp_row) = (warp % sweep.tile.across, warp / sweep.tile.across);
    let first_row = warp_row * 2 * PAIRS as u32;
    // Strips past the tile's last one read that one's chunks, and store nothing.
    let read = if strip < segment.strips { strip } else { segment.strips - 1 };
    // Lanes of the second row of a pair load the halves of their chunk in the other order, so that
    // a warp's 8-byte loads meet in no bank; `transform::window` orders K alike.
    let halves = [pair / 2 * HALF, (1 - pair / 2) * HALF];
    let window = (first_row + pair / 2) * ROW_BYTES
        + LEAD
        + (read * STRIP + CHUNK - SHIFT) * ELEMENT
        + (group + pair % 2) * CHUNK * ELEMENT;
    let mut part = Part::<E, STEPS, DEPTH, DIAMOND> {
        ring,
        a,
        metadata: word(0, 4),
        sums: [[[0.0; 4]; PAIRS]; DEPTH],
        window,
        halves,
        lane,
        element: PhantomData,
    };
    let column = strip * STRIP + group * CHUNK + pair * 2;
    let mut target = Target::new::<RADIUS>(sweep, segment, column, first_row);
    // SAFETY: the output is what the launch before reads.
    unsafe { overlap::wait_before_stores() };
    while (target.z as i32) < target.planes as i32 {
        // SAFETY: the whole warp comes here, and the producer fills as many stages.
        unsafe {
            part.plane::<0>(&mut target);
            part.plane::<1>(&mut target);
            part.plane::<2>(&mut target);
            part.plane::<3>(&mut target);
            part.plane::<4>(&mut target);
        }
    }
}

impl Target {
    /// For the lane whose columns and rows start so far from the tile's.
    #[inline(always)]
    fn new<const RADIUS: u32>(sweep: &Sweep, segment: &Segment, column: u32, row: u32) -> Self {
        let (x, y) = (segment.x + column as i32, segment.y + row as i32);
        let keep = if x + 1 == sweep.nx { 0x0000_ffff } else { 0xffff_ffff };
        // The first input plane completes the plane 2r before the segment.
        let before = 2 * RADIUS as i32;
        let plane = sweep.plane_rows as isize * sweep.pitch as isize;
        let exists = x < sweep.nx && y < sweep.ny;
        Self {
            at: sweep.output.wrapping_offset(sweep.offset(sweep.plane(segment, -before), y, x)),
            pitch: sweep.pitch as usize,
            plane: if sweep.upwards { -plane } else { plane },
            z: before.wrapping_neg() as u32,
            planes: segment.planes,
            rows: if exists { (sweep.ny - y) as u32 } else { 0 },
            keep,
        }
    }
}
