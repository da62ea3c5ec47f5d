// SPDX-License-Identifier: MIT OR Apache-2.0
//! 16-bit types: a lane reads the halves of a chunk.
//!
//! One `mma.sp` m16n8k32 takes both input rows of a step. The B fragment of lane `4g + t` is 8
//! neighbouring columns: chunk `g + t % 2` of input row `t / 2`, counted from the window's start. That
//! is the middle of a chunk of memory, hence two 8-byte loads. Lanes of the second row load the halves
//! of their chunk in the other order, so that a warp's loads meet in no bank; `transform::window`
//! orders K alike.

use super::{Lane, RowMask, lead, metadata, row_bytes, words};
use crate::fault::{Fault, planted};
use crate::half::Half;
use crate::layout::{CHUNK, SHIFT};
use crate::product::HalfProduct;
use core::marker::PhantomData;
use cuda_std::shared::Shared;
use cuda_std::{global, matrix, shared};

/// Bytes of half a chunk.
const HALF: u32 = CHUNK / 2 * 2;

#[derive(Clone, Copy)]
pub(crate) struct Halves<P> {
    pub(crate) group: u32,
    pub(crate) pair: u32,
    product: PhantomData<P>,
}

impl<P: HalfProduct> Lane for Halves<P> {
    const BYTES: u32 = 2;

    type Operands<const STEPS: usize> = [(P::A, u32); STEPS];

    /// The B fragment.
    type Pair = [u32; 4];

    type Kept<const STEPS: usize> = [[u32; 4]; STEPS];

    /// A mask of a word of two columns.
    type Inside = u32;

    type Given = ();

    #[inline(always)]
    fn new(lane: u32, (): ()) -> Self {
        Self { group: lane / 4, pair: lane % 4, product: PhantomData }
    }

    #[inline(always)]
    fn window(self) -> u32 {
        let chunk = self.group + (self.pair + u32::from(planted(Fault::SwappedChunks))) % 2;
        let start = lead(Self::BYTES) + (CHUNK - SHIFT) * Self::BYTES;
        start + self.pair / 2 * row_bytes(Self::BYTES) + chunk * CHUNK * Self::BYTES
    }

    #[inline(always)]
    fn column(self) -> u32 {
        self.group * CHUNK + self.pair * 2
    }

    /// A word that is half outside gets a zero there, and one that is all outside is not stored.
    #[inline(always)]
    fn inside(self, x: i32, nx: i32) -> u32 {
        if x < 0 || x >= nx {
            0
        } else if x + 1 == nx {
            0x0000_ffff
        } else {
            0xffff_ffff
        }
    }

    #[inline(always)]
    unsafe fn operands<const STEPS: usize>(
        fragments: *const u32,
        lane: u32,
    ) -> Self::Operands<STEPS> {
        // SAFETY: the launch gives the words of each step.
        let word = unsafe { words::<P>(fragments, lane) };
        core::array::from_fn(|step| {
            let metadata = metadata::<P>(|index| word(step, index));
            let turned = if planted(Fault::MetadataHalf) { 16 } else { 0 };
            (P::operand(|index| word(step, index)), metadata.rotate_left(turned))
        })
    }

    #[inline(always)]
    fn nothing<const STEPS: usize>() -> Self::Kept<STEPS> {
        [[0; 4]; STEPS]
    }

    #[inline(always)]
    unsafe fn load(self, at: Shared) -> Self::Pair {
        let half = [self.pair / 2 * HALF, (1 - self.pair / 2) * HALF];
        // SAFETY: as the caller promises; windows start at multiples of 8 bytes.
        unsafe {
            let [a, b] = shared::load_v2(at.offset(half[0]));
            let [c, d] = shared::load_v2(at.offset(half[1]));
            [a, b, c, d]
        }
    }

    #[inline(always)]
    unsafe fn take<const STEPS: usize, const NEWEST: usize>(
        operands: &Self::Operands<STEPS>,
        kept: &mut Self::Kept<STEPS>,
        rows: Self::Pair,
    ) -> [f32; 4] {
        super::through_window::<STEPS, NEWEST, _>(kept, rows, |step, rows, sum| {
            let (a, metadata) = operands[step];
            // SAFETY: as the caller promises; the host's encoder orders the metadata.
            unsafe { P::multiply(a, metadata, rows, sum) }
        })
    }

    #[inline(always)]
    unsafe fn store(self, sum: [f32; 4], inside: u32, at: *mut u8, pitch: usize, wanted: RowMask) {
        // Rows of the sum are columns of the grid: transpose, so that a warp stores 128 consecutive
        // bytes.
        // SAFETY: all lanes execute it.
        let (upper, lower) = unsafe {
            let upper = matrix::transpose(P::Element::pack(sum[0], sum[1]));
            (upper, matrix::transpose(P::Element::pack(sum[2], sum[3])))
        };
        if inside != 0 && wanted.upper {
            // SAFETY: as the caller promises; words start at even columns.
            unsafe {
                global::store(at.cast(), upper & inside);
                if wanted.lower {
                    global::store(at.wrapping_add(pitch).cast(), lower & inside);
                }
            }
        }
    }
}
