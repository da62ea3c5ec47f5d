// SPDX-License-Identifier: MIT OR Apache-2.0
//! Moving 8×8 matrices of 16-bit elements between shared memory and the lanes of a warp. In
//! registers, lane `4g + t` holds elements `2t` and `2t + 1` of row `g`.

use crate::shared::Shared;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_sim::matrix as sim;

device! {
    /// `ldmatrix.x4`: four 8×8 matrices; lanes `8i..8i+8` give the row addresses of matrix `i`.
    /// PTX 6.5, floor sm_75. Collective.
    ///
    /// # Safety
    /// All 32 lanes execute it; each row address is valid, written, and 16-byte aligned.
    pub unsafe fn load_x4(row: Shared) -> [u32; 4] {
        let (a, b, c, d): (u32, u32, u32, u32);
        // SAFETY: the caller promises valid rows and all lanes.
        unsafe {
            asm!("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{}, {}, {}, {}}}, [{}];",
                out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg32) row.0,
                options(nostack));
        }
        [a, b, c, d]
    }

    /// `movmatrix.trans`: transposes an 8×8 matrix across the warp. PTX 7.8, floor sm_75. Collective.
    ///
    /// # Safety
    /// All 32 lanes execute it.
    pub unsafe fn transpose(word: u32) -> u32 {
        let transposed: u32;
        // SAFETY: the caller promises all lanes.
        unsafe {
            asm!("movmatrix.sync.aligned.m8n8.trans.b16 {}, {};", out(reg32) transposed,
                in(reg32) word, options(nostack));
        }
        transposed
    }

    /// `stmatrix.x2.trans`: transposes two 8×8 matrices into shared memory; lanes `8i..8i+8` give the
    /// row addresses of matrix `i`, and what lane `4g + t` holds becomes elements `g` of rows `2t` and
    /// `2t + 1`. PTX 7.8, floor sm_90. Collective.
    ///
    /// # Safety
    /// All 32 lanes execute it; the row addresses of lanes 0 to 15 are in bounds and 16-byte aligned;
    /// nobody else accesses the rows at the same time.
    pub unsafe fn store_transposed_x2(row: Shared, first: u32, second: u32) {
        // SAFETY: the caller promises valid rows and all lanes.
        unsafe {
            asm!("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [{}], {{{}, {}}};", in(reg32) row.0,
                in(reg32) first, in(reg32) second, options(nostack));
        }
    }

    /// `cvt.rn.f16x2.f32`: rounds two numbers to the nearest f16, `low` into the lower half.
    /// PTX 7.0, floor sm_80.
    ///
    /// # Safety
    /// Only in a kernel.
    pub unsafe fn pack_f16(low: f32, high: f32) -> u32 {
        let word: u32;
        // SAFETY: arithmetic on registers.
        unsafe {
            asm!("cvt.rn.f16x2.f32 {}, {}, {};", out(reg32) word, in(reg32) high, in(reg32) low,
                options(pure, nomem, nostack));
        }
        word
    }

    /// `cvt.rn.bf16x2.f32`: rounds two numbers to the nearest bf16, `low` into the lower half.
    /// PTX 7.0, floor sm_80.
    ///
    /// # Safety
    /// Only in a kernel.
    pub unsafe fn pack_bf16(low: f32, high: f32) -> u32 {
        let word: u32;
        // SAFETY: arithmetic on registers.
        unsafe {
            asm!("cvt.rn.bf16x2.f32 {}, {}, {};", out(reg32) word, in(reg32) high, in(reg32) low,
                options(pure, nomem, nostack));
        }
        word
    }

    /// `cvt.rn.satfinite.bf16x2.f32`: as [`pack_bf16`], but what would be infinite becomes the largest
    /// number. PTX 8.1, floor sm_80.
    ///
    /// # Safety
    /// Only in a kernel.
    pub unsafe fn pack_finite_bf16(low: f32, high: f32) -> u32 {
        let word: u32;
        // SAFETY: arithmetic on registers.
        unsafe {
            asm!("cvt.rn.satfinite.bf16x2.f32 {}, {}, {};", out(reg32) word, in(reg32) high,
                in(reg32) low, options(pure, nomem, nostack));
        }
        word
    }

    /// `prmt.b32`: the upper halves of two words, that of `low` into the lower half. PTX 2.0.
    ///
    /// # Safety
    /// Only in a kernel.
    pub unsafe fn upper_halves(low: u32, high: u32) -> u32 {
        let word: u32;
        // SAFETY: arithmetic on registers.
        unsafe {
            asm!("prmt.b32 {}, {}, {}, 0x7632;", out(reg32) word, in(reg32) low, in(reg32) high,
                options(pure, nomem, nostack));
        }
        word
    }
}
