// SPDX-License-Identifier: MIT OR Apache-2.0
//! 16-bit types: a lane reads a chunk, and a warp stores transposed.
//!
//! As [`crate::sweep2d::halves`], except that windows start with chunks, so that a lane's fragment is one
//! 16-byte load; only the grid's may start in the middle of one.

use super::{Link, row_bytes};
use crate::half::Half;
use crate::layout::CHUNK;
use crate::product::HalfProduct;
use crate::sweep2d::Lane;
use crate::sweep2d::halves::Halves;
use cuda_std::shared::Shared;
use cuda_std::{matrix, shared};

impl<P: HalfProduct> Link for Halves<P> {
    type Product = P;

    const MEETS: bool = true;

    #[inline(always)]
    fn source(self) -> u32 {
        let chunk = self.group + self.pair % 2;
        self.pair / 2 * row_bytes(Self::BYTES) + chunk * CHUNK * Self::BYTES
    }

    #[inline(always)]
    fn target(self) -> u32 {
        // Lanes 0 to 7 address the upper row's chunks, 8 to 15 the lower row's.
        let lane = 4 * self.group + self.pair;
        lane / 8 % 2 * row_bytes(Self::BYTES) + lane % 8 * CHUNK * Self::BYTES
    }

    #[inline(always)]
    unsafe fn load_grid(at: Shared) -> [u32; 4] {
        // SAFETY: as the caller promises; windows start at multiples of 8 bytes.
        unsafe {
            let [a, b] = shared::load_v2(at);
            let [c, d] = shared::load_v2(at.offset(CHUNK / 2 * Self::BYTES));
            [a, b, c, d]
        }
    }

    #[inline(always)]
    unsafe fn load_kept(at: Shared) -> [u32; 4] {
        // SAFETY: as the caller promises.
        unsafe { shared::load_v4(at) }
    }

    #[inline(always)]
    fn fragment(rows: [u32; 4], _: usize) -> [u32; 4] {
        rows
    }

    #[inline(always)]
    unsafe fn keep<const LAST: bool>(self, at: Shared, sum: [f32; 4]) {
        // SAFETY: as the caller promises.
        unsafe {
            let (upper, lower) =
                (P::Element::pack(sum[0], sum[1]), P::Element::pack(sum[2], sum[3]));
            matrix::store_transposed_x2(at, upper, lower);
        }
    }
}
