// SPDX-License-Identifier: MIT OR Apache-2.0
//! Transforms of a few values in registers: `X[k] = Σ x[j] e^{−2πi jk/R}`.

// Indices, because iterators that are cut short keep arrays out of registers.
#![allow(clippy::needless_range_loop)]

use super::complex::{Complex, ComplexPart};
use crate::unroll::unroll;
use core::f64::consts::FRAC_1_SQRT_2;

/// Transforms `R` values in place.
///
/// # Safety
/// Only in a kernel.
#[inline(always)]
pub unsafe fn transform<P: ComplexPart, const R: usize>(x: &mut [Complex<P>; R]) {
    // SAFETY: as the caller promises.
    unsafe {
        match R {
            1 => {}
            2 => (x[0], x[1]) = two(x[0], x[1]),
            4 => [x[0], x[1], x[2], x[3]] = four([x[0], x[1], x[2], x[3]]),
            8 => {
                let even = four([x[0], x[2], x[4], x[6]]);
                let odd = four([x[1], x[3], x[5], x[7]]);
                let half = P::of(FRAC_1_SQRT_2);
                // e^{−iπ/4} = (1 − i)/√2 and its cube.
                let odd = [
                    odd[0],
                    odd[1].plus(odd[1].turned()).scaled(half),
                    odd[2].turned(),
                    odd[3].turned().minus(odd[3]).scaled(half),
                ];
                unroll!(k < 4 => (x[k], x[k + 4]) = two(even[k], odd[k]));
            }
            3 => odd::<P, R, 1>(x),
            5 => odd::<P, R, 2>(x),
            _ => odd::<P, R, 3>(x),
        }
    }
}

#[inline(always)]
fn two<P: ComplexPart>(a: Complex<P>, b: Complex<P>) -> (Complex<P>, Complex<P>) {
    (a.plus(b), a.minus(b))
}

#[inline(always)]
fn four<P: ComplexPart>([a, b, c, d]: [Complex<P>; 4]) -> [Complex<P>; 4] {
    let ((ac, a_c), (bd, b_d)) = (two(a, c), two(b, d));
    let b_d = b_d.turned();
    [ac.plus(bd), a_c.plus(b_d), ac.minus(bd), a_c.minus(b_d)]
}

/// cos and sin of `2π n / R` for R = 3, 5, 7.
const fn turn(radix: usize, n: usize) -> (f64, f64) {
    const SIXTH: f64 = 0.866_025_403_784_438_6;
    const FIFTH: [(f64, f64); 2] = [
        (0.309_016_994_374_947_45, 0.951_056_516_295_153_5),
        (-0.809_016_994_374_947_5, 0.587_785_252_292_473_1),
    ];
    const SEVENTH: [(f64, f64); 3] = [
        (0.623_489_801_858_733_6, 0.781_831_482_468_029_8),
        (-0.222_520_933_956_314_4, 0.974_927_912_181_823_6),
        (-0.900_968_867_902_419, 0.433_883_739_117_558_1),
    ];
    let n = n % radix;
    if n == 0 {
        return (1.0, 0.0);
    }
    let (near, sign) = if 2 * n > radix { (radix - n, -1.0) } else { (n, 1.0) };
    let (cos, sin) = match radix {
        3 => (-0.5, SIXTH),
        5 => FIFTH[near - 1],
        _ => SEVENTH[near - 1],
    };
    (cos, sign * sin)
}

/// Of an odd number R = 2H + 1 of values: sums and differences of `x[j]` and `x[R − j]` are multiplied by cosines and
/// sines.
#[inline(always)]
unsafe fn odd<P: ComplexPart, const R: usize, const H: usize>(x: &mut [Complex<P>; R]) {
    let first = x[0];
    let (mut sums, mut differences) = ([Complex::ZERO; H], [Complex::ZERO; H]);
    unroll!(j < H => (sums[j], differences[j]) = two(x[j + 1], x[R - 1 - j]));
    unroll!(j < H => x[0] = x[0].plus(sums[j]));
    unroll!(k < H => {
        let (mut even, mut odd) = (first, Complex::ZERO);
        unroll!(j < H => {
            let (cos, sin) = turn(R, (j + 1) * (k + 1));
            // SAFETY: as the caller promises.
            unsafe {
                even = even.plus_scaled(sums[j], P::of(cos));
                odd = odd.plus_scaled(differences[j], P::of(sin));
            }
        });
        (x[k + 1], x[R - 1 - k]) = two(even, odd.turned());
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<const R: usize>() {
        let value = |j: usize| (0.3 + j as f64 * 1.7 - (j * j) as f64 * 0.2, 0.9 - j as f64 * 0.6);
        let mut x = core::array::from_fn(|j| Complex { re: value(j).0, im: value(j).1 });
        // SAFETY: multiply-adds of the emulator are those of the CPU.
        unsafe { transform::<f64, R>(&mut x) };
        for (k, found) in x.into_iter().enumerate() {
            let (mut re, mut im) = (0.0, 0.0);
            for j in 0..R {
                let (sin, cos) = (-core::f64::consts::TAU * (j * k) as f64 / R as f64).sin_cos();
                re += value(j).0 * cos - value(j).1 * sin;
                im += value(j).0 * sin + value(j).1 * cos;
            }
            assert!((found.re - re).abs() + (found.im - im).abs() < 1e-13, "{R} {k}");
        }
    }

    #[test]
    fn every_radix_is_a_fourier_transform() {
        check::<1>();
        check::<2>();
        check::<3>();
        check::<4>();
        check::<5>();
        check::<7>();
        check::<8>();
    }
}
