// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of twice the digits of f64, and complex ones of them, as `transform::spectral::double` has them on the CPU: their
//! powers keep all digits of f64 however many steps they are of.

use super::NEGATIVE;
use super::batch::divide;
use super::complex::Complex;
use crate::element::{from_words, to_words};
use cuda_std::shared::{self, Shared};
use cuda_std::{global, math};

/// Bytes of a real one.
pub const BYTES: u32 = 16;

/// Below which a number counts as 0, as on the CPU.
const FADED: f64 = 1e-150;

/// `high + low` with `|low| ≤ 2⁻⁵³ |high|`.
#[derive(Clone, Copy)]
pub struct Double {
    high: f64,
    low: f64,
}

/// A sum, and what its rounding left out.
#[inline(always)]
fn two_sum(a: f64, b: f64) -> Double {
    let high = a + b;
    let part = high - a;
    Double { high, low: (a - (high - part)) + (b - part) }
}

/// A sum of two numbers of which the first is not the smaller one, and what its rounding left out.
#[inline(always)]
fn quick_sum(a: f64, b: f64) -> Double {
    let high = a + b;
    Double { high, low: b - (high - a) }
}

impl Double {
    /// 0.
    pub const ZERO: Self = Self { high: 0.0, low: 0.0 };
    /// 1.
    pub const ONE: Self = Self { high: 1.0, low: 0.0 };

    #[inline(always)]
    fn of_words([a, b, c, d]: [u32; 4]) -> Self {
        Self { high: from_words([a, b]), low: from_words([c, d]) }
    }

    #[inline(always)]
    fn words(self) -> [u32; 4] {
        let ([a, b], [c, d]) = (to_words(self.high), to_words(self.low));
        [a, b, c, d]
    }

    #[inline(always)]
    fn sum(self, other: Self) -> Self {
        let Self { high, low: rest } = two_sum(self.high, other.high);
        let Self { high: low, low: lowest } = two_sum(self.low, other.low);
        let Self { high, low: rest } = quick_sum(high, rest + low);
        quick_sum(high, rest + lowest)
    }

    /// # Safety
    /// Only in a kernel.
    #[inline(always)]
    unsafe fn product(self, other: Self) -> Self {
        let product = self.high * other.high;
        // SAFETY: as the caller promises.
        unsafe {
            let rest = math::fma_f64(self.high, other.high, -product);
            let rest = math::fma_f64(self.high, other.low, rest);
            quick_sum(product, math::fma_f64(self.low, other.high, rest))
        }
    }

    #[inline(always)]
    fn negative(self) -> Self {
        Self { high: -self.high, low: -self.low }
    }

    #[inline(always)]
    fn lasting(self) -> Self {
        // Of what is no number neither holds.
        if self.high < FADED && self.high > -FADED { Self::ZERO } else { self }
    }
}

/// A complex number of twice the digits.
#[derive(Clone, Copy)]
pub struct ComplexDouble {
    re: Double,
    im: Double,
}

impl ComplexDouble {
    /// A real one in a table.
    ///
    /// # Safety
    /// It has one there.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn weight(at: *const u32) -> Self {
        // SAFETY: as the caller promises.
        Self { re: Double::of_words(unsafe { load_words(at) }), im: Double::ZERO }
    }

    /// Times the root of unity of a wave of an axis at an offset, a word whose highest bit says that it is negative. Of the
    /// table the axis has `length` roots from `roots` on.
    ///
    /// # Safety
    /// The wave is below the length, and the product of both below 2³²; only in a kernel.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn at(self, roots: *const u32, length: u32, wave: u32, offset: u32) -> Self {
        // SAFETY: as the caller promises.
        unsafe {
            let (_, place) = divide(wave * (offset & !NEGATIVE), length);
            let root = roots.wrapping_add(2 * (BYTES / 4 * place) as usize);
            let (re, im) = (load_words(root), load_words(root.wrapping_add(BYTES as usize / 4)));
            let (re, im) = (Double::of_words(re), Double::of_words(im));
            let im = if offset & NEGATIVE == 0 { im } else { im.negative() };
            self.product(Self { re, im })
        }
    }

    /// # Safety
    /// Only in a kernel.
    #[inline(always)]
    unsafe fn product(self, other: Self) -> Self {
        // SAFETY: as the caller promises.
        unsafe {
            let re = self.re.product(other.re).sum(self.im.product(other.im).negative());
            let im = self.re.product(other.im).sum(self.im.product(other.re));
            Self { re, im }
        }
    }
}

