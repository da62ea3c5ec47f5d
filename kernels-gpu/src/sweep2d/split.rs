// SPDX-License-Identifier: MIT OR Apache-2.0
//! f32: every value and every weight is the sum of three bf16 numbers.
//!
//! **Products.** `transform::split` says which six of the nine products of pieces are computed, and
//! what the others amount to. Each is an `mma.sp` m16n8k32 as of bf16 itself, in the order of K of
//! `halves`: half a chunk of f32 is 16 bytes, one load, and lanes of the second row load the halves in
//! the other order, so that a quarter of a warp meets in no bank. The order of the chunks in a product
//! is that of `quarters`, and so are the stores.
//!
//! **Sums.** The pieces of a row pair take 12 registers, so it is not kept: it is multiplied into the
//! sums of all output pairs that need it. Tensor cores cut sums off. A product of the leading pieces,
//! whose digits are few, is therefore taken by itself, where hardly anything is lost, and added by
//! CUDA cores, which round; the others, a hundredth of it, have a sum of their own.
//!
//! **Registers.** The three pieces of A take 24 registers at radius 1, 36 and 48 at radius 2 and 3. So at
//! radius 3 a multiprocessor has one block. Its few warps suffice because the products of a piece go to
//! `r + 1` sums in turn: none waits for the one before it.

use super::quarters::{Quarters, chunk};
use super::{Lane, Wanted, lead, row_bytes};
use crate::layout::{CHUNK, SHIFT};
use cuda_std::shared::Shared;
use cuda_std::{global, matrix, mma, shared, warp};

/// Pieces of a number. Products of pieces `i` and `j` are computed where `i + j` is less.
const PIECES: usize = 3;

/// Bytes of half a chunk.
const HALF: u32 = CHUNK / 2 * 4;

#[derive(Clone, Copy)]
pub(super) struct Split(Quarters);

/// A, for each piece and each step, and the metadata of all of them.
#[derive(Clone, Copy)]
pub(super) struct Operands<const STEPS: usize> {
    a: [[[u32; 4]; STEPS]; PIECES],
    metadata: u32,
}

/// The sums of a pair of output rows, as far as its input has come.
#[derive(Clone, Copy, Default)]
pub(super) struct Sums {
    leading: [f32; 4],
    small: [f32; 4],
}

impl Lane for Split {
    const BYTES: u32 = 4;

    type Operands<const STEPS: usize> = Operands<STEPS>;

    /// 8 neighbouring columns, the halves of a chunk in the order in which they are loaded.
    type Pair = [[u32; 4]; 2];

    /// Sums of the open output pairs; those that begin with input pair `p` in place `p % STEPS`.
    type Kept<const STEPS: usize> = [Sums; STEPS];

    type Inside = [bool; 2];

    #[inline(always)]
    fn new(lane: u32) -> Self {
        Self(Quarters::new(lane))
    }

    #[inline(always)]
    fn window(self) -> u32 {
        let Self(Quarters { group, pair }) = self;
        let column = CHUNK - SHIFT + (chunk(group) + pair % 2) * CHUNK;
        lead(Self::BYTES) + pair / 2 * row_bytes(Self::BYTES) + column * Self::BYTES
    }

    #[inline(always)]
    fn column(self) -> u32 {
        self.0.column()
    }

    #[inline(always)]
    fn inside(self, x: i32, nx: i32) -> [bool; 2] {
        self.0.inside(x, nx)
    }

    #[inline(always)]
    unsafe fn operands<const STEPS: usize>(fragments: *const u32, lane: u32) -> Operands<STEPS> {
        let word = |index: usize| {
            let at = index * warp::SIZE as usize + lane as usize;
            // SAFETY: the launch gives as many words for each lane, which nobody writes.
            unsafe { global::load_constant(fragments.add(at)) }
        };
        let fragment = |index: usize| core::array::from_fn(|i| word(4 * index + i));
        let steps = |piece| core::array::from_fn(|step| fragment(piece * STEPS + step));
        Operands { a: core::array::from_fn(steps), metadata: word(4 * PIECES * STEPS) }
    }

    #[inline(always)]
    fn nothing<const STEPS: usize>() -> [Sums; STEPS] {
        [Sums { leading: [0.0; 4], small: [0.0; 4] }; STEPS]
    }

