// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the stored types are computed with: f16 and bf16 in f32, each sum rounded once.

use fearless_simd::{Level, Simd, SimdBase, SimdFloat, SimdFloatElement, SimdFrom};
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use crate::at_level;
use problem::values::Element;

mod block;

pub use block::{BlockInput, ROWS};

/// The most sums that a register holds.
const MOST_LANES: usize = 16;

/// A type of stored values, and how to compute with them.
pub trait Storage: Element {
    /// The type of products and sums.
    type Sum: SimdFloatElement + Element;

    /// As many sums as a register holds.
    type Sums<S: Simd>: SimdFloat<S, Element = Self::Sum> + SimdFrom<Self::Sum, S>;

    /// As many stored values as factors; exact.
    fn widen<S: Simd>(simd: S, stored: &[Self]) -> Self::Sums<S>;

    /// Sums as they are stored: the nearest value, ties to even.
    fn round<S: Simd>(simd: S, sums: Self::Sums<S>, stored: &mut [Self]);
}

/// What [`crate::Passes::widen_row`] does.
pub fn widen_row<T: Storage>(level: Level, stored: &[T], wide: &mut [T::Sum]) {
    assert_eq!(stored.len(), wide.len(), "rows of one length");
    at_level!(level, simd => widen_by(simd, stored, wide));
}

#[inline(always)]
fn widen_by<T: Storage, S: Simd>(simd: S, stored: &[T], wide: &mut [T::Sum]) {
    let lanes = T::Sums::<S>::LEN;
    let (mut from, mut to) = (stored.chunks_exact(lanes), wide.chunks_exact_mut(lanes));
    for (from, to) in from.by_ref().zip(to.by_ref()) {
        T::widen(simd, from).store_slice(to);
    }
    let (from, to) = (from.remainder(), to.into_remainder());
    let mut padded = [T::default(); MOST_LANES];
    padded[..from.len()].copy_from_slice(from);
    to.copy_from_slice(&T::widen(simd, &padded[..lanes]).as_slice()[..to.len()]);
}

/// What [`crate::Passes::round_row`] does.
pub fn round_row<T: Storage>(level: Level, sums: &[T::Sum], stored: &mut [T]) {
    assert_eq!(stored.len(), sums.len(), "rows of one length");
    at_level!(level, simd => round_by(simd, sums, stored));
}

#[inline(always)]
fn round_by<T: Storage, S: Simd>(simd: S, sums: &[T::Sum], stored: &mut [T]) {
    let lanes = T::Sums::<S>::LEN;
    let vector = |values: &[T::Sum]| -> T::Sums<S> { SimdBase::from_slice(simd, values) };
    let (mut from, mut to) = (sums.chunks_exact(lanes), stored.chunks_exact_mut(lanes));
    for (from, to) in from.by_ref().zip(to.by_ref()) {
        T::round(simd, vector(from), to);
    }
    let (from, to) = (from.remainder(), to.into_remainder());
    let mut padded = [<T::Sum as Default>::default(); MOST_LANES];
    padded[..from.len()].copy_from_slice(from);
    let mut rounded = [T::default(); MOST_LANES];
    T::round(simd, vector(&padded[..lanes]), &mut rounded[..lanes]);
    to.copy_from_slice(&rounded[..to.len()]);
}

macro_rules! stored_as_computed {
    ($type:ty, $sums:ident) => {
        impl Storage for $type {
            type Sum = Self;
            type Sums<S: Simd> = S::$sums;

            #[inline(always)]
            fn widen<S: Simd>(simd: S, stored: &[Self]) -> S::$sums {
                SimdBase::from_slice(simd, stored)
            }

            #[inline(always)]
            fn round<S: Simd>(_: S, sums: S::$sums, stored: &mut [Self]) {
                sums.store_slice(stored);
            }
        }
    };
}
stored_as_computed!(f32, f32s);
stored_as_computed!(f64, f64s);

impl Storage for f16 {
    type Sum = f32;
    type Sums<S: Simd> = S::f32s;

    #[inline(always)]
    fn widen<S: Simd>(simd: S, stored: &[Self]) -> S::f32s {
        let mut sums = [0.0; MOST_LANES];
        let sums = &mut sums[..S::f32s::LEN];
        if !x86::widen(simd, stored, sums) {
            stored.convert_to_f32_slice(sums);
        }
        SimdBase::from_slice(simd, sums)
    }

    #[inline(always)]
    fn round<S: Simd>(simd: S, sums: S::f32s, stored: &mut [Self]) {
        if !x86::round(simd, sums.as_slice(), stored) {
            stored.convert_from_f32_slice(sums.as_slice());
        }
    }
}

/// The upper half of an f32: integer operations do it, in registers of any width.
impl Storage for bf16 {
    type Sum = f32;
    type Sums<S: Simd> = S::f32s;

    #[inline(always)]
    fn widen<S: Simd>(simd: S, stored: &[Self]) -> S::f32s {
        let mut sums = [0.0; MOST_LANES];
        let sums = &mut sums[..S::f32s::LEN];
        for (sum, value) in sums.iter_mut().zip(stored) {
            *sum = f32::from_bits(u32::from(value.to_bits()) << 16);
        }
        SimdBase::from_slice(simd, sums)
    }

    #[inline(always)]
    fn round<S: Simd>(_: S, sums: S::f32s, stored: &mut [Self]) {
        for (value, sum) in stored.iter_mut().zip(sums.as_slice()) {
            let bits = sum.to_bits();
            let upper = bits >> 16;
            // Half a unit of the last place, and a little less where the upper half is even.
            let nearest = bits.wrapping_add(0x7fff + (upper & 1)) >> 16;
            let quiet = upper | 0x40;
            *value = Self::from_bits(if sum.is_nan() { quiet } else { nearest } as u16);
        }
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

#[cfg(test)]
mod tests;
