// SPDX-License-Identifier: MIT OR Apache-2.0
//! tf32: a lane reads a quarter of a window, and stores single words.
//!
//! As [`crate::sweep2d::quarters`]: the order of the columns of a product lets a warp store 32
//! consecutive words, which meet in no bank. Sums are rounded once, when they are stored, not each time
//! they are loaded.

use super::{Link, row_bytes};
use crate::layout::CHUNK;
use crate::product::Product;
use crate::sweep2d::Lane;
use crate::sweep2d::quarters::{Quarters, chunk, rounded};
use cuda_std::shared::Shared;
use cuda_std::{math, shared};

impl<P: Product> Link for Quarters<P> {
    type Product = P;

    const MEETS: bool = false;

    #[inline(always)]
    fn source(self) -> u32 {
        let quarter = self.pair % 2 * 2 + self.pair / 2;
        (chunk(self.group) * CHUNK + 4 * quarter) * Self::BYTES
    }

    #[inline(always)]
    fn target(self) -> u32 {
        self.column() * Self::BYTES
    }

    #[inline(always)]
    unsafe fn load_grid(at: Shared) -> Self::Pair {
        // SAFETY: as the caller promises.
        unsafe { Self::load_kept(at).map(rounded) }
    }

    #[inline(always)]
    unsafe fn load_kept(at: Shared) -> Self::Pair {
        // SAFETY: as the caller promises; windows start at multiples of 16 bytes.
        unsafe { [shared::load_v4(at), shared::load_v4(at.offset(row_bytes(Self::BYTES)))] }
    }

    #[inline(always)]
    fn fragment(rows: Self::Pair, product: usize) -> [u32; 4] {
        rows[product]
    }

    #[inline(always)]
    unsafe fn keep<const LAST: bool>(self, at: Shared, sum: [f32; 4]) {
        let apart = self.apart() * Self::BYTES;
        // SAFETY: only in a kernel.
        let word = |sum: f32| if LAST { sum.to_bits() } else { unsafe { math::round_tf32(sum) } };
        // SAFETY: as the caller promises.
        unsafe {
            let lower = at.offset(row_bytes(Self::BYTES));
            shared::store(at, word(sum[0]));
            shared::store(at.offset(apart), word(sum[1]));
            shared::store(lower, word(sum[2]));
            shared::store(lower.offset(apart), word(sum[3]));
        }
    }
}
