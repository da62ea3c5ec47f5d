// SPDX-License-Identifier: MIT OR Apache-2.0
//! Complex numbers in f64 and f32, in registers, shared and global memory.

use crate::element::{Real, from_words, to_words};
use core::ops::{Add, Neg, Sub};
use cuda_std::global;
use cuda_std::shared::{self, Shared};

/// What real and imaginary parts are.
pub trait ComplexPart: Real + Add<Output = Self> + Sub<Output = Self> + Neg<Output = Self> {
    /// Bits of a place in a line that a swizzle mixes: as many complex numbers as 128 bytes have.
    const SWIZZLE: u32;

    /// The nearest number.
    fn of(value: f64) -> Self;

    /// This number in f64.
    fn wide(self) -> f64;

    /// A complex number in shared memory.
    ///
    /// # Safety
    /// In bounds, written, aligned to its size; whoever wrote it has been waited for.
    unsafe fn load_pair(at: Shared) -> [Self; 2];

    /// Puts one there.
    ///
    /// # Safety
    /// In bounds, aligned to its size; nobody else accesses it at the same time.
    unsafe fn store_pair(at: Shared, pair: [Self; 2]);

    /// A complex number in global memory.
    ///
    /// # Safety
    /// Valid, written, aligned to its size; whoever wrote it has been waited for.
    unsafe fn load_global(at: *const u8) -> [Self; 2];

    /// Puts one there.
    ///
    /// # Safety
    /// Valid, aligned to its size; no other thread accesses it.
    unsafe fn store_global(at: *mut u8, pair: [Self; 2]);
}

impl ComplexPart for f64 {
    const SWIZZLE: u32 = 3;

    #[inline(always)]
    fn of(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load_pair(at: Shared) -> [Self; 2] {
        // SAFETY: as the caller promises.
        let [a, b, c, d] = unsafe { shared::load_v4(at) };
        [from_words([a, b]), from_words([c, d])]
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn store_pair(at: Shared, [re, im]: [Self; 2]) {
        let ([a, b], [c, d]) = (to_words(re), to_words(im));
        // SAFETY: as the caller promises.
        unsafe { shared::store_v4(at, [a, b, c, d]) };
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load_global(at: *const u8) -> [Self; 2] {
        // SAFETY: as the caller promises.
        let [a, b, c, d] = unsafe { global::load_v4(at.cast()) };
        [from_words([a, b]), from_words([c, d])]
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn store_global(at: *mut u8, [re, im]: [Self; 2]) {
        let ([a, b], [c, d]) = (to_words(re), to_words(im));
        // SAFETY: as the caller promises.
        unsafe { global::store_v4(at.cast(), [a, b, c, d]) };
    }
}

impl ComplexPart for f32 {
    const SWIZZLE: u32 = 4;

    #[inline(always)]
    fn of(value: f64) -> Self {
        value as Self
    }

    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load_pair(at: Shared) -> [Self; 2] {
        // SAFETY: as the caller promises.
        unsafe { shared::load_v2(at) }.map(Self::from_bits)
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn store_pair(at: Shared, pair: [Self; 2]) {
        // SAFETY: as the caller promises.
        unsafe { shared::store_v2(at, pair.map(Self::to_bits)) };
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load_global(at: *const u8) -> [Self; 2] {
        // SAFETY: as the caller promises.
        unsafe { global::load_v2(at.cast()) }.map(Self::from_bits)
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn store_global(at: *mut u8, pair: [Self; 2]) {
        // SAFETY: as the caller promises.
        unsafe { global::store_v2(at.cast(), pair.map(Self::to_bits)) };
    }
}

/// A complex number.
#[derive(Clone, Copy)]
pub struct Complex<P> {
    /// The real part.
    pub re: P,
    /// The imaginary part.
    pub im: P,
}

impl<P: ComplexPart> Complex<P> {
    /// 0.
    pub const ZERO: Self = Self { re: P::ZERO, im: P::ZERO };

    /// Its size.
    pub const BYTES: u32 = 2 * P::BYTES;

    /// Of both parts.
    #[inline(always)]
    pub fn of([re, im]: [P; 2]) -> Self {
        Self { re, im }
    }

    /// The sum.
    #[inline(always)]
    pub fn plus(self, other: Self) -> Self {
        Self { re: self.re + other.re, im: self.im + other.im }
    }

    /// The difference.
    #[inline(always)]
    pub fn minus(self, other: Self) -> Self {
        Self { re: self.re - other.re, im: self.im - other.im }
    }

    /// The conjugate.
    #[inline(always)]
    pub fn conjugate(self) -> Self {
        Self { re: self.re, im: -self.im }
    }

    /// Times −i: a quarter turn, as forward transforms turn.
    #[inline(always)]
    pub fn turned(self) -> Self {
        Self { re: self.im, im: -self.re }
    }

    /// Real and imaginary part in each other's place: the transform of such numbers is the inverse one of these, in
    /// each other's place again.
    #[inline(always)]
    pub fn swapped(self) -> Self {
        Self { re: self.im, im: self.re }
    }

    /// Times a real number.
    ///
    /// # Safety
    /// Only in a kernel.
    #[inline(always)]
    pub unsafe fn scaled(self, factor: P) -> Self {
        // SAFETY: as the caller promises.
        unsafe { Self { re: self.re.times(factor), im: self.im.times(factor) } }
    }

    /// This and `factor` times another.
    ///
    /// # Safety
    /// Only in a kernel.
    #[inline(always)]
    pub unsafe fn plus_scaled(self, other: Self, factor: P) -> Self {
        // SAFETY: as the caller promises.
        unsafe {
            Self {
                re: other.re.multiply_add(factor, self.re),
                im: other.im.multiply_add(factor, self.im),
            }
        }
    }

    /// The product.
    ///
    /// # Safety
    /// Only in a kernel.
    #[inline(always)]
    pub unsafe fn times(self, other: Self) -> Self {
        // SAFETY: as the caller promises.
        unsafe {
            Self {
                re: self.re.multiply_add(other.re, -self.im.times(other.im)),
                im: self.re.multiply_add(other.im, self.im.times(other.re)),
            }
        }
    }
}

/// What waves are multiplied by.
pub trait WaveFactor<P>: Copy {
    /// 0.
    const NONE: Self;
    /// So many are asked for before the values that they belong to.
    const AHEAD: usize;

    /// The product.
    ///
    /// # Safety
    /// Only in a kernel.
    unsafe fn of(self, number: Complex<P>) -> Complex<P>;
}

/// A real factor.
#[derive(Clone, Copy)]
pub struct Scale<P>(pub P);

impl<P: ComplexPart> WaveFactor<P> for Scale<P> {
    const NONE: Self = Self(P::ZERO);
    const AHEAD: usize = 8;

    #[inline(always)]
    unsafe fn of(self, number: Complex<P>) -> Complex<P> {
        // SAFETY: as the caller promises.
        unsafe { number.scaled(self.0) }
    }
}

impl<P: ComplexPart> WaveFactor<P> for Complex<P> {
    const NONE: Self = Self::ZERO;
    const AHEAD: usize = 0;

    #[inline(always)]
    unsafe fn of(self, number: Complex<P>) -> Complex<P> {
        // SAFETY: as the caller promises.
        unsafe { number.times(self) }
    }
}
