// SPDX-License-Identifier: MIT OR Apache-2.0
//! The 16-bit element types, for kernels that are the same for both.

use cuda_std::{math, matrix, mma};

/// A 16-bit element type, with sums in f32.
pub trait Half: Copy {
    /// D = A·B + C of `m16n8k32`, A kept 2:4.
    ///
    /// # Safety
    /// All 32 lanes execute it; the metadata is ordered.
    unsafe fn product(a: [u32; 4], metadata: u32, b: [u32; 4], c: [f32; 4]) -> [f32; 4];

    /// Two sums rounded to the nearest, `low` into the lower half of the word.
    ///
    /// # Safety
    /// Only in a kernel.
    unsafe fn pack(low: f32, high: f32) -> u32;

    /// The two numbers in a word, that of its lower half first.
    ///
    /// # Safety
    /// Only in a kernel.
    unsafe fn unpack(word: u32) -> [f32; 2];
}

/// IEEE half precision.
#[derive(Clone, Copy, Debug)]
pub struct F16;

/// The upper half of an f32.
#[derive(Clone, Copy, Debug)]
pub struct Bf16;

macro_rules! half {
    ($($ty:ident: $product:ident, $pack:ident, $bits:ident => $widen:expr;)*) => {$(
        impl Half for $ty {
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            unsafe fn product(a: [u32; 4], metadata: u32, b: [u32; 4], c: [f32; 4]) -> [f32; 4] {
                // SAFETY: as the caller promises.
                unsafe { mma::$product(a, metadata, b, c) }
            }

            #[inline(always)]
            unsafe fn pack(low: f32, high: f32) -> u32 {
                // SAFETY: as the caller promises.
                unsafe { matrix::$pack(low, high) }
            }

            #[inline(always)]
            unsafe fn unpack(word: u32) -> [f32; 2] {
                [word as u16, (word >> 16) as u16].map(|$bits| $widen)
            }
        }
    )*};
}

half! {
    // SAFETY: as the caller promises.
    F16: sp_m16n8k32_f16_f32, pack_f16, bits => unsafe { math::f32_from_f16(bits) };
    Bf16: sp_m16n8k32_bf16_f32, pack_bf16, bits => f32::from_bits(u32::from(bits) << 16);
}
