// SPDX-License-Identifier: MIT OR Apache-2.0
//! f32: every value and every weight is the sum of three bf16 numbers.
//!
//! **Products.** `transform::split` says which six of the nine products of pieces are computed, and
//! what the others amount to. Each is an `mma.sp` m16n8k32 as of bf16 itself, in the order of K of
//! `halves`: half a chunk of f32 is 16 bytes, one load, and lanes of the second row load the halves in
//! the other order, so that a quarter of a warp meets in no bank. The order of the chunks in a product
//! is that of `quarters`.
//!
//! **Outputs.** Rows g and g + 8 of a product are neighbouring columns of one row
//! (`transform::window::split_output`), so that a lane stores two values at a time; a warp stores 128
//! consecutive bytes of either row.
//!
//! **Sums.** The pieces of a row pair take 12 registers, so it is not kept: it is multiplied into the
//! sums of all output pairs that need it. Tensor cores cut sums off. A product of the leading pieces,
//! whose digits are few, is therefore taken by itself, where hardly anything is lost, and added by
//! CUDA cores, which round; the others, a hundredth of it, have a sum of their own. The sums of an output
//! are added up in an order in which no one is rounded often: a + (b + small), (a + b) + (c + small), or
//! (a + b) + (c + (d + small)).
//!
//! **Instructions.** Each that is no product costs the tensor cores about 1.2 cycles, where a product
//! takes 8.1 (`docs/decisions/0011-split.md`): hence stores without branches, and loads at constant offsets.
//!
//! **Registers.** The three pieces of A take 24 registers at radius 1, 36 and 48 at radius 2 and 3. So at
//! radius 3 a multiprocessor has one block. Its few warps suffice because the products of a piece go to
//! `r + 1` sums in turn: none waits for the one before it.

use super::quarters::{Quarters, chunk};
use super::{Lane, RowMask, lead, row_bytes};
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
pub(super) struct SplitOperands<const STEPS: usize> {
    a: [[[u32; 4]; STEPS]; PIECES],
    metadata: u32,
}

/// The sums of a pair of output rows, as far as its input has come.
#[derive(Clone, Copy, Default)]
pub(super) struct PairSums {
    /// Of the leading products of the first two steps.
    early: [f32; 4],
    /// Of the leading product of the third step, if that step is not the last.
    late: [f32; 4],
    /// Of all others.
    small: [f32; 4],
}

impl Lane for Split {
    const BYTES: u32 = 4;

    type Operands<const STEPS: usize> = SplitOperands<STEPS>;

    /// 8 neighbouring columns, the halves of a chunk in the order in which they are loaded.
    type Pair = [[u32; 4]; 2];

    /// Sums of the open output pairs; those that begin with input pair `p` in place `p % STEPS`.
    type Kept<const STEPS: usize> = [PairSums; STEPS];

    /// A mask of the second of the lane's two columns, in the left and in the right half of a strip, and
    /// whether the first one lies in the grid.
    type Inside = [(bool, u32); 2];

    type Given = ();

    #[inline(always)]
    fn new(lane: u32, (): ()) -> Self {
        Self(Quarters::new(lane, ()))
    }

    #[inline(always)]
    fn window(self) -> u32 {
        let Self(Quarters { group, pair, .. }) = self;
        let column = CHUNK - SHIFT + (chunk(group) + pair % 2) * CHUNK;
        lead(Self::BYTES) + pair / 2 * (row_bytes(Self::BYTES) + HALF) + column * Self::BYTES
    }

    #[inline(always)]
    fn column(self) -> u32 {
        let Self(Quarters { group, pair, .. }) = self;
        chunk(2 * pair) * CHUNK + group % 4 * 2
    }

    #[inline(always)]
    fn row(self) -> u32 {
        self.0.group / 4
    }

    /// At radius 2, or 96 registers would not do.
    #[inline(always)]
    fn is_one_by_one(steps: usize) -> bool {
        steps == 3
    }

    #[inline(always)]
    fn inside(self, x: i32, nx: i32) -> [(bool, u32); 2] {
        let of = |x: i32| (x < nx, if x + 1 < nx { u32::MAX } else { 0 });
        [of(x), of(x + self.0.apart() as i32)]
    }

