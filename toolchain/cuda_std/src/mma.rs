// SPDX-License-Identifier: MIT OR Apache-2.0
//! Matrix multiply-accumulate: D = A·B + C, one product per warp; sparse, with A kept 2:4, and dense.
//!
//! Which lane holds which element is stated, and proved to be a bijection, in the crate
//! `cuda_mma`, modules `fragment` and `dense`; getting it wrong does not fail, it computes another product.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_sim::mma as sim;

/// A wrapper of one shape of `mma.sp` in which a lane holds 4 words of A and of B.
macro_rules! sparse {
    ($name:ident, $shape:literal, $operands:literal) => {
        device! {
            #[doc = concat!("`mma.sp::ordered_metadata.sync.aligned.", $shape, "`, selector 0:")]
            #[doc = concat!($operands, "; C, D 16×8 in f32. PTX 8.5, floor sm_80. Collective.")]
            ///
            /// Lanes 0 and 1 of each group of four supply the metadata.
            ///
            /// # Safety
            /// All 32 lanes execute it; the two indices of every kept pair increase.
            pub unsafe fn $name(a: [u32; 4], metadata: u32, b: [u32; 4], c: [f32; 4]) -> [f32; 4] {
                let (d0, d1, d2, d3): (f32, f32, f32, f32);
                // SAFETY: the caller promises all lanes and ordered metadata.
                unsafe {
                    asm!(
                        concat!("mma.sp::ordered_metadata.sync.aligned.", $shape,
                            " {{{}, {}, {}, {}}}, {{{}, {}, {}, {}}}, {{{}, {}, {}, {}}}, {{{}, {}, {}, {}}}, {}, 0x0;"),
                        out(reg32) d0, out(reg32) d1, out(reg32) d2, out(reg32) d3,
                        in(reg32) a[0], in(reg32) a[1], in(reg32) a[2], in(reg32) a[3],
                        in(reg32) b[0], in(reg32) b[1], in(reg32) b[2], in(reg32) b[3],
                        in(reg32) c[0], in(reg32) c[1], in(reg32) c[2], in(reg32) c[3],
                        in(reg32) metadata, options(nostack));
                }
                [d0, d1, d2, d3]
            }
        }
    };
}

sparse! {
    sp_m16n8k32_f16_f32,
    "m16n8k32.row.col.f32.f16.f16.f32",
    "A 16×32 (16×16 kept), B 32×8 in f16"
}

sparse! {
    sp_m16n8k32_bf16_f32,
    "m16n8k32.row.col.f32.bf16.bf16.f32",
    "A 16×32 (16×16 kept), B 32×8 in bf16"
}

sparse! {
    sp_m16n8k16_tf32_f32,
    "m16n8k16.row.col.f32.tf32.tf32.f32",
    "A 16×16 (16×8 kept, one of each pair of columns), B 16×8 in tf32, f32 of which the low 13 bits \
     are ignored: round by [`crate::math::round_tf32`]"
}

/// A wrapper of one shape of dense `mma` with sums in f32, in which a lane holds 4 words of A and 2 of B.
macro_rules! dense {
    ($name:ident, $shape:literal, $operands:literal) => {
        device! {
            #[doc = concat!("`mma.sync.aligned.", $shape, "`:")]
            #[doc = concat!($operands, "; C, D 16×8 in f32. PTX 7.0, floor sm_80. Collective.")]
            ///
            /// # Safety
            /// All 32 lanes execute it.
            pub unsafe fn $name(a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4] {
                let (d0, d1, d2, d3): (f32, f32, f32, f32);
                // SAFETY: the caller promises all lanes.
                unsafe {
                    asm!(
                        concat!("mma.sync.aligned.", $shape,
                            " {{{}, {}, {}, {}}}, {{{}, {}, {}, {}}}, {{{}, {}}}, {{{}, {}, {}, {}}};"),
                        out(reg32) d0, out(reg32) d1, out(reg32) d2, out(reg32) d3,
                        in(reg32) a[0], in(reg32) a[1], in(reg32) a[2], in(reg32) a[3],
                        in(reg32) b[0], in(reg32) b[1],
                        in(reg32) c[0], in(reg32) c[1], in(reg32) c[2], in(reg32) c[3],
                        options(nostack));
                }
                [d0, d1, d2, d3]
            }
        }
    };
}

dense! {
    m16n8k16_f16_f32,
    "m16n8k16.row.col.f32.f16.f16.f32",
    "A 16×16, B 16×8 in f16"
}

dense! {
    m16n8k16_bf16_f32,
    "m16n8k16.row.col.f32.bf16.bf16.f32",
    "A 16×16, B 16×8 in bf16"
}

dense! {
    m16n8k8_tf32_f32,
    "m16n8k8.row.col.f32.tf32.tf32.f32",
    "A 16×8, B 8×8 in tf32, f32 of which the low 13 bits are ignored: round by \
     [`crate::math::round_tf32`]"
}

device! {
    /// `mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64`: A 16×16, B 16×8, C, D 16×8. Sums are rounded to the
    /// nearest. PTX 7.8, floor sm_90. Collective.
    ///
    /// # Safety
    /// All 32 lanes execute it.
    pub unsafe fn m16n8k16_f64(a: [f64; 8], b: [f64; 4], c: [f64; 4]) -> [f64; 4] {
        let (d0, d1, d2, d3): (f64, f64, f64, f64);
        // SAFETY: the caller promises all lanes.
        unsafe {
            asm!(
                concat!("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {{{}, {}, {}, {}}}, ",
                    "{{{}, {}, {}, {}, {}, {}, {}, {}}}, {{{}, {}, {}, {}}}, {{{}, {}, {}, {}}};"),
                out(reg64) d0, out(reg64) d1, out(reg64) d2, out(reg64) d3,
                in(reg64) a[0], in(reg64) a[1], in(reg64) a[2], in(reg64) a[3],
                in(reg64) a[4], in(reg64) a[5], in(reg64) a[6], in(reg64) a[7],
                in(reg64) b[0], in(reg64) b[1], in(reg64) b[2], in(reg64) b[3],
                in(reg64) c[0], in(reg64) c[1], in(reg64) c[2], in(reg64) c[3],
                options(nostack));
        }
        [d0, d1, d2, d3]
    }

    /// `mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64`: A 8×4, B 4×8, C, D 8×8. Sums are rounded to the
    /// nearest. PTX 7.0, floor sm_80. Collective.
    ///
    /// # Safety
    /// All 32 lanes execute it.
    pub unsafe fn m8n8k4_f64(a: f64, b: f64, c: [f64; 2]) -> [f64; 2] {
        let (d0, d1): (f64, f64);
        // SAFETY: the caller promises all lanes.
        unsafe {
            asm!("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {{{}, {}}}, {{{}}}, {{{}}}, {{{}, {}}};",
                out(reg64) d0, out(reg64) d1, in(reg64) a, in(reg64) b, in(reg64) c[0], in(reg64) c[1],
                options(nostack));
        }
        [d0, d1]
    }
}
