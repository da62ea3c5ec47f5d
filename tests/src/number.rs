// SPDX-License-Identifier: MIT OR Apache-2.0
//! The numbers of an element type, as f64, which holds them all exactly.

use half::{bf16, f16};
use host::Dtype;
use transform::encode::{bits, value};
use transform::fragment::Factors;

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

/// The position of a stored number among all of its type.
#[must_use]
pub fn rank(dtype: Dtype, number: f64) -> i64 {
    let magnitude = match dtype {
        Dtype::F16 => i64::from(f16::from_f64(number.abs()).to_bits()),
        Dtype::Bf16 => i64::from(bf16::from_f64(number.abs()).to_bits()),
        Dtype::Tf32 | Dtype::F32 => i64::from((number.abs() as f32).to_bits()),
        Dtype::F64 => number.abs().to_bits() as i64,
    };
    if number.is_sign_negative() { -magnitude } else { magnitude }
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
