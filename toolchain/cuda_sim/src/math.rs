// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arithmetic.

/// `fma.rn.f32`.
#[must_use]
pub fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
    a.mul_add(b, c)
}
