// SPDX-License-Identifier: MIT OR Apache-2.0
//! Element types of a grid, as CUDA cores work on them: loaded into a wider type, summed, rounded
//! once when stored.

use cuda_std::shared::{self, Shared};
use cuda_std::{global, math, matrix};

/// The type of sums.
pub trait Real: Copy {
    /// Its size.
    const BYTES: u32;
    /// Zero.
    const ZERO: Self;

    /// `self` · `factor` + `term`, rounded once.
    ///
    /// # Safety
    /// Only in a kernel.
    unsafe fn multiply_add(self, factor: Self, term: Self) -> Self;

    /// A value in shared memory.
    ///
    /// # Safety
    /// In bounds, written, aligned to its size; whoever wrote it has been waited for.
    unsafe fn load_shared(at: Shared) -> Self;

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
    #[track_caller]
    unsafe fn load_shared(at: Shared) -> Self {
        // SAFETY: as the caller promises.
        Self::from_bits(unsafe { shared::load(at) })
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
    #[track_caller]
    unsafe fn load_shared(at: Shared) -> Self {
        // SAFETY: as the caller promises.
        from_words(unsafe { shared::load_v2(at) })
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
    /// The type that it is loaded into.
    type Real: Real;
    /// Its size.
    const BYTES: u32;

    /// `N` elements: 1, or as many as make 4, 8 or a multiple of 16 bytes.
    ///
    /// # Safety
    /// Valid, written, aligned to their size, at most 16 bytes; whoever wrote them has been waited for.
    unsafe fn load<const N: usize>(at: *const Self::Stored) -> [Self::Real; N];

    /// Rounds and stores `N` elements: 1, or as many as make 4, 8 or a multiple of 16 bytes.
    ///
    /// # Safety
    /// Valid, aligned to their size, at most 16 bytes; no other thread accesses them.
    unsafe fn store<const N: usize>(at: *mut Self::Stored, values: [Self::Real; N]);
}

/// Loads `2 · N` halves of words, or one, and converts them; see [`Element::load`].
macro_rules! load_halves {
    ($at:ident, $n:ident, $zero:expr, $convert:expr) => {{
        let mut values = [$zero; $n];
        let mut unpack = |first: usize, words: &[u32]| {
            for (i, word) in words.iter().enumerate() {
                values[first + 2 * i] = $convert(*word as u16);
                values[first + 2 * i + 1] = $convert((*word >> 16) as u16);
            }
        };
        // SAFETY: as the caller promises.
        unsafe {
            match $n {
                1 => values[0] = $convert(global::load_u16($at)),
                2 => unpack(0, &[global::load($at.cast())]),
                4 => unpack(0, &global::load_v2($at.cast())),
                _ => {
                    for first in (0..$n).step_by(8) {
                        unpack(first, &global::load_v4($at.wrapping_add(first).cast()));
                    }
                }
            }
        }
        values
    }};
}

/// Packs `2 · N` halves of words, or one, and stores them; see [`Element::store`].
macro_rules! store_halves {
    ($at:ident, $n:ident, $values:ident, $pack:expr) => {
        // SAFETY: as the caller promises.
        unsafe {
            let word = |first: usize| $pack($values[first], $values[first + 1]);
            match $n {
                1 => global::store_u16($at, $pack($values[0], 0.0) as u16),
                2 => global::store($at.cast(), word(0)),
                4 => global::store_v2($at.cast(), [word(0), word(2)]),
                _ => {
                    for i in (0..$n).step_by(8) {
                        let words = [word(i), word(i + 2), word(i + 4), word(i + 6)];
                        global::store_v4($at.wrapping_add(i).cast(), words);
                    }
                }
            }
        }
    };
}

/// IEEE half precision, summed in f32.
#[derive(Clone, Copy, Debug)]
pub struct F16;

impl Element for F16 {
    type Stored = u16;
    type Real = f32;
    const BYTES: u32 = 2;

    #[inline(always)]
    #[track_caller]
    unsafe fn load<const N: usize>(at: *const u16) -> [f32; N] {
        load_halves!(at, N, 0.0, |bits| math::f32_from_f16(bits))
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn store<const N: usize>(at: *mut u16, values: [f32; N]) {
        store_halves!(at, N, values, |low, high| matrix::pack_f16(low, high));
    }
}

/// bfloat16, summed in f32.
#[derive(Clone, Copy, Debug)]
pub struct Bf16;

impl Element for Bf16 {
    type Stored = u16;
    type Real = f32;
    const BYTES: u32 = 2;

    #[inline(always)]
    #[track_caller]
    unsafe fn load<const N: usize>(at: *const u16) -> [f32; N] {
        load_halves!(at, N, 0.0, |bits: u16| f32::from_bits(u32::from(bits) << 16))
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn store<const N: usize>(at: *mut u16, values: [f32; N]) {
        store_halves!(at, N, values, |low, high| matrix::pack_bf16(low, high));
    }
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
    unsafe fn load<const N: usize>(at: *const u32) -> [f32; N] {
        let mut values = [0.0; N];
        // SAFETY: as the caller promises.
        unsafe {
            match N {
                1 => values[0] = f32::from_bits(global::load(at)),
                2 => {
                    let words = global::load_v2(at);
                    (values[0], values[1]) = (f32::from_bits(words[0]), f32::from_bits(words[1]));
                }
                _ => {
                    for first in (0..N).step_by(4) {
                        let words = global::load_v4(at.wrapping_add(first));
                        for (i, word) in words.into_iter().enumerate() {
                            values[first + i] = f32::from_bits(word);
                        }
                    }
                }
            }
        }
        values
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn store<const N: usize>(at: *mut u32, values: [f32; N]) {
        let word = |i: usize| values[i].to_bits();
        // SAFETY: as the caller promises.
        unsafe {
            match N {
                1 => global::store(at, word(0)),
                2 => global::store_v2(at, [word(0), word(1)]),
                _ => {
                    for i in (0..N).step_by(4) {
                        let words = [word(i), word(i + 1), word(i + 2), word(i + 3)];
                        global::store_v4(at.wrapping_add(i), words);
                    }
                }
            }
        }
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
    unsafe fn load<const N: usize>(at: *const u64) -> [f64; N] {
        let mut values = [0.0; N];
        // SAFETY: as the caller promises.
        unsafe {
            match N {
                1 => values[0] = from_words(global::load_v2(at.cast())),
                _ => {
                    for first in (0..N).step_by(2) {
                        let [a, b, c, d] = global::load_v4(at.wrapping_add(first).cast());
                        values[first] = from_words([a, b]);
                        values[first + 1] = from_words([c, d]);
                    }
                }
            }
        }
        values
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn store<const N: usize>(at: *mut u64, values: [f64; N]) {
        // SAFETY: as the caller promises.
        unsafe {
            match N {
                1 => global::store_v2(at.cast(), to_words(values[0])),
                _ => {
                    for i in (0..N).step_by(2) {
                        let ([a, b], [c, d]) = (to_words(values[i]), to_words(values[i + 1]));
                        global::store_v4(at.wrapping_add(i).cast(), [a, b, c, d]);
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn from_words([low, high]: [u32; 2]) -> f64 {
    f64::from_bits(u64::from(high) << 32 | u64::from(low))
}

#[inline(always)]
fn to_words(value: f64) -> [u32; 2] {
    let bits = value.to_bits();
    [bits as u32, (bits >> 32) as u32]
}
