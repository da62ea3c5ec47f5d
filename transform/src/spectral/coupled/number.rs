// SPDX-License-Identifier: MIT OR Apache-2.0
//! Real and complex numbers of twice the digits, of several waves side by side, and matrices of them.

use num_complex::Complex64;

use super::{LANES, larger};
use crate::spectral::double::Double;

/// Matrices of a thread.
pub(super) struct Matrices<'a, N> {
    pub step: &'a mut [N],
    pub power: &'a mut [N],
    pub sum: &'a mut [N],
    pub other: &'a mut [N],
}

/// What matrices consist of: real or complex numbers of some waves.
pub(super) trait MatrixElement: Copy {
    const ZERO: Self;
    fn one() -> Self;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn times_number(self, number: f64) -> Self;
    fn without_faded(self) -> Self;
    /// A factor times a root.
    fn of_product(factor: Complex<1>, root: Complex<LANES>) -> Self;
    /// Puts it as f64, and returns the largest absolute value.
    fn put(self, to: &mut [Complex64]) -> f64;
    /// A thread's matrices of these numbers.
    fn matrices<'a>(
        real: &'a mut [Vec<Double<LANES>>; 4],
        complex: &'a mut [Vec<Complex<LANES>>; 4],
    ) -> Matrices<'a, Self>;
}

fn borrowed<N>([step, power, sum, other]: &mut [Vec<N>; 4]) -> Matrices<'_, N> {
    Matrices { step, power, sum, other }
}

impl MatrixElement for Double<LANES> {
    const ZERO: Self = Double::ZERO;

    #[inline(always)]
    fn one() -> Self {
        Self::from_f64(1.0)
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Double::plus(self, other)
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        Double::times(self, other)
    }

    #[inline(always)]
    fn times_number(self, number: f64) -> Self {
        Double::times(self, Self::from_f64(number))
    }

    #[inline(always)]
    fn without_faded(self) -> Self {
        Double::without_faded(self)
    }

    /// Its real part: the imaginary ones cancel.
    #[inline(always)]
    fn of_product(factor: Complex<1>, root: Complex<LANES>) -> Self {
        let (re, im) = (Self::splat(factor.re), Self::splat(factor.im));
        re.times(root.re).plus(im.times(root.im).negative())
    }

    #[inline(always)]
    fn put(self, to: &mut [Complex64]) -> f64 {
        let mut largest: f64 = 0.0;
        for (to, value) in to.iter_mut().zip(self.high) {
            *to = Complex64::from(value);
            largest = larger(largest, value.abs());
        }
        largest
    }

    fn matrices<'a>(
        real: &'a mut [Vec<Self>; 4],
        _: &'a mut [Vec<Complex<LANES>>; 4],
    ) -> Matrices<'a, Self> {
        borrowed(real)
    }
}

/// Complex numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Complex<const W: usize> {
    pub re: Double<W>,
    pub im: Double<W>,
}

impl<const W: usize> Complex<W> {
    pub const ZERO: Self = Self { re: Double::ZERO, im: Double::ZERO };

    #[inline(always)]
    pub fn plus(self, other: Self) -> Self {
        Self { re: self.re.plus(other.re), im: self.im.plus(other.im) }
    }

    #[inline(always)]
    pub fn times(self, other: Self) -> Self {
        let re = self.re.times(other.re).plus(self.im.times(other.im).negative());
        let im = self.re.times(other.im).plus(self.im.times(other.re));
        Self { re, im }
    }
}

impl MatrixElement for Complex<LANES> {
    const ZERO: Self = Complex::ZERO;

    #[inline(always)]
    fn one() -> Self {
        Self { re: Double::from_f64(1.0), im: Double::ZERO }
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Complex::plus(self, other)
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        Complex::times(self, other)
    }

    #[inline(always)]
    fn times_number(self, number: f64) -> Self {
        let number = Double::from_f64(number);
        Self { re: self.re.times(number), im: self.im.times(number) }
    }

    #[inline(always)]
    fn without_faded(self) -> Self {
        Self { re: self.re.without_faded(), im: self.im.without_faded() }
    }

    #[inline(always)]
    fn of_product(factor: Complex<1>, root: Self) -> Self {
        let factor = Self { re: Double::splat(factor.re), im: Double::splat(factor.im) };
        factor.times(root)
    }

    #[inline(always)]
    fn put(self, to: &mut [Complex64]) -> f64 {
        let mut largest: f64 = 0.0;
        for (w, to) in to.iter_mut().enumerate() {
            *to = Complex64::new(self.re.high[w], self.im.high[w]);
            largest = larger(largest, self.re.high[w].hypot(self.im.high[w]));
        }
        largest
    }

    fn matrices<'a>(
        _: &'a mut [Vec<Double<LANES>>; 4],
        complex: &'a mut [Vec<Self>; 4],
    ) -> Matrices<'a, Self> {
        borrowed(complex)
    }
}
