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

    /// [`Self::cut`] of a sum of single precision.
    fn cut_single(sum: f32) -> Self {
        Self::cut(f64::from(sum))
    }
}

macro_rules! small {
    ($($type:ty)*) => {$(
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
                sum as i32 as Self
            }

            #[inline(always)]
            fn widen_single(self) -> f32 {
                self as f32
            }

            #[inline(always)]
            fn cut_single(sum: f32) -> Self {
                sum as i32 as Self
            }
        }
    )*};
}
small!(u8 i8 u16 i16 i32);

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
pub fn as_same<A: Pod, B: Pod>(values: &[A]) -> Option<&[B]> {
    (TypeId::of::<A>() == TypeId::of::<B>()).then(|| bytemuck::cast_slice(values))
}

/// The values as those of another type, if they are of that.
pub fn as_same_mut<A: Pod, B: Pod>(values: &mut [A]) -> Option<&mut [B]> {
    (TypeId::of::<A>() == TypeId::of::<B>()).then(|| bytemuck::cast_slice_mut(values))
}
