// SPDX-License-Identifier: MIT OR Apache-2.0
//! The types that filters read and write, and how a sum becomes a value of each: as C converts, which cuts the digits
//! behind the point off.

use std::any::TypeId;

use bytemuck::Pod;

/// A type of values of arrays.
pub trait Value: Pod + Send + Sync {
    /// The largest magnitude of a whole number; none of types that hold others, too.
    const LARGEST: Option<f64>;

    /// The value as a factor.
    fn widen(self) -> f64;

    /// Cut off, and where it is beyond what the type holds, its lowest bits.
    fn cut(sum: f64) -> Self;

    /// The value as a factor.
    fn widen_single(self) -> f32 {
        self.widen() as f32
    }

    /// The value as a whole number of 16 bits, if it is one.
    fn short(self) -> u16 {
        self.widen() as u16
    }

    /// The lowest bits of a whole number.
    fn of_short(sum: u16) -> Self {
        Self::cut(f64::from(sum))
    }

    /// [`Self::cut`] of a sum of single precision, of a magnitude below 2^22.
    fn cut_single(sum: f32) -> Self {
        Self::cut(f64::from(sum))
    }
}

/// A number to which f64 adds whole numbers of magnitudes below 2^51 exactly, in its last bits.
pub const BITS: f64 = 6_755_399_441_055_744.0;
/// And f32 those below this.
pub const BITS_SINGLE: f32 = 12_582_912.0;
pub const CUT_SINGLE: f64 = 4_194_304.0;

/// The last bits of a number that is cut to a whole one of less than 2^51. A loop of this is one of vectors, which one of Rust's
/// conversions is not.
#[inline(always)]
fn last_bits(sum: f64) -> u64 {
    (sum.trunc() + BITS).to_bits()
}

/// The last bits of a number that is cut to a whole one of less than 2^22.
#[inline(always)]
fn last_bits_single(sum: f32) -> u32 {
    (sum.trunc() + BITS_SINGLE).to_bits()
}

macro_rules! small {
    ($($type:ty: $single:expr;)*) => {$(
        impl Value for $type {
            const LARGEST: Option<f64> = Some(if <$type>::MIN == 0 {
                <$type>::MAX as f64
            } else {
                -(<$type>::MIN as f64)
            });

            #[inline(always)]
            fn widen(self) -> f64 {
                f64::from(self)
            }

            #[inline(always)]
            fn cut(sum: f64) -> Self {
                last_bits(sum) as Self
            }

            #[inline(always)]
            fn widen_single(self) -> f32 {
                self as f32
            }

            #[inline(always)]
            fn short(self) -> u16 {
                self as u16
            }

            #[inline(always)]
            fn of_short(sum: u16) -> Self {
                sum as Self
            }

            #[inline(always)]
            fn cut_single(sum: f32) -> Self {
                let cut: fn(f32) -> Self = $single;
                cut(sum)
            }
        }
    )*};
}
small! {
    u8: |sum| last_bits_single(sum) as Self;
    i8: |sum| last_bits_single(sum) as Self;
    u16: |sum| last_bits_single(sum) as Self;
    i16: |sum| last_bits_single(sum) as Self;
    i32: |sum| Self::cut(f64::from(sum));
}

macro_rules! large {
    ($($type:ty)*) => {$(
        impl Value for $type {
            const LARGEST: Option<f64> = Some(if <$type>::MIN == 0 {
                <$type>::MAX as f64
            } else {
                -(<$type>::MIN as f64)
            });

            #[inline(always)]
            fn widen(self) -> f64 {
                self as f64
            }

            #[inline(always)]
            fn cut(sum: f64) -> Self {
                // By way of whole numbers with a sign, which hold all but the upper half of u64.
                if sum < 9.2e18 { sum as i64 as Self } else { sum as Self }
            }
        }
    )*};
}
large!(u32 i64 u64);

impl Value for f32 {
    const LARGEST: Option<f64> = None;

    #[inline(always)]
    fn widen(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn cut(sum: f64) -> Self {
        sum as Self
    }

    #[inline(always)]
    fn widen_single(self) -> f32 {
        self
    }

    #[inline(always)]
    fn cut_single(sum: f32) -> Self {
        sum
    }
}

impl Value for f64 {
    const LARGEST: Option<f64> = None;

    #[inline(always)]
    fn widen(self) -> f64 {
        self
    }

    #[inline(always)]
    fn cut(sum: f64) -> Self {
        sum
    }
}

/// The values as those of another type, if they are of that.
pub fn reinterpret<A: Pod, B: Pod>(values: &[A]) -> Option<&[B]> {
    (TypeId::of::<A>() == TypeId::of::<B>()).then(|| bytemuck::cast_slice(values))
}

/// The values as those of another type, if they are of that.
pub fn reinterpret_mut<A: Pod, B: Pod>(values: &mut [A]) -> Option<&mut [B]> {
    (TypeId::of::<A>() == TypeId::of::<B>()).then(|| bytemuck::cast_slice_mut(values))
}
