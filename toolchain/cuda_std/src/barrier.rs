// SPDX-License-Identifier: MIT OR Apache-2.0
//! `mbarrier`: a counter in shared memory that completes one *phase* when the expected arrivals
//! and the expected bytes of asynchronous copies have come. PTX 7.0, floor sm_80; byte counts
//! PTX 8.0, floor sm_90.
//!
//! The phase's parity flips with each completion: the first phase has parity 0, and waiting for
//! parity 1 on a fresh barrier passes at once.

#[cfg(target_arch = "nvptx64")]
use crate::chip;
use crate::shared::Shared;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_sim::barrier as sim;

/// Bytes of one barrier.
pub const BYTES: u32 = 8;

device! {
    /// `mbarrier.init`: sets up a barrier that `arrivals` arrivals complete.
    ///
    /// # Safety
    /// One thread, on 8 free aligned bytes; others may use it after [`fence_init`] and a block barrier.
    pub unsafe fn init(at: Shared, arrivals: u32) {
        // SAFETY: the caller owns the 8 bytes.
        unsafe {
            asm!("mbarrier.init.shared::cta.b64 [{}], {};", in(reg32) at.0, in(reg32) arrivals,
                options(nostack));
        }
    }

    /// `fence.mbarrier_init.release.cluster`: shows initialised barriers to the copy engine.
    /// PTX 8.0; nothing on chips before sm_90, which have no such engine.
    ///
    /// # Safety
    /// By the thread that initialised them, before the block barrier.
    pub unsafe fn fence_init() {
        if chip::is_sm_90() {
            // SAFETY: a fence has no precondition.
            unsafe { asm!("fence.mbarrier_init.release.cluster;", options(nostack)) };
        }
    }

    /// `mbarrier.arrive`: one arrival; releases what this thread wrote or read before.
    ///
    /// # Safety
    /// `at` is an initialised barrier whose phase still expects this arrival.
    pub unsafe fn arrive(at: Shared) {
        // SAFETY: the caller promises an initialised barrier.
        unsafe { asm!("mbarrier.arrive.shared::cta.b64 _, [{}];", in(reg32) at.0, options(nostack)) };
    }

    /// `mbarrier.arrive.expect_tx`: one arrival that also announces `bytes` of asynchronous copies.
    /// PTX 8.0, floor sm_90.
    ///
    /// # Safety
    /// As [`arrive`]; copies of exactly `bytes` bytes complete on this barrier in this phase.
    pub unsafe fn arrive_expect(at: Shared, bytes: u32) {
        // SAFETY: the caller promises an initialised barrier and matching copies.
        unsafe {
            asm!("mbarrier.arrive.expect_tx.shared::cta.b64 _, [{}], {};", in(reg32) at.0,
                in(reg32) bytes, options(nostack));
        }
    }

    /// Waits until the phase with this parity has completed; acquires what the arrivals released.
    /// `mbarrier.try_wait.parity` in a loop, which lets the warp sleep: PTX 7.8, floor sm_90. Before it
    /// `mbarrier.test_wait.parity`: PTX 7.1, floor sm_80.
    ///
    /// # Safety
    /// `at` is an initialised barrier, at most one phase behind the awaited one.
    pub unsafe fn wait(at: Shared, parity: u32) {
        loop {
            let done: u32;
            // SAFETY: the caller promises an initialised barrier.
            unsafe {
                if chip::is_sm_90() {
                    asm!("{{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [{}], {}; selp.u32 {}, 1, 0, p; }}",
                        in(reg32) at.0, in(reg32) parity, out(reg32) done, options(nostack));
                } else {
                    asm!("{{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [{}], {}; selp.u32 {}, 1, 0, p; }}",
                        in(reg32) at.0, in(reg32) parity, out(reg32) done, options(nostack));
                }
            }
            if done != 0 {
                return;
            }
        }
    }
}
