// SPDX-License-Identifier: MIT OR Apache-2.0
//! The types that sums are computed in.

use std::ops::Add;

use super::values::{self, Value};
use crate::storage::Storage;

/// A type of sums.
pub trait SumType: Value + PartialEq + Add<Output = Self> {
    /// What sums are divided by.
    type Divisor: Send + Sync;

    fn of<V: Value>(value: V) -> Self;
    fn cut_to<V: Value>(self) -> V;
    fn divisor(by: f64) -> Self::Divisor;
    fn divide(values: &mut [Self], by: &Self::Divisor);
}

/// A type of sums that has fractions.
pub trait Float: SumType + Storage<Sum = Self> + PartialOrd {
    /// What a result is rounded by at most, as a part of it.
    const UNIT: f64;

    /// The nearest whole number, and how far it is away: of magnitudes below [`values::CUT_SINGLE`], or 2^51.
    fn nearest(self) -> (Self, Self);
}

macro_rules! float {
    ($type:ident, $widen:ident, $cut:ident, $shift:expr) => {
        impl SumType for $type {
            type Divisor = Self;

            #[inline(always)]
            fn of<V: Value>(value: V) -> Self {
                value.$widen()
            }

            #[inline(always)]
            fn cut_to<V: Value>(self) -> V {
                V::$cut(self)
            }

            fn divisor(by: f64) -> Self {
                by as Self
            }

            #[inline(always)]
            fn divide(values: &mut [Self], by: &Self) {
                values.iter_mut().for_each(|value| *value /= by);
            }
        }

        impl Float for $type {
            const UNIT: f64 = Self::EPSILON as f64 / 2.0;

            #[inline(always)]
            fn nearest(self) -> (Self, Self) {
                let whole = (self + $shift) - $shift;
                (whole, (self - whole).abs())
            }
        }
    };
}
float!(f32, widen_single, cut_single, values::BITS_SINGLE);
float!(f64, widen, cut, values::BITS);

/// A divisor, by which numbers below 2^15 are divided without a division (Granlund and Montgomery, 1994): by a product with the
/// first 16 digits of its inverse, rounded up, and a shift.
pub struct Inverse {
    digits: u16,
    shift: u32,
}

/// Whole numbers from 0 to 2^15 - 1.
impl SumType for u16 {
    type Divisor = Inverse;

    #[inline(always)]
    fn of<V: Value>(value: V) -> Self {
        value.short()
    }

    #[inline(always)]
    fn cut_to<V: Value>(self) -> V {
        V::of_short(self)
    }

    fn divisor(by: f64) -> Inverse {
        let by = by as u32;
        assert!((2..1 << 15).contains(&by), "a divisor of 15 bits");
        let shift = (by - 1).ilog2();
        // Off by less than 1 of `by` in 2^(16 + shift), which is at least 2^15 times `by`: no quotient reaches the next number.
        Inverse { digits: (1u32 << (16 + shift)).div_ceil(by) as u16, shift }
    }

    #[inline(always)]
    fn divide(values: &mut [Self], by: &Inverse) {
        for value in values {
            *value = ((u32::from(*value) * u32::from(by.digits)) >> 16) as Self >> by.shift;
        }
    }
}

#[test]
fn quotients_of_short_numbers_are_those_of_whole_numbers() {
    for by in (2..700u16).chain([5_000, 16_384, 32_767]) {
        let mut values: Vec<u16> = (0..1 << 15).collect();
        u16::divide(&mut values, &u16::divisor(by.into()));
        assert!(values.iter().zip(0u16..).all(|(found, value)| *found == value / by), "{by}");
    }
}
