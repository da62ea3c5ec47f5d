// SPDX-License-Identifier: MIT OR Apache-2.0
//! The types of factors, and the instruction for each of them and each number of columns.

use cuda_mma::warpgroup::WarpgroupFactor;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_mma::warpgroup::WarpgroupMma;

/// The types of A and B.
pub trait Factors {
    /// The type of the values of A.
    const A: WarpgroupFactor;
    /// The type of the values of B.
    const B: WarpgroupFactor;

    /// The shape with R sums in a lane.
    #[cfg(not(target_arch = "nvptx64"))]
    #[doc(hidden)]
    fn mma<const R: usize>(sparse: bool) -> WarpgroupMma {
        WarpgroupMma { a: Self::A, b: Self::B, n: 2 * R, sparse }
    }
}

/// Factors for which there is an instruction with R sums in a lane, 2·R columns.
#[cfg(not(target_arch = "nvptx64"))]
pub trait Product<const R: usize>: Factors {}

/// Factors for which there is an instruction with R sums in a lane, 2·R columns.
#[cfg(target_arch = "nvptx64")]
#[allow(private_bounds)]
pub trait Product<const R: usize>: Instruction<R> {}

/// The instruction.
#[cfg(target_arch = "nvptx64")]
#[allow(clippy::missing_safety_doc)]
pub trait Instruction<const R: usize>: Factors {
    unsafe fn tiles(sums: &mut [f32; R], a: u64, b: u64);
    unsafe fn held(sums: &mut [f32; R], a: [u32; 4], b: u64);
    unsafe fn sparse_tiles<const SELECTOR: u32>(sums: &mut [f32; R], a: u64, metadata: u32, b: u64);
    unsafe fn sparse_held<const SELECTOR: u32>(
        sums: &mut [f32; R],
        a: [u32; 4],
        metadata: u32,
        b: u64,
    );
}

macro_rules! factors {
    ($($(#[$doc:meta])* $name:ident: $a:ident, $b:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Factors for $name {
            const A: WarpgroupFactor = WarpgroupFactor::$a;
            const B: WarpgroupFactor = WarpgroupFactor::$b;
        }
    )*};
}

factors! {
    /// Both in f16: K = 16, sparse 32.
    F16: F16, F16;
    /// Both in bf16: K = 16, sparse 32.
    Bf16: Bf16, Bf16;
    /// Both in tf32, f32 of which the low 13 bits are ignored: K = 8, sparse 16.
    Tf32: Tf32, Tf32;
    /// Both in e4m3: K = 32, sparse 64. Hardware sums have fewer bits than f32.
    E4m3: E4m3, E4m3;
    /// Both in e5m2: K = 32, sparse 64. Hardware sums have fewer bits than f32.
    E5m2: E5m2, E5m2;
    /// A in e4m3, B in e5m2.
    E4m3E5m2: E4m3, E5m2;
    /// A in e5m2, B in e4m3.
    E5m2E4m3: E5m2, E4m3;
}

/// The instructions with so many sums in a lane, whose indices are given.
macro_rules! implement {
    ($count:tt: $($index:tt)*) => {
        $crate::wgmma::types::instruction! { $count [$($index)*] F16 "16" "32" ".f32.f16.f16" ", 0" ", 0, 0" }
        $crate::wgmma::types::instruction! { $count [$($index)*] Bf16 "16" "32" ".f32.bf16.bf16" ", 0" ", 0, 0" }
        $crate::wgmma::types::instruction! { $count [$($index)*] Tf32 "8" "16" ".f32.tf32.tf32" "" "" }
        $crate::wgmma::types::instruction! { $count [$($index)*] E4m3 "32" "64" ".f32.e4m3.e4m3" "" "" }
        $crate::wgmma::types::instruction! { $count [$($index)*] E5m2 "32" "64" ".f32.e5m2.e5m2" "" "" }
        $crate::wgmma::types::instruction! { $count [$($index)*] E4m3E5m2 "32" "64" ".f32.e4m3.e5m2" "" "" }
        $crate::wgmma::types::instruction! { $count [$($index)*] E5m2E4m3 "32" "64" ".f32.e5m2.e4m3" "" "" }
    };
}
pub(super) use implement;

