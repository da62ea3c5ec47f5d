// SPDX-License-Identifier: MIT OR Apache-2.0
//! tf32, stored as f32: a lane reads a quarter of a window.
//!
//! An `mma.sp` m16n8k16 takes one input row: its window of 16 columns is 64 bytes, and the B fragment
//! of lane `4g + t` is one 16-byte load, quarter 0, 2, 1 or 3 of the window of column g for t = 0 to 3.
//! So the two slots of a pair, in lanes t and t + 1, are 8 columns apart.
//!
//! **Rounding.** The products ignore the low 13 bits of an f32, which would make every value too
//! small. Each is therefore rounded to the nearest tf32, ties to even, when it is loaded.
//!
//! **Columns.** Column g of a product is chunk g / 2 of the strip for even g, and one of chunks 4 to 7
//! for odd g (`transform::window::tf32_chunk`). A lane's sums belong to columns 2t and 2t + 1, so a
//! warp stores first the upper, then the lower 32 columns of a row, 128 consecutive bytes each, without
//! a transposition; and the windows that a quarter of a warp reads meet in no bank.

use super::{Lane, RowMask, lead, metadata, words};
use crate::layout::{CHUNK, SHIFT};
use crate::product::{Product, Tf32};
use core::marker::PhantomData;
use cuda_std::shared::Shared;
use cuda_std::{global, math, shared};

#[derive(Clone, Copy)]
pub(crate) struct Quarters<P = Tf32> {
    pub(crate) group: u32,
    pub(crate) pair: u32,
    product: PhantomData<P>,
}

/// Chunk of a strip that is column `n` of a product.
pub(crate) const fn chunk(n: u32) -> u32 {
    (n / 2) ^ (n % 2 * 6)
}

/// The words of a fragment, rounded to the nearest tf32.
#[inline(always)]
pub(crate) fn rounded(words: [u32; 4]) -> [u32; 4] {
    // SAFETY: only in a kernel.
    words.map(|word| unsafe { math::round_tf32(f32::from_bits(word)) })
}

impl<P> Quarters<P> {
    /// Columns from the lane's output in the left half of a strip to the one in the right half.
    #[inline(always)]
    pub(crate) fn apart(self) -> u32 {
        (chunk(2 * self.pair + 1) - chunk(2 * self.pair)) * CHUNK
    }
}

impl<P: Product> Lane for Quarters<P> {
    const BYTES: u32 = 4;

    /// A and metadata for either row.
    type Operands<const STEPS: usize> = [[(P::A, u32); 2]; STEPS];

    /// The B fragments of the two rows.
    type Pair = [[u32; 4]; 2];

    type Kept<const STEPS: usize> = [[[u32; 4]; 2]; STEPS];

    /// The outputs in the left and in the right half of a strip.
    type Inside = [bool; 2];

    type Given = ();

    #[inline(always)]
    fn new(lane: u32, (): ()) -> Self {
        Self { group: lane / 4, pair: lane % 4, product: PhantomData }
    }

    #[inline(always)]
    fn window(self) -> u32 {
        let quarter = self.pair % 2 * 2 + self.pair / 2;
        let column = CHUNK - SHIFT + chunk(self.group) * CHUNK + 4 * quarter;
        lead(Self::BYTES) + column * Self::BYTES
    }

    #[inline(always)]
    fn column(self) -> u32 {
        chunk(2 * self.pair) * CHUNK + self.group
    }

    #[inline(always)]
    fn inside(self, x: i32, nx: i32) -> [bool; 2] {
        [x < nx, x + (self.apart() as i32) < nx]
    }

    #[inline(always)]
    unsafe fn operands<const STEPS: usize>(
        fragments: *const u32,
        lane: u32,
    ) -> Self::Operands<STEPS> {
        // SAFETY: the launch gives the words of each row.
        let word = unsafe { words::<P>(fragments, lane) };
        let row =
            |row| (P::operand(|index| word(row, index)), metadata::<P>(|index| word(row, index)));
        core::array::from_fn(|step| [row(2 * step), row(2 * step + 1)])
    }

    #[inline(always)]
    fn nothing<const STEPS: usize>() -> Self::Kept<STEPS> {
        [[[0; 4]; 2]; STEPS]
    }

    #[inline(always)]
    unsafe fn load(self, at: Shared) -> Self::Pair {
        let row = |at: Shared| {
            // SAFETY: as the caller promises; windows start at multiples of 16 bytes.
            rounded(unsafe { shared::load_v4(at) })
        };
        [row(at), row(at.offset(super::row_bytes(Self::BYTES)))]
    }

    #[inline(always)]
    unsafe fn take<const STEPS: usize, const NEWEST: usize>(
        operands: &Self::Operands<STEPS>,
        kept: &mut Self::Kept<STEPS>,
        rows: Self::Pair,
    ) -> [f32; 4] {
        super::through_window::<STEPS, NEWEST, _>(kept, rows, |step, rows, sum| {
            let [(a, metadata), (next_a, next_metadata)] = operands[step];
            // SAFETY: as the caller promises; the host's encoder orders the metadata.
            unsafe {
                let sum = P::multiply(a, metadata, rows[0], sum);
                P::multiply(next_a, next_metadata, rows[1], sum)
            }
        })
    }

    #[inline(always)]
    unsafe fn store(
        self,
        sum: [f32; 4],
        inside: [bool; 2],
        at: *mut u8,
        pitch: usize,
        wanted: RowMask,
    ) {
        let apart = (self.apart() * Self::BYTES) as usize;
        let row = |wanted: bool, at: *mut u8, left: f32, right: f32| {
            // SAFETY: as the caller promises.
            unsafe {
                if wanted && inside[0] {
                    global::store(at.cast(), left.to_bits());
                }
                if wanted && inside[1] {
                    global::store(at.wrapping_add(apart).cast(), right.to_bits());
                }
            }
        };
        row(wanted.upper, at, sum[0], sum[1]);
        row(wanted.upper && wanted.lower, at.wrapping_add(pitch), sum[2], sum[3]);
    }
}
