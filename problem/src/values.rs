// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values as grids store them, and the types that they are of.

use cuda_mma::fragment;
use half::{bf16, f16};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};
use transform::factors::Factors;
use transform::{Stencil, round};

use crate::names::{self, UnknownName};
use crate::{with_dtype, with_values};

/// How values are stored and multiplied.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    strum::Display,
    EnumMessage,
    EnumString,
    IntoStaticStr,
    VariantArray,
    Serialize,
    Deserialize,
)]
#[strum(parse_err_ty = UnknownName, parse_err_fn = names::unknown::<Dtype>)]
pub enum Dtype {
    /// IEEE half precision, 2 bytes
    #[strum(to_string = "f16", serialize = "float16", serialize = "fp16", serialize = "half")]
    F16,
    /// bfloat16: the upper half of an f32, 2 bytes
    #[strum(to_string = "bf16", serialize = "bfloat16")]
    Bf16,
    /// Stored as f32, 4 bytes; weights, and on tensor cores values, are rounded to 11 bits
    #[strum(to_string = "tf32")]
    Tf32,
    /// IEEE single precision, 4 bytes
    #[strum(to_string = "f32", serialize = "float32", serialize = "fp32", serialize = "single")]
    F32,
    /// IEEE double precision, 8 bytes
    #[strum(to_string = "f64", serialize = "float64", serialize = "fp64", serialize = "double")]
    F64,
}

impl Dtype {
    /// All of them, the narrowest first.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Size of one value.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::Tf32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// The type of the same storage whose products are as exact.
    #[must_use]
    pub fn stored(self) -> Self {
        if self == Self::Tf32 { Self::F32 } else { self }
    }

    /// The factors with which sparse tensor cores compute it, if they do.
    #[must_use]
    pub fn factors(self) -> Option<Factors> {
        match self {
            Self::F16 => Some(Factors::One(fragment::Element::F16)),
            Self::Bf16 => Some(Factors::One(fragment::Element::Bf16)),
            Self::Tf32 => Some(Factors::One(fragment::Element::Tf32)),
            Self::F32 => Some(Factors::Split),
            Self::F64 => None,
        }
    }

    /// A value as it is stored.
    #[must_use]
    pub fn round(self, value: f64) -> f64 {
        with_dtype!(self, T => Element::to_f64(<T as Element>::from_f64(value)))
    }

    /// What weights are rounded to; f64 keeps them.
    #[must_use]
    pub fn weights(self) -> Option<round::FloatFormat> {
        match self {
            Self::F16 => Some(round::F16),
            Self::Bf16 => Some(round::BF16),
            Self::Tf32 => Some(round::TF32),
            Self::F32 => Some(round::F32),
            Self::F64 => None,
        }
    }

    /// A stencil with its weights as kernels of this type have them, of the same sum.
    #[must_use]
    pub fn round_weights(self, stencil: &Stencil) -> Stencil {
        match self.weights() {
            Some(format) => round::round(stencil, format).stencil,
            None => stencil.clone(),
        }
    }
}

/// A type that grids store.
pub trait Element: bytemuck::Pod + Default + Send + Sync {
    /// Its name.
    const DTYPE: Dtype;
    /// The exact value.
    fn to_f64(self) -> f64;
    /// The nearest value, ties to even.
    fn from_f64(value: f64) -> Self;
    /// Whether it is a number, and not infinite.
    fn is_finite(self) -> bool;
    /// A value in [0, 1), exact, from the top bits of a random word.
    fn from_bits_of(random: u64) -> Self;
    /// Puts a vector into its [`Values`].
    fn wrap(values: Vec<Self>) -> Values;
    /// The vector inside, if it is of this type.
    fn unwrap(values: &Values) -> Option<&[Self]>;
    /// The vector itself, if it is of this type.
    fn take(values: Values) -> Option<Vec<Self>>;
}

macro_rules! element {
    ($type:ty, $variant:ident, $digits:expr, $to:expr, $from:expr) => {
        impl Element for $type {
            const DTYPE: Dtype = Dtype::$variant;
            #[inline]
            fn to_f64(self) -> f64 {
                $to(self)
            }
            #[inline]
            fn from_f64(value: f64) -> Self {
                $from(value)
            }
            #[inline]
            fn is_finite(self) -> bool {
                <$type>::is_finite(self)
            }
            #[inline]
            fn from_bits_of(random: u64) -> Self {
                $from((random >> (64 - $digits)) as f64 / (1u64 << $digits) as f64)
            }
            #[inline]
            fn wrap(values: Vec<Self>) -> Values {
                Values::$variant(values)
            }
            #[inline]
            fn unwrap(values: &Values) -> Option<&[Self]> {
                if let Values::$variant(values) = values { Some(values) } else { None }
            }
            #[inline]
            fn take(values: Values) -> Option<Vec<Self>> {
                if let Values::$variant(values) = values { Some(values) } else { None }
            }
        }
    };
}

