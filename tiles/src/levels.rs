// SPDX-License-Identifier: MIT OR Apache-2.0
//! The vector instructions that loops are compiled for.

#[doc(hidden)]
pub use fearless_simd::{Level, Simd, dispatch};

/// Runs a body with the vector instructions of a [`Level`], as `fearless_simd::dispatch` does, but compiles it for
/// SSE2, AVX2 and AVX-512 only. SSE 4.2 has no instruction for sums that SSE2 lacks, and each copy of a loop is code to
/// compile.
#[macro_export]
macro_rules! at_level {
    ($level:expr, $simd:ident => $body:expr) => {{
        use $crate::levels::Level;
        match $level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(avx512) => $crate::at_level!(@with avx512, $simd => $body),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(avx2) => $crate::at_level!(@with avx2, $simd => $body),
            #[cfg(target_arch = "x86_64")]
            other => {
                let sse2 = other.as_sse2().expect("every processor of x86-64 has SSE2");
                $crate::at_level!(@with sse2, $simd => $body)
            }
            #[cfg(not(target_arch = "x86_64"))]
            level => $crate::levels::dispatch!(level, $simd => $body),
        }
    }};
    (@with $token:ident, $simd:ident => $body:expr) => {
        $crate::levels::Simd::vectorize($token, #[inline(always)] || {
            let $simd = $token;
            $body
        })
    };
}
