// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arithmetic that ordinary Rust has only in `std`.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_sim::math as sim;

device! {
    /// `fma.rn.f32`: a·b + c, rounded once. PTX 2.0, floor sm_20.
    ///
    /// # Safety
    /// Only in a kernel.
    pub unsafe fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
        let sum: f32;
        // SAFETY: computes on registers only.
        unsafe {
            asm!("fma.rn.f32 {}, {}, {}, {};", out(reg32) sum, in(reg32) a, in(reg32) b, in(reg32) c,
                options(pure, nomem, nostack));
        }
        sum
    }
}
