// SPDX-License-Identifier: MIT OR Apache-2.0
//! Global (device) memory.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_sim::global as sim;

device! {
    /// `ld.global.nc.b32`: one word that no kernel writes while this one runs. Floor sm_35.
    ///
    /// # Safety
    /// `at` is valid and 4-byte aligned, and its word stays the same for the whole kernel.
    pub unsafe fn load_constant(at: *const u32) -> u32 {
        let word: u32;
        // SAFETY: the caller promises a valid, aligned, unchanging word.
        unsafe {
            asm!("ld.global.nc.b32 {}, [{}];", out(reg32) word, in(reg64) at as u64,
                options(pure, readonly, nostack));
        }
        word
    }

    /// `st.global.b32`: one word. Floor: any chip.
    ///
    /// # Safety
    /// `at` is valid and 4-byte aligned; no other thread accesses it in this kernel.
    pub unsafe fn store(at: *mut u32, word: u32) {
        // SAFETY: the caller promises a valid, aligned, unshared address.
        unsafe { asm!("st.global.b32 [{}], {};", in(reg64) at as u64, in(reg32) word, options(nostack)) };
    }
}
