// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conversions against those of `half`, one value at a time, in every instruction set.

use fearless_simd::{Level, dispatch};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

fn levels() -> Vec<Level> {
    let best = Level::new();
    #[cfg(target_arch = "x86_64")]
    let lesser = [best.as_avx2().map(Simd::level), best.as_sse2().map(Simd::level)];
    #[cfg(not(target_arch = "x86_64"))]
    let lesser: [Option<Level>; 0] = [];
    std::iter::once(best).chain(lesser.into_iter().flatten()).collect()
}

/// Values that fill whole registers of every size.
const N: usize = MOST_LANES;

/// Values around ties, at both ends of the range of f16 and of bf16, and any others.
fn sums() -> Vec<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut sums: Vec<f32> = (0..200_000).map(|_| f32::from_bits(rng.next_u32())).collect();
    for upper in 0..=u16::MAX {
        let (half, brain) = (f16::from_bits(upper).to_f32(), bf16::from_bits(upper).to_f32());
        // The tie between this value and the next one of the type, and its neighbours.
        let tie = |value: f32, next: f32| ((f64::from(value) + f64::from(next)) / 2.0) as f32;
        let next = f16::from_bits(upper.wrapping_add(1)).to_f32();
        for tie in [tie(half, next), f32::from_bits(brain.to_bits() | 0x8000)] {
            sums.extend([tie, tie.next_up(), tie.next_down()]);
        }
    }
    sums
}

#[inline(always)]
fn round<T: Storage<Sum = f32>, S: Simd>(simd: S, sums: &[f32; N], stored: &mut [T; N]) {
    let lanes = T::Sums::<S>::LEN;
    for (sums, stored) in sums.chunks(lanes).zip(stored.chunks_mut(lanes)) {
        T::round(simd, SimdBase::from_slice(simd, sums), stored);
    }
}

#[inline(always)]
fn widen<T: Storage<Sum = f32>, S: Simd>(simd: S, stored: &[T; N], sums: &mut [f32; N]) {
    let lanes = T::Sums::<S>::LEN;
    for (stored, sums) in stored.chunks(lanes).zip(sums.chunks_mut(lanes)) {
        T::widen(simd, stored).store_slice(sums);
    }
}

macro_rules! agrees_with_half {
    ($name:ident, $type:ty) => {
        #[test]
        fn $name() {
            let sums = sums();
            let all: Vec<$type> = (0..=u16::MAX).map(<$type>::from_bits).collect();
            for level in levels() {
                for sums in sums.as_chunks::<N>().0 {
                    let mut stored = [<$type>::ZERO; N];
                    dispatch!(level, simd => round(simd, sums, &mut stored));
                    for (sum, stored) in sums.iter().zip(stored) {
                        let expected = <$type>::from_f32(*sum);
                        let same = stored.to_bits() == expected.to_bits();
                        assert!(same || sum.is_nan() && stored.is_nan(), "{sum:e}: {stored}");
                    }
                }
                for stored in all.as_chunks::<N>().0 {
                    let mut wide = [0.0; N];
                    dispatch!(level, simd => widen(simd, stored, &mut wide));
                    for (stored, wide) in stored.iter().zip(wide) {
                        let same = wide.to_bits() == stored.to_f32().to_bits();
                        assert!(same || stored.is_nan() && wide.is_nan(), "{stored}: {wide}");
                    }
                }
            }
        }
    };
}
agrees_with_half!(f16_is_widened_and_rounded_as_half_does, f16);
agrees_with_half!(bf16_is_widened_and_rounded_as_half_does, bf16);

/// Rows of any length, in every instruction set.
#[test]
fn rows_are_widened_and_rounded_value_by_value() {
    let lengths = [0, 1, 7, 8, 21, 100];
    for (level, length) in levels().into_iter().flat_map(|it| lengths.map(|length| (it, length))) {
        let sums: Vec<f32> = (0..length).map(|it| it as f32 * 0.37 - 3.0).collect();
        let mut stored = vec![f16::ZERO; length];
        round_row(level, &sums, &mut stored);
        assert!(stored.iter().zip(&sums).all(|(it, sum)| *it == f16::from_f32(*sum)), "{length}");
        let mut wide = vec![0.0; length];
        widen_row(level, &stored, &mut wide);
        assert!(stored.iter().zip(&wide).all(|(it, wide)| it.to_f32() == *wide), "{length}");
    }
}
