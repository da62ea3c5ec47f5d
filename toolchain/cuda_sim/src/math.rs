// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arithmetic.

use cuda_mma::fragment::Element;
use cuda_mma::number::bits;
use half::f16;

/// `fma.rn.f32`.
#[must_use]
pub fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
    a.mul_add(b, c)
}

/// `fma.rn.f64`.
#[must_use]
pub fn fma_f64(a: f64, b: f64, c: f64) -> f64 {
    a.mul_add(b, c)
}

/// `dp4a.u32.s32`.
#[must_use]
pub fn add_byte_products(a: u32, b: u32, sum: i32) -> i32 {
    let pairs = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
    pairs.fold(sum, |sum, (a, b)| sum.wrapping_add(i32::from(a) * i32::from(b as i8)))
}

/// `prmt.b32`.
#[must_use]
pub fn permute(low: u32, high: u32, selector: u32) -> u32 {
    let bytes = (u64::from(high) << 32 | u64::from(low)).to_le_bytes();
    let byte = |digit: usize| bytes[(selector >> (4 * digit) & 7) as usize];
    u32::from_le_bytes(std::array::from_fn(byte))
}

/// `prmt.b32` under a predicate.
#[must_use]
pub fn permute_unless(keep: u32, kept: u32, low: u32, high: u32, selector: u32) -> u32 {
    if keep == 0 { permute(low, high, selector) } else { kept }
}

/// `cvt.f32.f16`.
#[must_use]
pub fn f32_from_f16(bits: u16) -> f32 {
    f16::from_bits(bits).to_f32()
}

/// `cvt.rn.tf32.f32`.
#[must_use]
pub fn round_tf32(value: f32) -> u32 {
    const NAN: u32 = 0x7fff_ffff;
    if value.is_nan() { NAN } else { bits(Element::Tf32, value.into()) }
}

/// `mov.b32`.
#[must_use]
pub fn pin_f32(value: f32) -> f32 {
    value
}

/// `mov.b64`.
#[must_use]
pub fn pin_f64(value: f64) -> f64 {
    value
}
