// SPDX-License-Identifier: MIT OR Apache-2.0
//! Complex products on dense tensor cores, one after the other in registers.

use crate::dense_f64::{A, B, C, OPERAND, load_a, multiply_add};
use crate::element::{Real, from_words};
use crate::unroll::unroll;

/// Real matrices that a complex one is made of.
pub const PARTS: usize = 3;

/// The matrix of a discrete Fourier transform of up to 16 points, of whose elements `cos θ − i sin θ` a lane has
/// `cos θ`, `sin θ − cos θ` and `−(cos θ + sin θ)`. The three serve both directions (squeezed registers, §3.3): the
/// inverse takes the second for the third.
#[derive(Clone, Copy)]
pub struct Matrix([A; PARTS]);

impl Matrix {
    /// The `index`th of some.
    ///
    /// # Safety
    /// The operand has so many, and stays as it is.
    #[inline(always)]
    pub(super) unsafe fn load(operand: *const u32, index: usize, lane: u32) -> Self {
        let start = PARTS * index;
        // SAFETY: as the caller promises.
        Self(unsafe {
            [
                load_a(operand, start, lane),
                load_a(operand, start + 1, lane),
                load_a(operand, start + 2, lane),
            ]
        })
    }

    /// Numbers of some matrices in an operand.
    #[must_use]
    pub const fn numbers(count: usize) -> usize {
        count * PARTS * OPERAND
    }
}

/// The second factor of a product: 16 × 16 complex numbers, of which the first 8 and the last 8 columns are a product
/// of the hardware each.
#[derive(Clone, Copy)]
pub(super) struct RightFactor {
    pub re: [B; 2],
    pub im: [B; 2],
}

/// A product: 16 × 16 complex numbers.
#[derive(Clone, Copy)]
pub(super) struct Square {
    pub re: [C; 2],
    pub im: [C; 2],
}

impl Square {
    /// Transposed, as the next factor (swizzled fragments, §3.3): nothing moves. A lane has rows g and g + 8 and of
    /// each columns 2t, 2t + 1, 2t + 8 and 2t + 9, and a factor needs four rows of two columns: so rows of a factor are
    /// in that order ([`super::row_of_slot`]).
    #[inline(always)]
    pub(super) fn transposed(self) -> RightFactor {
        let turn = |[a, b]: [C; 2]| [[a[0], a[1], b[0], b[1]], [a[2], a[3], b[2], b[3]]];
        RightFactor { re: turn(self.re), im: turn(self.im) }
    }

    /// Each number times a complex one, which `load` gives for each of this lane's 8.
    #[inline(always)]
    pub(super) fn scaled_by(mut self, load: impl Fn(u32) -> [u32; 4]) -> Self {
        unroll!(index < 8 => {
            let (half, i) = (index / 4, index % 4);
            let [a, b, c, d] = load(index as u32);
            let (by, turn) = (from_words([a, b]), from_words([c, d]));
            let (re, im) = (self.re[half][i], self.im[half][i]);
            // SAFETY: in a kernel.
            unsafe {
                self.re[half][i] = re.multiply_add(by, im.times(-turn));
                self.im[half][i] = im.multiply_add(by, re.times(turn));
            }
        });
        self
    }
}

/// `F·x`, or `F⁻¹·x` but for the scale: of `x + iy` three real products for four,
///
/// ```text
/// k = cos·(x + y)   re = k + (sin − cos)·y   im = k − (cos + sin)·x        F
///                   re = k − (cos + sin)·y   im = k + (sin − cos)·x        F⁻¹
/// ```
///
/// # Safety
/// The whole warp calls it.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub(super) unsafe fn transform<const BACK: bool>(matrix: &Matrix, x: RightFactor) -> Square {
    // SAFETY: as the caller promises.
    let [(re0, im0), (re1, im1)] = unsafe {
        [of_half::<BACK>(matrix, x.re[0], x.im[0]), of_half::<BACK>(matrix, x.re[1], x.im[1])]
    };
    Square { re: [re0, re1], im: [im0, im1] }
}

/// `F·x`, or `F⁻¹·x` but for the scale, of 8 columns of `x`: the real and the imaginary part of the product.
///
/// # Safety
/// The whole warp calls it.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
unsafe fn of_half<const BACK: bool>(matrix: &Matrix, re: B, im: B) -> (C, C) {
    let Matrix([cos, less, more]) = *matrix;
    let (of_im, of_re) = if BACK { (more, less) } else { (less, more) };
    let ([a, b, c, d], [e, f, g, h]) = (re, im);
    let sum = [a + e, b + f, c + g, d + h];
    // SAFETY: all lanes execute it.
    unsafe {
        let both = multiply_add(cos, sum, [0.0; 4]);
        (multiply_add(of_im, im, both), multiply_add(of_re, re, both))
    }
}
