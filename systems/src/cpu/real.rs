// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two types that the CPU computes in.

use std::ops::{Add, Div, Mul, Neg, Sub};

use fearless_simd::{Simd, SimdFloat, SimdFloatElement};
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use super::super::expression::Function;
use problem::Dtype;
use problem::noise::Noise;
use problem::values::Element;

/// f32 or f64.
pub trait Real:
    Element
    + x86_writer::FloatType
    + SimdFloatElement
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// As many values as a register holds.
    type Vector<S: Simd>: SimdFloat<S, Element = Self>;

    /// 0
    const ZERO: Self;

    /// A function of one number that is no operator.
    fn of_one(self, function: Function) -> Self;
    /// A function of two numbers that is no operator.
    fn of_two(self, other: Self, function: Function) -> Self;
    /// Magnitude.
    fn magnitude(self) -> Self;
    /// Square root.
    fn root(self) -> Self;
    /// A random number of a step and a point.
    fn random(noise: Noise, step: u64, point: [isize; 3]) -> Self;
    /// Rounds values to an element type, in which they stay representable.
    fn store(values: &mut [Self], dtype: Dtype);
}

macro_rules! real {
    ($type:ty, $vector:ident, $random:ident, $store:expr) => {
        impl Real for $type {
            type Vector<S: Simd> = S::$vector;

            const ZERO: Self = 0.0;

            #[inline(always)]
            fn of_one(self, function: Function) -> Self {
                match function {
                    Function::Exp => self.exp(),
                    Function::Ln => self.ln(),
                    Function::Sin => self.sin(),
                    Function::Cos => self.cos(),
                    Function::Tanh => self.tanh(),
                    Function::Floor => self.floor(),
                    other => Self::from_f64(other.of(&[self.to_f64()])),
                }
            }

            #[inline(always)]
            fn of_two(self, other: Self, function: Function) -> Self {
                match function {
                    Function::Power => self.powf(other),
                    function => Self::from_f64(function.of(&[self.to_f64(), other.to_f64()])),
                }
            }

            #[inline(always)]
            fn magnitude(self) -> Self {
                self.abs()
            }

            #[inline(always)]
            fn root(self) -> Self {
                self.sqrt()
            }

            #[inline(always)]
            fn random(noise: Noise, step: u64, point: [isize; 3]) -> Self {
                noise.$random(step, point)
            }

            fn store(values: &mut [Self], dtype: Dtype) {
                $store(values, dtype);
            }
        }
    };
}

real!(f64, f64s, double, |_: &mut [f64], _| ());
real!(f32, f32s, single, |values: &mut [f32], dtype| match dtype {
    Dtype::F16 => {
        let mut stored = vec![f16::ZERO; values.len()];
        stored.convert_from_f32_slice(values);
        stored.convert_to_f32_slice(values);
    }
    Dtype::Bf16 => {
        for value in values {
            *value = bf16::from_f32(*value).to_f32();
        }
    }
    _ => (),
});
