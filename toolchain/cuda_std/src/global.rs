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

    /// `ld.global.u8`: one byte. Floor: any chip.
    ///
    /// # Safety
    /// `at` is valid and written; whoever wrote it has been waited for.
    pub unsafe fn load_u8(at: *const u8) -> u8 {
        let byte: u16;
        // SAFETY: the caller promises a valid, ready address.
        unsafe {
            asm!("ld.global.u8 {}, [{}];", out(reg16) byte, in(reg64) at as u64,
                options(nostack, readonly));
        }
        byte as u8
    }

    /// `ld.global.b16`: one element of 2 bytes. Floor: any chip.
    ///
    /// # Safety
    /// `at` is valid, written and 2-byte aligned; whoever wrote it has been waited for.
    pub unsafe fn load_u16(at: *const u16) -> u16 {
        let element: u16;
        // SAFETY: the caller promises a valid, aligned, ready address.
        unsafe {
            asm!("ld.global.b16 {}, [{}];", out(reg16) element, in(reg64) at as u64,
                options(nostack, readonly));
        }
        element
    }

    /// `ld.global.b32`: one word. Floor: any chip.
    ///
    /// # Safety
    /// `at` is valid, written and 4-byte aligned; whoever wrote it has been waited for.
    pub unsafe fn load(at: *const u32) -> u32 {
        let word: u32;
        // SAFETY: the caller promises a valid, aligned, ready address.
        unsafe {
            asm!("ld.global.b32 {}, [{}];", out(reg32) word, in(reg64) at as u64,
                options(nostack, readonly));
        }
        word
    }

    /// `ld.global.f32`: one number. Floor: any chip.
    ///
    /// # Safety
    /// `at` is valid, written and 4-byte aligned; whoever wrote it has been waited for.
    pub unsafe fn load_f32(at: *const f32) -> f32 {
        let number: f32;
        // SAFETY: the caller promises a valid, aligned, ready address.
        unsafe {
            asm!("ld.global.f32 {}, [{}];", out(reg32) number, in(reg64) at as u64,
                options(nostack, readonly));
        }
        number
    }

    /// `ld.global.v2.b32`: two words. Floor: any chip.
    ///
    /// # Safety
    /// The 8 bytes are valid, written, and 8-byte aligned; whoever wrote them has been waited for.
    pub unsafe fn load_v2(at: *const u32) -> [u32; 2] {
        let (a, b): (u32, u32);
        // SAFETY: the caller promises a valid, aligned, ready address.
        unsafe {
            asm!("ld.global.v2.b32 {{{}, {}}}, [{}];", out(reg32) a, out(reg32) b,
                in(reg64) at as u64, options(nostack, readonly));
        }
        [a, b]
    }

    /// `ld.global.v4.b32`: four words, through the L1 cache. Floor: any chip.
    ///
    /// # Safety
    /// The 16 bytes are valid, written, and 16-byte aligned; whoever wrote them has been waited for.
    pub unsafe fn load_v4(at: *const u32) -> [u32; 4] {
        let (a, b, c, d): (u32, u32, u32, u32);
        // SAFETY: the caller promises a valid, aligned, ready address.
        unsafe {
            asm!("ld.global.v4.b32 {{{}, {}, {}, {}}}, [{}];", out(reg32) a, out(reg32) b,
                out(reg32) c, out(reg32) d, in(reg64) at as u64, options(nostack, readonly));
        }
        [a, b, c, d]
    }

    /// `st.global.u8`: one byte. Floor: any chip.
    ///
    /// # Safety
    /// `at` is valid; no other thread accesses it in this kernel.
    pub unsafe fn store_u8(at: *mut u8, byte: u8) {
        // SAFETY: the caller promises a valid, unshared address.
        unsafe {
            asm!("st.global.u8 [{}], {};", in(reg64) at as u64, in(reg16) byte as u16,
                options(nostack));
        }
    }

    /// `st.global.b16`: one element of 2 bytes. Floor: any chip.
    ///
    /// # Safety
    /// `at` is valid and 2-byte aligned; no other thread accesses it in this kernel.
    pub unsafe fn store_u16(at: *mut u16, element: u16) {
        // SAFETY: the caller promises a valid, aligned, unshared address.
        unsafe {
            asm!("st.global.b16 [{}], {};", in(reg64) at as u64, in(reg16) element,
                options(nostack));
        }
    }

    /// `st.global.b32`: one word. Floor: any chip.
    ///
    /// # Safety
    /// `at` is valid and 4-byte aligned; no other thread accesses it in this kernel.
    pub unsafe fn store(at: *mut u32, word: u32) {
        // SAFETY: the caller promises a valid, aligned, unshared address.
        unsafe { asm!("st.global.b32 [{}], {};", in(reg64) at as u64, in(reg32) word, options(nostack)) };
    }

    /// `st.global.f32`: one number. Floor: any chip.
    ///
    /// # Safety
    /// `at` is valid and 4-byte aligned; no other thread accesses it in this kernel.
    pub unsafe fn store_f32(at: *mut f32, number: f32) {
        // SAFETY: the caller promises a valid, aligned, unshared address.
        unsafe {
            asm!("st.global.f32 [{}], {};", in(reg64) at as u64, in(reg32) number,
                options(nostack));
        }
    }

    /// `st.global.v2.b32`: two words. Floor: any chip.
    ///
    /// # Safety
    /// `at` is valid and 8-byte aligned; no other thread accesses the 8 bytes in this kernel.
    pub unsafe fn store_v2(at: *mut u32, words: [u32; 2]) {
        let [a, b] = words;
        // SAFETY: the caller promises a valid, aligned, unshared address.
        unsafe {
            asm!("st.global.v2.b32 [{}], {{{}, {}}};", in(reg64) at as u64, in(reg32) a,
                in(reg32) b, options(nostack));
        }
    }

    /// `@wanted st.global.v2.b32`: two words, if they are wanted, without a branch. Floor: any chip.
    ///
    /// # Safety
    /// As [`store_v2`], if `wanted`.
    pub unsafe fn store_v2_if(wanted: bool, at: *mut u32, words: [u32; 2]) {
        let [a, b] = words;
        // SAFETY: the caller promises a valid, aligned, unshared address, if the words are stored.
        unsafe {
            asm!("{{ .reg .pred p; setp.ne.b32 p, {}, 0; @p st.global.v2.b32 [{}], {{{}, {}}}; }}",
                in(reg32) u32::from(wanted), in(reg64) at as u64, in(reg32) a, in(reg32) b,
                options(nostack));
        }
    }

    /// `st.global.v4.b32`: four words. Floor: any chip.
    ///
    /// # Safety
    /// `at` is valid and 16-byte aligned; no other thread accesses the 16 bytes in this kernel.
    pub unsafe fn store_v4(at: *mut u32, words: [u32; 4]) {
        let [a, b, c, d] = words;
        // SAFETY: the caller promises a valid, aligned, unshared address.
        unsafe {
            asm!("st.global.v4.b32 [{}], {{{}, {}, {}, {}}};", in(reg64) at as u64, in(reg32) a,
                in(reg32) b, in(reg32) c, in(reg32) d, options(nostack));
        }
    }

    /// `red.release.gpu.global.add.u32`: adds to a counter, which wraps around; releases, to those who
    /// [`wait_at_least`] in any block, what this thread did before and what it had acquired.
    /// PTX 6.0, floor sm_70.
    ///
    /// # Safety
    /// `at` is valid and 4-byte aligned; the launch accesses it only by this function and
    /// [`wait_at_least`].
    pub unsafe fn add_release(at: *mut u32, value: u32) {
        // SAFETY: the caller promises a valid, aligned counter.
        unsafe {
            asm!("red.release.gpu.global.add.u32 [{}], {};", in(reg64) at as u64, in(reg32) value,
                options(nostack));
        }
    }

    /// Waits until a counter has come to `value`, or at most 2^31 - 1 beyond; acquires what the additions
    /// up to there released. `ld.acquire.gpu.global.u32` in a loop: PTX 6.0, floor sm_70.
    ///
    /// # Safety
    /// As [`add_release`]. The additions come from blocks that run in the end, whatever this one does.
    pub unsafe fn wait_at_least(at: *const u32, value: u32) {
        loop {
            let found: u32;
            // SAFETY: the caller promises a valid, aligned counter.
            unsafe {
                asm!("ld.acquire.gpu.global.u32 {}, [{}];", out(reg32) found, in(reg64) at as u64,
                    options(nostack));
            }
            if found.wrapping_sub(value) as i32 >= 0 {
                return;
            }
        }
    }
}
