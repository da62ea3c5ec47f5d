// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the stored types are computed with: f16 and bf16 in f32, each sum rounded once.

use std::ops::{Add, Mul};

use fearless_simd::Simd;
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use crate::values::Element;

mod row;

pub use row::Row;

/// A type of stored values, and how to compute with them.
pub trait Storage: Element {
    /// The type of products and sums.
    type Sum: Element + Add<Output = Self::Sum> + Mul<Output = Self::Sum>;

    /// Stored values as factors; exact.
    fn widen<S: Simd, const N: usize>(simd: S, stored: &[Self; N]) -> [Self::Sum; N];

    /// Sums as they are stored: the nearest value, ties to even.
    fn round<S: Simd, const N: usize>(simd: S, sums: [Self::Sum; N]) -> [Self; N];

    /// Computes a row in blocks whose sums fill eight registers.
    fn row<S: Simd>(simd: S, row: Row<Self>);
}

macro_rules! row {
    ($wide:literal, $narrow:literal) => {
        #[inline(always)]
        fn row<S: Simd>(simd: S, row: Row<Self>) {
            if has_avx512(simd) {
                row.compute::<S, $wide>(simd);
            } else {
                row.compute::<S, $narrow>(simd);
            }
        }
    };
}

macro_rules! stored_as_computed {
    ($type:ty, $wide:literal, $narrow:literal) => {
        impl Storage for $type {
            type Sum = Self;

            #[inline(always)]
            fn widen<S: Simd, const N: usize>(_: S, stored: &[Self; N]) -> [Self; N] {
                *stored
            }

            #[inline(always)]
            fn round<S: Simd, const N: usize>(_: S, sums: [Self; N]) -> [Self; N] {
                sums
            }

            row!($wide, $narrow);
        }
    };
}
stored_as_computed!(f32, 128, 64);
stored_as_computed!(f64, 64, 32);

impl Storage for f16 {
    type Sum = f32;

    #[inline(always)]
    fn widen<S: Simd, const N: usize>(simd: S, stored: &[Self; N]) -> [f32; N] {
        let mut sums = [0.0; N];
        if !x86::widen(simd, stored, &mut sums) {
            stored.convert_to_f32_slice(&mut sums);
        }
        sums
    }

    #[inline(always)]
    fn round<S: Simd, const N: usize>(simd: S, sums: [f32; N]) -> [Self; N] {
        let mut stored = [Self::ZERO; N];
        if !x86::round(simd, &sums, &mut stored) {
            stored.convert_from_f32_slice(&sums);
        }
        stored
    }

    row!(128, 64);
}

/// The upper half of an f32: integer operations do it, in registers of any width.
impl Storage for bf16 {
    type Sum = f32;

    #[inline(always)]
    fn widen<S: Simd, const N: usize>(_: S, stored: &[Self; N]) -> [f32; N] {
        stored.map(|value| f32::from_bits(u32::from(value.to_bits()) << 16))
    }

    #[inline(always)]
    fn round<S: Simd, const N: usize>(_: S, sums: [f32; N]) -> [Self; N] {
        sums.map(|sum| {
            let bits = sum.to_bits();
            let upper = bits >> 16;
            // Half a unit of the last place, and a little less where the upper half is even.
            let nearest = bits.wrapping_add(0x7fff + (upper & 1)) >> 16;
            let quiet = upper | 0x40;
            Self::from_bits(if sum.is_nan() { quiet } else { nearest } as u16)
        })
    }

    row!(128, 64);
}

#[cfg(target_arch = "x86_64")]
use x86::has_avx512;

