// SPDX-License-Identifier: MIT OR Apache-2.0
//! `wgmma` in software, on matrices: which lane has what, and what lies where, is the caller's.

use super::Unordered;
use crate::fragment::Element;
use crate::number;
use crate::warpgroup::{M, WarpgroupFactor, WarpgroupMma};

impl WarpgroupFactor {
    /// The value that stands in the low bits of a word.
    #[must_use]
    pub fn value(self, bits: u32) -> f64 {
        match self {
            Self::F16 => number::value(Element::F16, bits),
            Self::Bf16 => number::value(Element::Bf16, bits),
            Self::Tf32 => number::value(Element::Tf32, bits),
            Self::E4m3 => small(bits, 3),
            // The upper half of an f16.
            Self::E5m2 => number::value(Element::F16, bits << 8 & 0xff00),
        }
    }

    /// A value rounded to the nearest, ties to even, as it stands in a word.
    #[must_use]
    pub fn bits(self, value: f64) -> u32 {
        match self {
            Self::F16 => number::bits(Element::F16, value),
            Self::Bf16 => number::bits(Element::Bf16, value),
            Self::Tf32 => number::bits(Element::Tf32, value),
            Self::E4m3 | Self::E5m2 => {
                let distance = |bits: u32| (self.value(bits) - value).abs();
                let finite = (0..256).filter(|&bits| self.value(bits).is_finite());
                let order = |&a: &u32, &b: &u32| {
                    distance(a).total_cmp(&distance(b)).then((a % 2).cmp(&(b % 2)))
                };
                finite.min_by(order).expect("most of the 256 are finite")
            }
        }
    }
}

/// A number of 8 bits whose only one that is none has all bits set.
fn small(bits: u32, mantissa: u32) -> f64 {
    let sign = if bits & 0x80 == 0 { 1.0 } else { -1.0 };
    let magnitude = bits & 0x7f;
    if magnitude == 0x7f {
        return f64::NAN;
    }
    let (exponent, fraction) = (magnitude >> mantissa, magnitude & ((1 << mantissa) - 1));
    let bias = (1 << (6 - mantissa)) - 1;
    let unit = f64::from(1 << mantissa);
    let fraction = f64::from(fraction) / unit;
    let scale = |exponent: i32| 2f64.powi(exponent - bias);
    match exponent {
        0 => sign * fraction * scale(1),
        exponent => sign * (1.0 + fraction) * scale(exponent as i32),
    }
}

/// The column of A at which a kept value stands, by its metadata and its neighbour's.
///
/// # Errors
/// Metadata that no instruction accepts.
pub fn column(
    mma: WarpgroupMma,
    row: usize,
    kept: usize,
    bits: impl Fn(usize) -> u32,
) -> Result<usize, Unordered> {
    if mma.a == WarpgroupFactor::Tf32 {
        return match bits(kept) & 15 {
            0b0100 => Ok(2 * kept),
            0b1110 => Ok(2 * kept + 1),
            halves => {
                let (first, second) = (halves as usize & 3, halves as usize >> 2);
                Err(Unordered { row, group: kept, first, second })
            }
        };
    }
    let group = kept / 2;
    let [first, second] = [2 * group, 2 * group + 1].map(|kept| bits(kept) as usize & 3);
    if first >= second {
        return Err(Unordered { row, group, first, second });
    }
    Ok(4 * group + if kept.is_multiple_of(2) { first } else { second })
}

/// D = A·B + C, of which `d` has C at first and D at last, row by row. A is given by its kept values and
/// the columns at which they stand, row by row; B by its columns, each of K values.
///
/// Products are exact; each D is the f64 sum of its products and C, rounded once to f32, as in
/// [`super::mma_sp`]. Hardware sums of factors of 8 bits have fewer bits than that.
pub fn multiply(mma: WarpgroupMma, a: &[(f64, usize)], b: &[f64], d: &mut [f32]) {
    let (kept, k) = (mma.kept(), mma.k());
    for row in 0..M {
        let left = &a[row * kept..][..kept];
        for column in 0..mma.n {
            let right = &b[column * k..][..k];
            let products: f64 = left.iter().map(|&(value, at)| value * right[at]).sum();
            let d = &mut d[row * mma.n + column];
            *d = (f64::from(*d) + products) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_8_bits_are_those_of_their_definition() {
        let value = |bits| WarpgroupFactor::E4m3.value(bits);
        assert_eq!([0, 1, 8, 0x38, 0x7e].map(value), [0.0, 1.0 / 512.0, 1.0 / 64.0, 1.0, 448.0]);
        assert_eq!(value(0xb8), -1.0);
        assert!(value(0x7f).is_nan() && value(0xff).is_nan());
        let value = |bits| WarpgroupFactor::E5m2.value(bits);
        assert_eq!([0, 1, 0x3c, 0x7b, 0xbc].map(value), [0.0, 2f64.powi(-16), 1.0, 57344.0, -1.0]);
        assert!(value(0x7c).is_infinite());
        for factor in [WarpgroupFactor::E4m3, WarpgroupFactor::E5m2] {
            for bits in (0..256).filter(|&bits| bits != 0x80 && factor.value(bits).is_finite()) {
                assert_eq!(factor.bits(factor.value(bits)), bits);
            }
        }
        // Halfway between 1 and 1.125, and between 1.125 and 1.25.
        assert_eq!(WarpgroupFactor::E4m3.bits(1.0625), 0x38);
        assert_eq!(WarpgroupFactor::E4m3.bits(1.1875), 0x3a);
    }
}
