// SPDX-License-Identifier: MIT OR Apache-2.0
//! The types that arrays have in memory, and what each is computed with.

use compute::engine::cpu::Passes;
use half::{bf16, f16};

use super::real::Real;

/// A type of values in memory.
pub trait StoredType: Passes<Sum = Self::Computed> {
    /// What values are computed with: the type itself, or f32.
    type Computed: Real;

    /// Values that are computed with as they lie in memory, if this type is.
    fn computed(values: &[Self]) -> Option<&[Self::Computed]>;

    /// The values themselves, if they are written as they were computed.
    fn computed_mut(values: &mut [Self]) -> Option<&mut [Self::Computed]>;

    /// Whether values have to be widened before they are computed with.
    fn is_narrow() -> bool {
        Self::computed(&[]).is_none()
    }
}

macro_rules! stored {
    ($type:ty as $computed:ty, $values:ident => $as_they_are:expr) => {
        impl StoredType for $type {
            type Computed = $computed;

            fn computed($values: &[Self]) -> Option<&[$computed]> {
                $as_they_are
            }

            fn computed_mut($values: &mut [Self]) -> Option<&mut [$computed]> {
                $as_they_are
            }
        }
    };
}

stored!(f64 as f64, values => Some(values));
stored!(f32 as f32, values => Some(values));
stored!(f16 as f32, _values => None);
stored!(bf16 as f32, _values => None);