/// Four words of a table.
///
/// # Safety
/// It has them there, aligned to 16 bytes.
#[inline(always)]
#[track_caller]
unsafe fn load_words(at: *const u32) -> [u32; 4] {
    // SAFETY: as the caller promises.
    unsafe { global::load_v4(at) }
}

/// What matrices consist of: real or complex numbers.
pub trait MatrixElement: Copy {
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// Real numbers of one.
    const PARTS: u32;

    /// The sum.
    fn plus(self, other: Self) -> Self;

    /// The product.
    ///
    /// # Safety
    /// Only in a kernel.
    unsafe fn times(self, other: Self) -> Self;

    /// This number, with 0 for each part that is below what counts.
    fn without_faded(self) -> Self;

    /// Of a complex number, whose imaginary part is left out where numbers are real: it is nothing then in all sums.
    fn of(number: ComplexDouble) -> Self;

    /// One in shared memory, whose parts lie so many bytes apart.
    ///
    /// # Safety
    /// In bounds, written, aligned to 16 bytes; whoever wrote it has been waited for.
    unsafe fn load(at: Shared, apart: u32) -> Self;

    /// Puts one there.
    ///
    /// # Safety
    /// In bounds, aligned to 16 bytes; nobody else accesses it at the same time.
    unsafe fn store(self, at: Shared, apart: u32);

    /// This, rounded to f64, times another.
    ///
    /// # Safety
    /// Only in a kernel.
    unsafe fn scaled(self, other: Complex<f64>) -> Complex<f64>;

    /// At least its absolute value, and at most √2 of it.
    fn size(self) -> f64;
}

#[inline(always)]
fn absolute(value: f64) -> f64 {
    if value < 0.0 { -value } else { value }
}

impl MatrixElement for Double {
    const ZERO: Self = Self::ZERO;
    const ONE: Self = Self::ONE;
    const PARTS: u32 = 1;

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.sum(other)
    }

    #[inline(always)]
    unsafe fn times(self, other: Self) -> Self {
        // SAFETY: as the caller promises.
        unsafe { self.product(other) }
    }

    #[inline(always)]
    fn without_faded(self) -> Self {
        self.lasting()
    }

    #[inline(always)]
    fn of(number: ComplexDouble) -> Self {
        number.re
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load(at: Shared, _: u32) -> Self {
        // SAFETY: as the caller promises.
        Self::of_words(unsafe { shared::load_v4(at) })
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn store(self, at: Shared, _: u32) {
        // SAFETY: as the caller promises.
        unsafe { shared::store_v4(at, self.words()) };
    }

    #[inline(always)]
    unsafe fn scaled(self, other: Complex<f64>) -> Complex<f64> {
        // SAFETY: as the caller promises.
        unsafe { other.scaled(self.high) }
    }

    #[inline(always)]
    fn size(self) -> f64 {
        absolute(self.high)
    }
}

impl MatrixElement for ComplexDouble {
    const ZERO: Self = Self { re: Double::ZERO, im: Double::ZERO };
    const ONE: Self = Self { re: Double::ONE, im: Double::ZERO };
    const PARTS: u32 = 2;

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self { re: self.re.sum(other.re), im: self.im.sum(other.im) }
    }

    #[inline(always)]
    unsafe fn times(self, other: Self) -> Self {
        // SAFETY: as the caller promises.
        unsafe { self.product(other) }
    }

    #[inline(always)]
    fn without_faded(self) -> Self {
        Self { re: self.re.lasting(), im: self.im.lasting() }
    }

    #[inline(always)]
    fn of(number: ComplexDouble) -> Self {
        number
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load(at: Shared, apart: u32) -> Self {
        // SAFETY: as the caller promises.
        unsafe {
            Self { re: MatrixElement::load(at, 0), im: MatrixElement::load(at.offset(apart), 0) }
        }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn store(self, at: Shared, apart: u32) {
        // SAFETY: as the caller promises.
        unsafe {
            self.re.store(at, 0);
            self.im.store(at.offset(apart), 0);
        }
    }

    #[inline(always)]
    unsafe fn scaled(self, other: Complex<f64>) -> Complex<f64> {
        // SAFETY: as the caller promises.
        unsafe { other.times(Complex { re: self.re.high, im: self.im.high }) }
    }

    #[inline(always)]
    fn size(self) -> f64 {
        absolute(self.re.high) + absolute(self.im.high)
    }
}
