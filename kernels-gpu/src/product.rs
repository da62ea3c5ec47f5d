// SPDX-License-Identifier: MIT OR Apache-2.0
//! The products that a kernel may be made of: sparse, with A kept 2:4 (in tf32 1:2), or dense, of the same A with its
//! zeros. Both take the same fragment of B and add to the same sums, so that a kernel of one is one of the other.
//!
//! A dense instruction is half as deep as a sparse one: it takes two, the first of the upper half of B's rows, which
//! is the first two words of a lane (`transform::dense_operand` lays A out alike).

use crate::half::{Bf16, F16, Half};
use core::marker::PhantomData;
use cuda_std::mma;

/// Which products a kernel is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Of sparse ones.
    Sparse,
    /// Of dense ones.
    Dense,
}

/// D = A·B + C of a warp: 16 rows, 8 columns, and as many rows of B as 4 words of each lane hold.
pub trait Product: Copy {
    /// What a lane holds of A.
    type A: Copy + Default;

    /// The words of that.
    const WORDS: usize;

    /// Whether metadata says which slots A keeps; else it is not looked at.
    const IS_SPARSE: bool;

    /// A, of which `word` gives each word.
    fn operand(word: impl Fn(usize) -> u32) -> Self::A;

    /// A sparse product, or the first half of a dense one.
    ///
    /// # Safety
    /// All 32 lanes execute it; the metadata is ordered.
    unsafe fn begin(a: Self::A, metadata: u32, b: [u32; 4], c: [f32; 4]) -> [f32; 4];

    /// The other half of a dense one, which waits for the first: others should begin in between.
    ///
    /// # Safety
    /// All 32 lanes execute it.
    unsafe fn end(a: Self::A, b: [u32; 4], begun: [f32; 4]) -> [f32; 4];

    /// The product.
    ///
    /// # Safety
    /// All 32 lanes execute it; the metadata is ordered.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn multiply(a: Self::A, metadata: u32, b: [u32; 4], c: [f32; 4]) -> [f32; 4] {
        // SAFETY: as the caller promises.
        unsafe { Self::end(a, b, Self::begin(a, metadata, b, c)) }
    }
}

/// A product of numbers of 16 bits.
pub trait HalfProduct: Product {
    /// Their type.
    type Element: Half;
}

/// f32 of which 11 bits of precision count.
#[derive(Clone, Copy, Debug)]
pub struct Tf32;

/// Dense products of a type.
#[derive(Clone, Copy, Debug)]
pub struct Dense<T>(PhantomData<T>);

macro_rules! products {
    ($($ty:ident: $sparse:ident, $dense:ident;)*) => {$(
        impl Product for $ty {
            type A = [u32; 4];

            const WORDS: usize = 4;

            const IS_SPARSE: bool = true;

            #[inline(always)]
            fn operand(word: impl Fn(usize) -> u32) -> [u32; 4] {
                [word(0), word(1), word(2), word(3)]
            }

            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            unsafe fn begin(a: [u32; 4], metadata: u32, b: [u32; 4], c: [f32; 4]) -> [f32; 4] {
                // SAFETY: as the caller promises.
                unsafe { mma::$sparse(a, metadata, b, c) }
            }

            #[inline(always)]
            unsafe fn end(_: [u32; 4], _: [u32; 4], begun: [f32; 4]) -> [f32; 4] {
                begun
            }
        }

        impl Product for Dense<$ty> {
            type A = [u32; 8];

            const WORDS: usize = 8;

            const IS_SPARSE: bool = false;

            #[inline(always)]
            fn operand(word: impl Fn(usize) -> u32) -> [u32; 8] {
                [word(0), word(1), word(2), word(3), word(4), word(5), word(6), word(7)]
            }

            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            unsafe fn begin(a: [u32; 8], _: u32, b: [u32; 4], c: [f32; 4]) -> [f32; 4] {
                // SAFETY: as the caller promises.
                unsafe { mma::$dense([a[0], a[1], a[2], a[3]], [b[0], b[1]], c) }
            }

            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            unsafe fn end(a: [u32; 8], b: [u32; 4], begun: [f32; 4]) -> [f32; 4] {
                // SAFETY: as the caller promises.
                unsafe { mma::$dense([a[4], a[5], a[6], a[7]], [b[2], b[3]], begun) }
            }
        }
    )*};
}

products! {
    F16: sp_m16n8k32_f16_f32, m16n8k16_f16_f32;
    Bf16: sp_m16n8k32_bf16_f32, m16n8k16_bf16_f32;
    Tf32: sp_m16n8k16_tf32_f32, m16n8k8_tf32_f32;
}

impl<H: Half + Product> HalfProduct for H {
    type Element = H;
}

impl HalfProduct for Dense<F16> {
    type Element = F16;
}

impl HalfProduct for Dense<Bf16> {
    type Element = Bf16;
}
