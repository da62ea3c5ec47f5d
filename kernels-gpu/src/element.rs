// SPDX-License-Identifier: MIT OR Apache-2.0
//! Element types of a grid, as CUDA cores work on them: widened when loaded, summed, rounded once when
//! stored.

use crate::boundary::SumType;
use cuda_std::shared::{self, Shared};
use cuda_std::{global, math, matrix, warp};

/// The type of sums.
pub trait Real: SumType {
    /// Its size.
    const BYTES: u32;
    /// Zero.
    const ZERO: Self;

    /// `self` · `factor` + `term`, rounded once.
    ///
    /// # Safety
    /// Only in a kernel.
    unsafe fn multiply_add(self, factor: Self, term: Self) -> Self;

    /// `self` + `term`, rounded once.
    ///
    /// # Safety
    /// Only in a kernel.
    unsafe fn plus(self, term: Self) -> Self;

    /// `self` · `factor`, rounded once.
    ///
    /// # Safety
    /// Only in a kernel.
    unsafe fn times(self, factor: Self) -> Self;

    /// The value of the lane before this one; lane 0 keeps its own.
    ///
    /// # Safety
    /// All 32 lanes execute it.
    unsafe fn of_left_lane(self) -> Self;

    /// The value of the lane after this one; the last lane keeps its own.
    ///
    /// # Safety
    /// All 32 lanes execute it.
    unsafe fn of_right_lane(self) -> Self;

    /// This value, computed here and not in a branch further on.
    ///
    /// # Safety
    /// Only in a kernel.
    unsafe fn pin(self) -> Self;

    /// A value in shared memory.
    ///
    /// # Safety
    /// In bounds, written, aligned to its size; whoever wrote it has been waited for.
    unsafe fn load_shared(at: Shared) -> Self;

    /// Four values in shared memory.
    ///
    /// # Safety
    /// In bounds, written, aligned to 16 bytes; whoever wrote them has been waited for.
    unsafe fn load_four(at: Shared) -> [Self; 4];

    /// As many values in shared memory as have 16 bytes, at most four, in the first places.
    ///
    /// # Safety
    /// As [`Real::load_four`].
    unsafe fn load_sixteen_bytes(at: Shared) -> [Self; 4];

    /// Puts a row of values into shared memory, 16 bytes at a time.
    ///
    /// # Safety
    /// In bounds, aligned to 16 bytes; nobody else accesses them at the same time. The row is a multiple of 16 bytes.
    unsafe fn store_row(at: Shared, row: &[Self]);

    /// Puts a value into shared memory.
    ///
    /// # Safety
    /// In bounds, aligned to its size; nobody else accesses it at the same time.
    unsafe fn store_shared(at: Shared, value: Self);

    /// A value of a table, of which `words` is the start.
    ///
    /// # Safety
    /// Valid, aligned to 4 bytes, and the same for the whole kernel.
    unsafe fn load_constant(words: *const u32) -> Self;
}

impl Real for f32 {
    const BYTES: u32 = 4;
    const ZERO: Self = 0.0;

    #[inline(always)]
    unsafe fn multiply_add(self, factor: Self, term: Self) -> Self {
        // SAFETY: in a kernel, as the caller promises.
        unsafe { math::fma_f32(self, factor, term) }
    }

    #[inline(always)]
    unsafe fn plus(self, term: Self) -> Self {
        self + term
    }

