// SPDX-License-Identifier: MIT OR Apache-2.0
//! The numbers of an element type, as f64, which holds them all exactly.

use cuda_mma::number::{bits, value};
use half::{bf16, f16};
use stencil::Dtype;
use transform::factors::Factors;

/// Rounded to the nearest number that a product takes.
#[must_use]
pub fn factor(dtype: Dtype, number: f64) -> f64 {
    match dtype.factors().and_then(Factors::element) {
        Some(element) => value(element, bits(element, number)),
        None => dtype.round(number),
    }
}

/// The largest relative error of [`factor`].
#[must_use]
pub fn roundoff(dtype: Dtype) -> f64 {
    2f64.powi(match dtype {
        Dtype::F16 | Dtype::Tf32 => -11,
        Dtype::Bf16 => -8,
        Dtype::F32 => -24,
        Dtype::F64 => -53,
    })
}

/// From a finite stored number to the next larger one in magnitude.
#[must_use]
pub fn spacing(dtype: Dtype, number: f64) -> f64 {
    let number = number.abs();
    let next = match dtype {
        Dtype::F16 => f16::from_bits(f16::from_f64(number).to_bits() + 1).to_f64(),
        Dtype::Bf16 => bf16::from_bits(bf16::from_f64(number).to_bits() + 1).to_f64(),
        Dtype::Tf32 | Dtype::F32 => (number as f32).next_up().into(),
        Dtype::F64 => number.next_up(),
    };
    next - number
}

/// How far what CUDA cores compute may be off: they sum f64 in f64, and other types in f32.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// Of what multiply-adds lose, as a part of the sum of absolute terms.
    summing: f64,
    /// Of what is stored: the largest relative error, and the largest of the smallest numbers.
    storing: [f64; 2],
}

impl Bound {
    /// The bound of so many multiply-adds one after the other, and one rounding to the type. The right value of
    /// f64 has itself been rounded as often.
    #[must_use]
    pub fn of_terms(dtype: Dtype, terms: usize) -> Self {
        let unit = if dtype == Dtype::F64 { 2.0 * 2f64.powi(-53) } else { 2f64.powi(-24) };
        let storing = match dtype {
            Dtype::F16 => [2f64.powi(-11), 2f64.powi(-25)],
            Dtype::Bf16 => [2f64.powi(-8), 2f64.powi(-134)],
            // Sums are stored as they are.
            Dtype::Tf32 | Dtype::F32 | Dtype::F64 => [0.0; 2],
        };
        // (1 + u)^n - 1 is at most 1.01 n u while n u < 0.01.
        Self { summing: 1.01 * terms as f64 * unit, storing }
    }

    /// The bound at a point whose right value is this, and so large with absolute weights and values.
    #[must_use]
    pub fn at(&self, right: f64, size: f64) -> f64 {
        let Self { summing, storing: [relative, absolute] } = *self;
        let summing = summing * size;
        summing + ((right.abs() + summing) * relative).max(absolute)
    }
}
