// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conversions of the types of 16 bits from and to f32.

use fearless_simd::Level;
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use super::Storage;
use crate::at_level;

/// A type of 16 bits that is computed with in f32.
pub trait Half: Storage<Sum = f32> {
    /// Stored values as factors; exact.
    fn widen(level: Level, stored: &[Self], wide: &mut [f32]);

    /// Sums as they are stored: the nearest value, ties to even.
    fn round(level: Level, sums: &[f32], stored: &mut [Self]);
}

impl Half for f16 {
    #[inline(never)]
    fn widen(level: Level, stored: &[Self], wide: &mut [f32]) {
        at_level!(level, simd => if !x86::widen(simd, stored, wide) {
            stored.convert_to_f32_slice(wide);
        });
    }

    #[inline(never)]
    fn round(level: Level, sums: &[f32], stored: &mut [Self]) {
        at_level!(level, simd => if !x86::round(simd, sums, stored) {
            stored.convert_from_f32_slice(sums);
        });
    }
}

/// The upper half of an f32: integer operations do it, in registers of any width.
impl Half for bf16 {
    #[inline(never)]
    fn widen(level: Level, stored: &[Self], wide: &mut [f32]) {
        at_level!(level, _simd => for (wide, value) in wide.iter_mut().zip(stored) {
            *wide = f32::from_bits(u32::from(value.to_bits()) << 16);
        });
    }

    #[inline(never)]
    fn round(level: Level, sums: &[f32], stored: &mut [Self]) {
        at_level!(level, _simd => for (value, sum) in stored.iter_mut().zip(sums) {
            let bits = sum.to_bits();
            let upper = bits >> 16;
            // Half a unit of the last place, and a little less where the upper half is even.
            let nearest = bits.wrapping_add(0x7fff + (upper & 1)) >> 16;
            let quiet = upper | 0x40;
            *value = Self::from_bits(if sum.is_nan() { quiet } else { nearest } as u16);
        });
    }
}

/// f16 by the instructions that x86 has for it.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{_mm256_cvtph_ps, _mm256_cvtps_ph, _mm512_cvtph_ps, _mm512_cvtps_ph};

    use bytemuck::cast;
    use fearless_simd::{Simd, kernel};
    use half::f16;

    /// To the nearest, ties to even.
    const NEAREST: i32 = 0;

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
