// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of the element types, as they stand in the words that a lane holds.

use crate::fragment::Element;
use half::{bf16, f16};

/// A value rounded to the nearest of a type, ties to even, as it stands in a word.
#[must_use]
pub fn bits(element: Element, value: f64) -> u32 {
    match element {
        Element::F16 => u32::from(f16::from_f64(value).to_bits()),
        // `bf16::from_f64` overlooks the lower half of the value.
        Element::Bf16 => u32::from(bf16::from_f32(value as f32).to_bits()),
        Element::Tf32 => tf32_bits(value),
    }
}

/// The value that stands in the low bits of a word.
#[must_use]
pub fn value(element: Element, bits: u32) -> f64 {
    match element {
        Element::F16 => f16::from_bits(bits as u16).to_f64(),
        Element::Bf16 => bf16::from_bits(bits as u16).to_f64(),
        Element::Tf32 => f64::from(f32::from_bits(bits & !TF32_IGNORED)),
    }
}

/// The bits of an f32 that a tf32 product ignores.
const TF32_IGNORED: u32 = (1 << 13) - 1;

/// f32 with 10 explicit bits of precision. Adding half of the last kept bit, less one where that bit
/// is even, rounds to nearest even and carries into the exponent as it should.
fn tf32_bits(value: f64) -> u32 {
    let bits = (value as f32).to_bits();
    if !(value as f32).is_finite() {
        return bits;
    }
    let even = bits >> 13 & 1;
    (bits + (TF32_IGNORED >> 1) + even) & !TF32_IGNORED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tf32_rounds_to_the_nearest_even() {
        let ulp = 2f64.powi(-10);
        let round = |x: f64| value(Element::Tf32, bits(Element::Tf32, x));
        assert_eq!(round(1.0 + 0.49 * ulp), 1.0);
        assert_eq!(round(1.0 + 0.5 * ulp), 1.0);
        assert_eq!(round(1.0 + 1.5 * ulp), 1.0 + 2.0 * ulp);
        assert_eq!(round(-(2.0 - 0.25 * ulp)), -2.0);
        assert!(round(f64::INFINITY).is_infinite());
    }
}