    #[inline(always)]
    unsafe fn operands<const STEPS: usize>(
        fragments: *const u32,
        lane: u32,
    ) -> SplitOperands<STEPS> {
        let word = |index: usize| {
            let at = index * warp::SIZE as usize + lane as usize;
            // SAFETY: the launch gives as many words for each lane, which nobody writes.
            unsafe { global::load_constant(fragments.add(at)) }
        };
        let fragment = |index: usize| core::array::from_fn(|i| word(4 * index + i));
        let steps = |piece| core::array::from_fn(|step| fragment(piece * STEPS + step));
        SplitOperands { a: core::array::from_fn(steps), metadata: word(4 * PIECES * STEPS) }
    }

    #[inline(always)]
    fn nothing<const STEPS: usize>() -> [PairSums; STEPS] {
        [PairSums { early: [0.0; 4], late: [0.0; 4], small: [0.0; 4] }; STEPS]
    }

    #[inline(always)]
    unsafe fn load(self, at: Shared) -> Self::Pair {
        // The other half: after it, in the second row before it.
        let other = Shared(at.0.wrapping_add(HALF.wrapping_sub(self.0.pair / 2 * 2 * HALF)));
        // SAFETY: as the caller promises; windows start at multiples of 16 bytes.
        unsafe { [shared::load_v4(at), shared::load_v4(other)] }
    }

    #[inline(always)]
    unsafe fn take<const STEPS: usize, const NEWEST: usize>(
        operands: &SplitOperands<STEPS>,
        kept: &mut [PairSums; STEPS],
        rows: Self::Pair,
    ) -> [f32; 4] {
        // SAFETY: only in a kernel.
        let [first, second, third] = unsafe { pieces(rows) };
        // SAFETY: as the caller promises; the host's encoder orders the metadata.
        let product = |a: [u32; 4], values: [u32; 4], sum: [f32; 4]| unsafe {
            mma::sp_m16n8k32_bf16_f32(a, operands.metadata, values, sum)
        };
        let begun = |step: usize| (NEWEST + STEPS - step) % STEPS;
        kept[begun(0)].small = [0.0; 4];
        // Five loops, because only loops of one level are unrolled for certain.
        let mut add_small = |piece: usize, values: [u32; 4]| {
            for step in 0..STEPS {
                let small = &mut kept[begun(step)].small;
                *small = product(operands.a[piece][step], values, *small);
            }
        };
        if STEPS < 4 {
            // In this order 96 registers do, and two blocks fit.
            add_small(1, first);
            add_small(2, first);
            add_small(1, second);
            add_small(0, second);
            add_small(0, third);
        } else {
            // The third piece is not waited for: 5 % faster.
            add_small(1, second);
            add_small(1, first);
            add_small(2, first);
            add_small(0, third);
            add_small(0, second);
        }
        let mut result = [0.0; 4];
        for step in 0..STEPS {
            let leading = product(operands.a[0][step], first, [0.0; 4]);
            let PairSums { early, late, small } = &mut kept[begun(step)];
            if step + 1 == STEPS {
                let rest = add(leading, *small);
                let rest = if step > 2 { add(*late, rest) } else { rest };
                result = add(*early, rest);
            } else if step == 0 {
                *early = leading;
            } else if step == 1 {
                *early = add(*early, leading);
            } else {
                *late = leading;
            }
        }
        result
    }

    #[inline(always)]
    unsafe fn store(
        self,
        sum: [f32; 4],
        inside: [(bool, u32); 2],
        at: *mut u8,
        _pitch: usize,
        wanted: RowMask,
    ) {
        let columns = |(is_inside, mask), at: *mut u8, first: f32, second: f32| {
            // SAFETY: as the caller promises; columns are even.
            unsafe {
                let words = [first.to_bits(), second.to_bits() & mask];
                global::store_v2_if(wanted.upper & is_inside, at.cast(), words);
            }
        };
        let right = at.wrapping_add((self.0.apart() * Self::BYTES) as usize);
        columns(inside[0], at, sum[0], sum[2]);
        columns(inside[1], right, sum[1], sum[3]);
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
    // SAFETY: only in a kernel.
    let third = unsafe { matrix::upper_halves(low.to_bits(), high.to_bits()) };
    [first, second, third]
}

/// Two numbers less those in a word.
#[inline(always)]
fn less(low: f32, high: f32, word: u32) -> (f32, f32) {
    (low - f32::from_bits(word << 16), high - f32::from_bits(word & 0xffff_0000))
}