/// The four forms of one instruction. The last two texts say that the operands are not transposed, of B
/// alone and of both, where the instruction asks.
#[cfg(target_arch = "nvptx64")]
macro_rules! instruction {
    (
        $count:tt [$first:tt $($next:tt)*] $name:ident $k:literal $sparse_k:literal
        $types:literal $one:literal $both:literal
    ) => {
        impl super::types::Product<$count> for super::types::$name {}

        impl Instruction<$count> for super::types::$name {
            #[inline(always)]
            unsafe fn tiles(sums: &mut [f32; $count], a: u64, b: u64) {
                // SAFETY: as the caller promises.
                unsafe {
                    asm!(
                        concat!("{{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n",
                            $crate::wgmma::types::columns!($count), "k", $k, $types,
                            " {{{", $first, "}", $(", {", $next, "}",)* "}}, {a}, {b}, p, 1, 1", $both, "; }}"),
                        inout(reg32) sums[$first], $(inout(reg32) sums[$next],)*
                        a = in(reg64) a, b = in(reg64) b, options(nostack));
                }
            }

            #[inline(always)]
            unsafe fn held(sums: &mut [f32; $count], a: [u32; 4], b: u64) {
                // SAFETY: as the caller promises.
                unsafe {
                    asm!(
                        concat!("{{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n",
                            $crate::wgmma::types::columns!($count), "k", $k, $types,
                            " {{{", $first, "}", $(", {", $next, "}",)* "}}, {{{a0}, {a1}, {a2}, {a3}}}, {b}, p, 1, 1", $one, "; }}"),
                        inout(reg32) sums[$first], $(inout(reg32) sums[$next],)*
                        a0 = in(reg32) a[0], a1 = in(reg32) a[1], a2 = in(reg32) a[2], a3 = in(reg32) a[3],
                        b = in(reg64) b, options(nostack));
                }
            }

            #[inline(always)]
            unsafe fn sparse_tiles<const SELECTOR: u32>(
                sums: &mut [f32; $count],
                a: u64,
                metadata: u32,
                b: u64,
            ) {
                // SAFETY: as the caller promises.
                unsafe {
                    asm!(
                        concat!("{{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sp.sync.aligned.m64n",
                            $crate::wgmma::types::columns!($count), "k", $sparse_k, $types,
                            " {{{", $first, "}", $(", {", $next, "}",)* "}}, {a}, {b}, {metadata}, {selector}, p, 1, 1", $both, "; }}"),
                        inout(reg32) sums[$first], $(inout(reg32) sums[$next],)*
                        a = in(reg64) a, b = in(reg64) b, metadata = in(reg32) metadata,
                        selector = const SELECTOR, options(nostack));
                }
            }

            #[inline(always)]
            unsafe fn sparse_held<const SELECTOR: u32>(
                sums: &mut [f32; $count],
                a: [u32; 4],
                metadata: u32,
                b: u64,
            ) {
                // SAFETY: as the caller promises.
                unsafe {
                    asm!(
                        concat!("{{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sp.sync.aligned.m64n",
                            $crate::wgmma::types::columns!($count), "k", $sparse_k, $types,
                            " {{{", $first, "}", $(", {", $next, "}",)* "}}, {{{a0}, {a1}, {a2}, {a3}}}, {b}, {metadata}, {selector}, p, 1, 1", $one, "; }}"),
                        inout(reg32) sums[$first], $(inout(reg32) sums[$next],)*
                        a0 = in(reg32) a[0], a1 = in(reg32) a[1], a2 = in(reg32) a[2], a3 = in(reg32) a[3],
                        b = in(reg64) b, metadata = in(reg32) metadata,
                        selector = const SELECTOR, options(nostack));
                }
            }
        }
    };
}

/// On a host the emulator multiplies.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! instruction {
    ($count:tt [$($index:tt)*] $name:ident $($text:literal)*) => {
        impl super::types::Product<$count> for super::types::$name {}
    };
}
pub(super) use instruction;

/// Twice as many, as a text.
#[cfg(target_arch = "nvptx64")]
macro_rules! columns {
    (4) => {
        "8"
    };
    (8) => {
        "16"
    };
    (16) => {
        "32"
    };
    (32) => {
        "64"
    };
    (48) => {
        "96"
    };
    (64) => {
        "128"
    };
    (80) => {
        "160"
    };
    (96) => {
        "192"
    };
    (112) => {
        "224"
    };
    (128) => {
        "256"
    };
}
#[cfg(target_arch = "nvptx64")]
pub(super) use columns;