    #[inline(always)]
    unsafe fn times(self, factor: Self) -> Self {
        self * factor
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn of_left_lane(self) -> Self {
        // SAFETY: as the caller promises.
        Self::from_bits(unsafe { warp::shuffle_up(self.to_bits(), 1) })
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn of_right_lane(self) -> Self {
        // SAFETY: as the caller promises.
        Self::from_bits(unsafe { warp::shuffle_down(self.to_bits(), 1) })
    }

    #[inline(always)]
    unsafe fn pin(self) -> Self {
        // SAFETY: in a kernel, as the caller promises.
        unsafe { math::pin_f32(self) }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load_shared(at: Shared) -> Self {
        // SAFETY: as the caller promises.
        Self::from_bits(unsafe { shared::load(at) })
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load_four(at: Shared) -> [Self; 4] {
        // SAFETY: as the caller promises.
        unsafe { shared::load_v4(at) }.map(Self::from_bits)
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load_sixteen_bytes(at: Shared) -> [Self; 4] {
        // SAFETY: as the caller promises.
        unsafe { Self::load_four(at) }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn store_row(at: Shared, row: &[Self]) {
        for part in 0..row.len() / 4 {
            let word = |index: usize| row[4 * part + index].to_bits();
            let words = [word(0), word(1), word(2), word(3)];
            // SAFETY: as the caller promises.
            unsafe { shared::store_v4(at.offset(16 * part as u32), words) };
        }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn store_shared(at: Shared, value: Self) {
        // SAFETY: as the caller promises.
        unsafe { shared::store(at, value.to_bits()) };
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load_constant(words: *const u32) -> Self {
        // SAFETY: as the caller promises.
        Self::from_bits(unsafe { global::load_constant(words) })
    }
}

impl Real for f64 {
    const BYTES: u32 = 8;
    const ZERO: Self = 0.0;

    #[inline(always)]
    unsafe fn multiply_add(self, factor: Self, term: Self) -> Self {
        // SAFETY: in a kernel, as the caller promises.
        unsafe { math::fma_f64(self, factor, term) }
    }

    #[inline(always)]
    unsafe fn plus(self, term: Self) -> Self {
        self + term
    }

    #[inline(always)]
    unsafe fn times(self, factor: Self) -> Self {
        self * factor
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn of_left_lane(self) -> Self {
        // SAFETY: as the caller promises.
        from_words(to_words(self).map(|word| unsafe { warp::shuffle_up(word, 1) }))
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn of_right_lane(self) -> Self {
        // SAFETY: as the caller promises.
        from_words(to_words(self).map(|word| unsafe { warp::shuffle_down(word, 1) }))
    }

    #[inline(always)]
    unsafe fn pin(self) -> Self {
        // SAFETY: in a kernel, as the caller promises.
        unsafe { math::pin_f64(self) }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load_shared(at: Shared) -> Self {
        // SAFETY: as the caller promises.
        from_words(unsafe { shared::load_v2(at) })
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load_four(at: Shared) -> [Self; 4] {
        // SAFETY: as the caller promises.
        let ([a, b, c, d], [e, f, g, h]) =
            unsafe { (shared::load_v4(at), shared::load_v4(at.offset(16))) };
        [from_words([a, b]), from_words([c, d]), from_words([e, f]), from_words([g, h])]
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load_sixteen_bytes(at: Shared) -> [Self; 4] {
        // SAFETY: as the caller promises.
        let [a, b, c, d] = unsafe { shared::load_v4(at) };
        [from_words([a, b]), from_words([c, d]), 0.0, 0.0]
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn store_row(at: Shared, row: &[Self]) {
        for part in 0..row.len() / 2 {
            let ([a, b], [c, d]) = (to_words(row[2 * part]), to_words(row[2 * part + 1]));
            // SAFETY: as the caller promises.
            unsafe { shared::store_v4(at.offset(16 * part as u32), [a, b, c, d]) };
        }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn store_shared(at: Shared, value: Self) {
        // SAFETY: as the caller promises.
        unsafe { shared::store_v2(at, to_words(value)) };
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load_constant(words: *const u32) -> Self {
        // SAFETY: as the caller promises.
        let word = |i| unsafe { global::load_constant(words.wrapping_add(i)) };
        from_words([word(0), word(1)])
    }
}

/// An element type of a grid.
pub trait Element: Copy {
    /// The bits of an element in memory.
    type Stored: Copy;
    /// The type that it is widened to.
    type Real: Real;
    /// Its size.
    const BYTES: u32;

    /// The bits of an element.
    ///
    /// # Safety
    /// Valid, written, aligned to its size; whoever wrote it has been waited for.
    unsafe fn load(at: *const Self::Stored) -> Self::Stored;

    /// Rounds and stores an element.
    ///
    /// # Safety
    /// Valid, aligned to its size; no other thread accesses it.
    unsafe fn store(at: *mut Self::Stored, value: Self::Real);

    /// The exact value that the bits stand for.
    ///
    /// # Safety
    /// Only in a kernel.
    unsafe fn widen(bits: Self::Stored) -> Self::Real;

    /// The value of an element in a row of words.
    ///
    /// # Safety
    /// Only in a kernel.
    unsafe fn element(words: &[u32], index: usize) -> Self::Real;

    /// A word of a row of rounded elements.
    ///
    /// # Safety
    /// Only in a kernel.
    unsafe fn word(values: &[Self::Real], index: usize) -> u32;

    /// The values of two elements side by side.
    ///
    /// # Safety
    /// As [`Self::load`], aligned to the size of both.
    #[inline(always)]
    #[track_caller]
    unsafe fn load_two(at: *const Self::Stored) -> [Self::Real; 2] {
        let mut words = [0; 4];
        // SAFETY: as the caller promises.
        unsafe {
            match Self::BYTES {
                2 => words[0] = global::load(at.cast()),
                4 => words[..2].copy_from_slice(&global::load_v2(at.cast())),
                _ => words = global::load_v4(at.cast()),
            }
            [Self::element(&words, 0), Self::element(&words, 1)]
        }
    }

    /// Rounds and stores two elements side by side.
    ///
    /// # Safety
    /// As [`Self::store`], aligned to the size of both.
    #[inline(always)]
    #[track_caller]
    unsafe fn store_two(at: *mut Self::Stored, values: [Self::Real; 2]) {
        // SAFETY: as the caller promises.
        unsafe {
            let word = |index: usize| Self::word(&values, index);
            match Self::BYTES {
                2 => global::store(at.cast(), word(0)),
                4 => global::store_v2(at.cast(), [word(0), word(1)]),
                _ => global::store_v4(at.cast(), [word(0), word(1), word(2), word(3)]),
            }
        }
    }
}

macro_rules! half {
    ($(#[$doc:meta])* $name:ident: $bits:ident => $widen:expr, $pack:path) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Element for $name {
            type Stored = u16;
            type Real = f32;
            const BYTES: u32 = 2;

            #[inline(always)]
            #[track_caller]
            unsafe fn load(at: *const u16) -> u16 {
                // SAFETY: as the caller promises.
                unsafe { global::load_u16(at) }
            }

            #[inline(always)]
            #[track_caller]
            unsafe fn store(at: *mut u16, value: f32) {
                // SAFETY: as the caller promises.
                unsafe { global::store_u16(at, $pack(value, 0.0) as u16) };
            }

            #[inline(always)]
            unsafe fn widen($bits: u16) -> f32 {
                $widen
            }

            #[inline(always)]
            unsafe fn element(words: &[u32], index: usize) -> f32 {
                let bits = (words[index / 2] >> (index % 2 * 16)) as u16;
                // SAFETY: in a kernel.
                unsafe { Self::widen(bits) }
            }

            #[inline(always)]
            unsafe fn word(values: &[f32], index: usize) -> u32 {
                // SAFETY: in a kernel.
                unsafe { $pack(values[2 * index], values[2 * index + 1]) }
            }
        }
    };
}

half! {
    /// IEEE half precision, summed in f32.
    // SAFETY: in a kernel, as the caller promises.
    F16: bits => unsafe { math::f32_from_f16(bits) }, matrix::pack_f16
}

half! {
    /// bfloat16, summed in f32.
    Bf16: bits => f32::from_bits(u32::from(bits) << 16), matrix::pack_bf16
}

/// IEEE single precision.
#[derive(Clone, Copy, Debug)]
pub struct F32;

impl Element for F32 {
    type Stored = u32;
    type Real = f32;
    const BYTES: u32 = 4;

    #[inline(always)]
    #[track_caller]
    unsafe fn load(at: *const u32) -> u32 {
        // SAFETY: as the caller promises.
        unsafe { global::load(at) }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn store(at: *mut u32, value: f32) {
        // SAFETY: as the caller promises.
        unsafe { global::store(at, value.to_bits()) };
    }

    #[inline(always)]
    unsafe fn widen(bits: u32) -> f32 {
        f32::from_bits(bits)
    }

    #[inline(always)]
    unsafe fn element(words: &[u32], index: usize) -> f32 {
        f32::from_bits(words[index])
    }

    #[inline(always)]
    unsafe fn word(values: &[f32], index: usize) -> u32 {
        values[index].to_bits()
    }
}

/// IEEE double precision.
#[derive(Clone, Copy, Debug)]
pub struct F64;

impl Element for F64 {
    type Stored = u64;
    type Real = f64;
    const BYTES: u32 = 8;

    #[inline(always)]
    #[track_caller]
    unsafe fn load(at: *const u64) -> u64 {
        // SAFETY: as the caller promises.
        from_words(unsafe { global::load_v2(at.cast()) }).to_bits()
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn store(at: *mut u64, value: f64) {
        // SAFETY: as the caller promises.
        unsafe { global::store_v2(at.cast(), to_words(value)) };
    }

    #[inline(always)]
    unsafe fn widen(bits: u64) -> f64 {
        f64::from_bits(bits)
    }

    #[inline(always)]
    unsafe fn element(words: &[u32], index: usize) -> f64 {
        from_words([words[2 * index], words[2 * index + 1]])
    }

    #[inline(always)]
    unsafe fn word(values: &[f64], index: usize) -> u32 {
        to_words(values[index / 2])[index % 2]
    }
}

/// `N` words: 1, 2 or a multiple of 4.
///
/// # Safety
/// Valid, written, aligned to their size, at most 16 bytes; whoever wrote them has been waited for.
#[inline(always)]
#[track_caller]
pub unsafe fn load_words<const N: usize>(at: *const u32) -> [u32; N] {
    const { assert!(N == 1 || N == 2 || N.is_multiple_of(4), "a load has 1, 2 or 4 words") };
    let mut words = [0; N];
    // SAFETY: as the caller promises.
    unsafe {
        if N == 1 {
            words[0] = global::load(at);
        } else if N == 2 {
            words.copy_from_slice(&global::load_v2(at));
        } else {
            for (part, words) in words.chunks_exact_mut(4).enumerate() {
                words.copy_from_slice(&global::load_v4(at.wrapping_add(4 * part)));
            }
        }
    }
    words
}

/// The number of two words, the lower one first.
#[inline(always)]
pub(crate) fn from_words([low, high]: [u32; 2]) -> f64 {
    f64::from_bits(u64::from(high) << 32 | u64::from(low))
}

/// The words of a number, the lower one first.
#[inline(always)]
pub(crate) fn to_words(value: f64) -> [u32; 2] {
    let bits = value.to_bits();
    [bits as u32, (bits >> 32) as u32]
}