/// f16 by the instructions that x86 has for it.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{_mm256_cvtph_ps, _mm256_cvtps_ph, _mm512_cvtph_ps, _mm512_cvtps_ph};

    use bytemuck::cast;
    use fearless_simd::{Simd, kernel};
    use half::f16;

    /// To the nearest, ties to even.
    const NEAREST: i32 = 0;

    #[inline(always)]
    pub fn has_avx512(simd: impl Simd) -> bool {
        simd.level().as_avx512().is_some()
    }

    kernel!(
        #[inline(always)]
        fn widen_16(avx512: Avx512, stored: [f16; 16]) -> [f32; 16] {
            cast(_mm512_cvtph_ps(cast(stored)))
        }
    );
    kernel!(
        #[inline(always)]
        fn round_16(avx512: Avx512, sums: [f32; 16]) -> [f16; 16] {
            cast(_mm512_cvtps_ph::<NEAREST>(cast(sums)))
        }
    );
    kernel!(
        #[inline(always)]
        fn widen_8(avx2: Avx2, stored: [f16; 8]) -> [f32; 8] {
            cast(_mm256_cvtph_ps(cast(stored)))
        }
    );
    kernel!(
        #[inline(always)]
        fn round_8(avx2: Avx2, sums: [f32; 8]) -> [f16; 8] {
            cast(_mm256_cvtps_ph::<NEAREST>(cast(sums)))
        }
    );

    /// Whether it has widened the values.
    #[inline(always)]
    pub fn widen(simd: impl Simd, stored: &[f16], sums: &mut [f32]) -> bool {
        let level = simd.level();
        let Some(avx2) = level.as_avx2() else { return false };
        match level.as_avx512() {
            Some(avx512) => by_16_and_8(
                stored,
                sums,
                #[inline(always)]
                |values| widen_16(avx512, values),
                #[inline(always)]
                |values| widen_8(avx2, values),
            ),
            None => by_8(
                stored,
                sums,
                #[inline(always)]
                |values| widen_8(avx2, values),
            ),
        }
        true
    }

    /// Whether it has rounded the values.
    #[inline(always)]
    pub fn round(simd: impl Simd, sums: &[f32], stored: &mut [f16]) -> bool {
        let level = simd.level();
        let Some(avx2) = level.as_avx2() else { return false };
        match level.as_avx512() {
            Some(avx512) => by_16_and_8(
                sums,
                stored,
                #[inline(always)]
                |values| round_16(avx512, values),
                #[inline(always)]
                |values| round_8(avx2, values),
            ),
            None => by_8(
                sums,
                stored,
                #[inline(always)]
                |values| round_8(avx2, values),
            ),
        }
        true
    }

    #[inline(always)]
    fn by_16_and_8<A: Copy + Default, B: Copy>(
        from: &[A],
        to: &mut [B],
        sixteen: impl Fn([A; 16]) -> [B; 16],
        eight: impl Fn([A; 8]) -> [B; 8],
    ) {
        let ((from, rest), (to, left)) = (from.as_chunks(), to.as_chunks_mut());
        from.iter().zip(to).for_each(|(from, to)| *to = sixteen(*from));
        by_8(rest, left, eight);
    }

    /// Fewer than eight at the end are converted with zeros behind them.
    #[inline(always)]
    fn by_8<A: Copy + Default, B: Copy>(
        from: &[A],
        to: &mut [B],
        eight: impl Fn([A; 8]) -> [B; 8],
    ) {
        let ((from, rest), (to, left)) = (from.as_chunks(), to.as_chunks_mut());
        from.iter().zip(to).for_each(|(from, to)| *to = eight(*from));
        if !rest.is_empty() {
            let mut padded = [A::default(); 8];
            padded[..rest.len()].copy_from_slice(rest);
            left.copy_from_slice(&eight(padded)[..left.len()]);
        }
    }
}

/// Nothing on other processors: `half` knows those that convert by themselves.
#[cfg(not(target_arch = "x86_64"))]
mod x86 {
    use fearless_simd::Simd;
    use half::f16;

    pub fn widen(_: impl Simd, _: &[f16], _: &mut [f32]) -> bool {
        false
    }

    pub fn round(_: impl Simd, _: &[f32], _: &mut [f16]) -> bool {
        false
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx512(_: impl Simd) -> bool {
    false
}

#[cfg(test)]
mod tests;
