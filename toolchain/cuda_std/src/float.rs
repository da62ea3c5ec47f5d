// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions that `std` has on f32 and f64, and `core` has not, as a trait: rust-cuda's [`GpuFloat`].
//!
//! `sqrt` and `mul_add` are one instruction each and rounded correctly; `floor`, `ceil` and `trunc` are exact. The others
//! are those of the crate `libm`, on the GPU and in the emulator, so that both come to the same bits. How far they are
//! from the true values, at most, where a test of this crate looked: see `tests/float.rs`.

/// Functions of floating-point numbers.
pub trait GpuFloat: Copy + PartialOrd + sealed::Sealed {
    /// The largest whole number that is not larger.
    fn floor(self) -> Self;
    /// The smallest whole number that is not smaller.
    fn ceil(self) -> Self;
    /// The nearest whole number; halves away from 0.
    fn round(self) -> Self;
    /// The whole part.
    fn trunc(self) -> Self;
    /// What [`GpuFloat::trunc`] leaves.
    fn fract(self) -> Self;
    /// Without its sign.
    fn abs(self) -> Self;
    /// 1 with its sign; NaN stays.
    fn signum(self) -> Self;
    /// With another number's sign.
    fn copysign(self, sign: Self) -> Self;
    /// `self * a + b`, rounded once.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// The quotient that leaves a remainder from 0 on.
    fn div_euclid(self, divisor: Self) -> Self;
    /// The remainder from 0 on.
    fn rem_euclid(self, divisor: Self) -> Self;
    /// To a whole power, by repeated multiplication.
    fn powi(self, exponent: i32) -> Self;
    /// To a power.
    fn powf(self, exponent: Self) -> Self;
    /// The square root, rounded correctly.
    fn sqrt(self) -> Self;
    /// e to this power.
    fn exp(self) -> Self;
    /// 2 to this power.
    fn exp2(self) -> Self;
    /// The natural logarithm.
    fn ln(self) -> Self;
    /// The logarithm to a base.
    fn log(self, base: Self) -> Self;
    /// The logarithm to the base 2.
    fn log2(self) -> Self;
    /// The logarithm to the base 10.
    fn log10(self) -> Self;
    /// The cube root.
    fn cbrt(self) -> Self;
    /// The length of the hypotenuse.
    fn hypot(self, other: Self) -> Self;
    /// The sine.
    fn sin(self) -> Self;
    /// The cosine.
    fn cos(self) -> Self;
    /// The tangent.
    fn tan(self) -> Self;
    /// The arcsine.
    fn asin(self) -> Self;
    /// The arccosine.
    fn acos(self) -> Self;
    /// The arctangent.
    fn atan(self) -> Self;
    /// The angle of the point (`x`, `self`).
    fn atan2(self, x: Self) -> Self;
    /// Sine and cosine.
    fn sin_cos(self) -> (Self, Self);
    /// e to this power, less 1.
    fn exp_m1(self) -> Self;
    /// The natural logarithm of 1 more.
    fn ln_1p(self) -> Self;
    /// The hyperbolic sine.
    fn sinh(self) -> Self;
    /// The hyperbolic cosine.
    fn cosh(self) -> Self;
    /// The hyperbolic tangent.
    fn tanh(self) -> Self;
    /// The inverse of the hyperbolic sine.
    fn asinh(self) -> Self;
    /// The inverse of the hyperbolic cosine.
    fn acosh(self) -> Self;
    /// The inverse of the hyperbolic tangent.
    fn atanh(self) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! of_libm {
    ($($name:ident $function:ident;)*) => {$(
        #[inline]
        fn $name(self) -> Self {
            libm::$function(self)
        }
    )*};
}

macro_rules! float {
    (
        $ty:ident $fma:ident [$sqrt:ident $floor:ident $ceil:ident $trunc:ident]
        [$sqrt_of:ident $floor_of:ident $ceil_of:ident $trunc_of:ident $rem:ident $pow:ident $hypot:ident $atan2:ident
            $sincos:ident]
        $one:tt
    ) => {
        impl sealed::Sealed for $ty {}
        impl GpuFloat for $ty {
            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            fn sqrt(self) -> Self {
                core::intrinsics::$sqrt(self)
            }
            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            fn floor(self) -> Self {
                core::intrinsics::$floor(self)
            }
            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            fn ceil(self) -> Self {
                core::intrinsics::$ceil(self)
            }
            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            fn trunc(self) -> Self {
                core::intrinsics::$trunc(self)
            }
            #[cfg(not(target_arch = "nvptx64"))]
            of_libm! { sqrt $sqrt_of; floor $floor_of; ceil $ceil_of; trunc $trunc_of; }

            #[inline(always)]
            fn fract(self) -> Self {
                self - GpuFloat::trunc(self)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                <$ty>::abs(self)
            }
            #[inline(always)]
            fn signum(self) -> Self {
                <$ty>::signum(self)
            }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                <$ty>::copysign(self, sign)
            }
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                // SAFETY: computes on registers only.
                unsafe { crate::math::$fma(self, a, b) }
            }
            #[inline]
            fn div_euclid(self, divisor: Self) -> Self {
                let quotient = GpuFloat::trunc(self / divisor);
                if libm::$rem(self, divisor) >= 0.0 {
                    quotient
                } else if divisor > 0.0 {
                    quotient - 1.0
                } else {
                    quotient + 1.0
                }
            }
            #[inline]
            fn rem_euclid(self, divisor: Self) -> Self {
                let rest = libm::$rem(self, divisor);
                if rest < 0.0 { rest + GpuFloat::abs(divisor) } else { rest }
            }
            #[inline]
            fn powi(self, exponent: i32) -> Self {
                let (mut power, mut rest, mut result) = (self, exponent.unsigned_abs(), 1.0);
                while rest != 0 {
                    if rest & 1 != 0 {
                        result *= power;
                    }
                    power *= power;
                    rest >>= 1;
                }
                if exponent < 0 { 1.0 / result } else { result }
            }
            #[inline]
            fn powf(self, exponent: Self) -> Self {
                libm::$pow(self, exponent)
            }
            #[inline]
            fn log(self, base: Self) -> Self {
                GpuFloat::ln(self) / GpuFloat::ln(base)
            }
            #[inline]
            fn hypot(self, other: Self) -> Self {
                libm::$hypot(self, other)
            }
            #[inline]
            fn atan2(self, x: Self) -> Self {
                libm::$atan2(self, x)
            }
            #[inline]
            fn sin_cos(self) -> (Self, Self) {
                libm::$sincos(self)
            }
            of_libm! $one
        }
    };
}

float! {
    f32 fma_f32 [sqrtf32 floorf32 ceilf32 truncf32]
    [sqrtf floorf ceilf truncf fmodf powf hypotf atan2f sincosf]
    {
        round roundf; exp expf; exp2 exp2f; ln logf; log2 log2f; log10 log10f; cbrt cbrtf; sin sinf; cos cosf; tan tanf;
        asin asinf; acos acosf; atan atanf; exp_m1 expm1f; ln_1p log1pf; sinh sinhf; cosh coshf; tanh tanhf;
        asinh asinhf; acosh acoshf; atanh atanhf;
    }
}
float! {
    f64 fma_f64 [sqrtf64 floorf64 ceilf64 truncf64]
    [sqrt floor ceil trunc fmod pow hypot atan2 sincos]
    {
        round round; exp exp; exp2 exp2; ln log; log2 log2; log10 log10; cbrt cbrt; sin sin; cos cos; tan tan; asin asin;
        acos acos; atan atan; exp_m1 expm1; ln_1p log1p; sinh sinh; cosh cosh; tanh tanh; asinh asinh; acosh acosh;
        atanh atanh;
    }
}
