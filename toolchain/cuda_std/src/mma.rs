// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sparse matrix multiply-accumulate: D = A·B + C with A kept 2:4, one product per warp.
//!
//! Which lane holds which element is stated, and proved to be a bijection, in the crate
//! `cuda_mma`, module `fragment`; getting it wrong does not fail, it computes another product.

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