/// Values of this type.
impl<T: Element> From<Vec<T>> for Values {
    fn from(values: Vec<T>) -> Self {
        T::wrap(values)
    }
}

element!(f16, F16, 11, f16::to_f64, f16::from_f64);
// `bf16::from_f64` overlooks the lower half of the value.
element!(bf16, Bf16, 8, bf16::to_f64, |value: f64| bf16::from_f32(value as f32));
element!(f32, F32, 24, f64::from, |value: f64| value as f32);
element!(f64, F64, 53, |value| value, |value| value);

/// Values that are looked at together; only in a part with one that is not finite its place is searched for.
const PART: usize = 1 << 14;

/// Place and value of the first that is infinite or not a number.
pub fn first_not_finite<T: Element>(values: &[T]) -> Option<(usize, f64)> {
    // A loop that ends where it finds one would look at one value at a time.
    let flawed = |part: &[T]| part.iter().fold(false, |any, value| any | !value.is_finite());
    let first = values.par_chunks(PART).position_first(flawed)? * PART;
    let index = first + values[first..].iter().position(|value| !value.is_finite())?;
    Some((index, values[index].to_f64()))
}

/// The values of a grid.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Half precision.
    F16(Vec<f16>),
    /// bfloat16.
    Bf16(Vec<bf16>),
    /// Single precision.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
}

impl Values {
    /// How many they are.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "no grid is empty")]
    pub fn len(&self) -> usize {
        with_values!(self, values => values.len())
    }

    /// The values rounded to another type.
    #[must_use]
    pub fn cast(self, dtype: Dtype) -> Self {
        if dtype.stored() == self.dtype() {
            return self;
        }
        with_values!(&self, from => with_dtype!(dtype, T => {
            T::wrap(from.par_iter().map(|value| T::from_f64(Element::to_f64(*value))).collect())
        }))
    }

    /// Place and value of the first that is infinite or not a number.
    #[must_use]
    pub fn first_not_finite(&self) -> Option<(usize, f64)> {
        with_values!(self, values => first_not_finite(values))
    }

    /// Their type, in which tf32 is f32.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        match self {
            Self::F16(_) => Dtype::F16,
            Self::Bf16(_) => Dtype::Bf16,
            Self::F32(_) => Dtype::F32,
            Self::F64(_) => Dtype::F64,
        }
    }
}

/// Runs an expression with the vector of [`Values`], whatever its type.
#[macro_export]
macro_rules! with_values {
    ($values:expr, $name:ident => $body:expr) => {
        match $values {
            $crate::Values::F16($name) => $body,
            $crate::Values::Bf16($name) => $body,
            $crate::Values::F32($name) => $body,
            $crate::Values::F64($name) => $body,
        }
    };
}

/// Runs an expression with an alias for the Rust type that a [`Dtype`] is stored as.
#[macro_export]
macro_rules! with_dtype {
    ($dtype:expr, $name:ident => $body:expr) => {
        match $dtype {
            $crate::Dtype::F16 => {
                type $name = half::f16;
                $body
            }
            $crate::Dtype::Bf16 => {
                type $name = half::bf16;
                $body
            }
            $crate::Dtype::Tf32 | $crate::Dtype::F32 => {
                type $name = f32;
                $body
            }
            $crate::Dtype::F64 => {
                type $name = f64;
                $body
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_by_any_of_their_names_and_printed_by_the_first() {
        for (text, dtype) in [("f16", Dtype::F16), ("half", Dtype::F16), ("double", Dtype::F64)] {
            assert_eq!(text.parse(), Ok(dtype));
        }
        for dtype in Dtype::ALL {
            assert_eq!(dtype.to_string().parse(), Ok(*dtype));
        }
        let refused = "f8".parse::<Dtype>().unwrap_err().to_string();
        assert_eq!(refused, "'f8' is none of f16, bf16, tf32, f32, f64");
    }

    #[test]
    fn the_first_value_that_is_not_finite_is_found() {
        for points in [0, 1, PART - 1, PART, 2 * PART + 3] {
            let mut values = vec![f16::ONE; points];
            assert_eq!(first_not_finite(&values), None);
            for (at, flaw) in [(points, f16::NAN), (points / 2 + 1, f16::INFINITY), (1, f16::NAN)] {
                let Some(index) = at.checked_sub(1).filter(|index| *index < points) else {
                    continue;
                };
                values[index] = flaw;
                let (found, value) = first_not_finite(&values).unwrap();
                assert_eq!((found, value.is_nan()), (index, flaw.is_nan()), "{points}");
            }
        }
        let largest = [f64::MAX, -f64::MIN_POSITIVE, f64::NEG_INFINITY];
        assert_eq!(first_not_finite(&largest), Some((2, f64::NEG_INFINITY)));
        // Beyond f32, within f64.
        assert_eq!(first_not_finite(&[1e300]), None);
        assert_eq!(
            Values::F32(vec![1e38, 1e39f64 as f32]).first_not_finite(),
            Some((1, f64::INFINITY))
        );
    }
}