    #[inline(always)]
    unsafe fn load(self, at: Shared) -> Self::Pair {
        let half = [self.0.pair / 2 * HALF, (1 - self.0.pair / 2) * HALF];
        // SAFETY: as the caller promises; windows start at multiples of 16 bytes.
        unsafe { [shared::load_v4(at.offset(half[0])), shared::load_v4(at.offset(half[1]))] }
    }

    #[inline(always)]
    unsafe fn take<const STEPS: usize, const NEWEST: usize>(
        operands: &Operands<STEPS>,
        kept: &mut [Sums; STEPS],
        rows: Self::Pair,
    ) -> [f32; 4] {
        // SAFETY: only in a kernel.
        let [first, second, third] = unsafe { pieces(rows) };
        // SAFETY: as the caller promises; the host's encoder orders the metadata.
        let product = |a: [u32; 4], values: [u32; 4], sum: [f32; 4]| unsafe {
            mma::sp_m16n8k32_bf16_f32(a, operands.metadata, values, sum)
        };
        let begun = |step: usize| (NEWEST + STEPS - step) % STEPS;
        kept[begun(0)] = Sums { leading: [0.0; 4], small: [0.0; 4] };
        // Five loops, because only loops of one level are unrolled for certain.
        let mut add_small = |piece: usize, values: [u32; 4]| {
            for step in 0..STEPS {
                let small = &mut kept[begun(step)].small;
                *small = product(operands.a[piece][step], values, *small);
            }
        };
        add_small(1, second);
        if STEPS < 4 {
            // Pieces are done with early, so that two blocks fit.
            add_small(0, second);
            add_small(0, third);
            add_small(1, first);
            add_small(2, first);
        } else {
            // The third piece is not waited for: 5 % faster.
            add_small(1, first);
            add_small(2, first);
            add_small(0, third);
            add_small(0, second);
        }
        for step in 0..STEPS {
            let leading = &mut kept[begun(step)].leading;
            *leading = add(*leading, product(operands.a[0][step], first, [0.0; 4]));
        }
        let Sums { leading, small } = kept[begun(STEPS - 1)];
        add(leading, small)
    }

    #[inline(always)]
    unsafe fn store(
        self,
        sum: [f32; 4],
        inside: [bool; 2],
        at: *mut u8,
        pitch: usize,
        wanted: Wanted,
    ) {
        // SAFETY: as the caller promises.
        unsafe { self.0.store(sum, inside, at, pitch, wanted) };
    }
}

#[inline(always)]
fn add(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]]
}

/// The pieces of 8 values, as `transform::split::pieces` makes them: B fragments.
///
/// # Safety
/// Only in a kernel.
#[inline(always)]
unsafe fn pieces(rows: [[u32; 4]; 2]) -> [[u32; 4]; PIECES] {
    let [[a, b, c, d], [e, f, g, h]] = rows;
    // SAFETY: only in a kernel.
    let [i, j, k, l] = [[a, b], [c, d], [e, f], [g, h]].map(|pair| unsafe { pieces_of(pair) });
    [[i[0], j[0], k[0], l[0]], [i[1], j[1], k[1], l[1]], [i[2], j[2], k[2], l[2]]]
}

/// The pieces of two values, each in a word.
///
/// # Safety
/// Only in a kernel.
#[inline(always)]
unsafe fn pieces_of([low, high]: [u32; 2]) -> [u32; PIECES] {
    let (low, high) = (f32::from_bits(low), f32::from_bits(high));
    // SAFETY: only in a kernel.
    let first = unsafe { matrix::pack_finite_bf16(low, high) };
    let (low, high) = less(low, high, first);
    // SAFETY: only in a kernel.
    let second = unsafe { matrix::pack_bf16(low, high) };
    let (low, high) = less(low, high, second);
    // They end there unless they are tiny: the upper halves.
    [first, second, low.to_bits() >> 16 | high.to_bits() & 0xffff_0000]
}

/// Two numbers less those in a word.
#[inline(always)]
fn less(low: f32, high: f32, word: u32) -> (f32, f32) {
    (low - f32::from_bits(word << 16), high - f32::from_bits(word & 0xffff_0000))
}
