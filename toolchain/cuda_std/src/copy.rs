// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asynchronous copies between global and shared memory.

#[cfg(target_arch = "nvptx64")]
use crate::chip;
use crate::shared::Shared;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_sim::copy as sim;

device! {
    /// `cp.async.cg.shared.global 16`: 16 bytes by this thread, past the L1 cache.
    /// PTX 7.0, floor sm_80.
    ///
    /// # Safety
    /// Both addresses valid and 16-byte aligned; the target is not touched before [`async_wait_all`]
    /// and a barrier, or before a phase that waits for it ([`async_arrive`]). A thread does not return
    /// before its copies are done.
    pub unsafe fn async_16(to: Shared, from: *const u8) {
        // SAFETY: the caller promises valid aligned addresses.
        unsafe {
            asm!("cp.async.cg.shared.global [{}], [{}], 16;", in(reg32) to.0, in(reg64) from as u64,
                options(nostack));
        }
    }

    /// `cp.async.wait_all`: waits for this thread's [`async_16`] copies. PTX 7.0, floor sm_80.
    ///
    /// # Safety
    /// Only in a kernel.
    pub unsafe fn async_wait_all() {
        // SAFETY: waiting has no precondition.
        unsafe { asm!("cp.async.wait_all;", options(nostack)) };
    }

    /// `cp.async.mbarrier.arrive.noinc`: one of the arrivals that a phase of a barrier expects, made as
    /// soon as this thread's [`async_16`] copies so far are done; releases what they wrote, nothing
    /// else. PTX 7.0, floor sm_80.
    ///
    /// # Safety
    /// `barrier` is an initialised barrier whose phase still expects this arrival.
    pub unsafe fn async_arrive(barrier: Shared) {
        // SAFETY: the caller promises an initialised barrier.
        unsafe {
            asm!("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [{}];", in(reg32) barrier.0,
                options(nostack));
        }
    }

    /// `cp.async.bulk.shared::cluster.global.mbarrier`: one run of bytes by the copy engine.
    /// PTX 8.0, floor sm_90.
    ///
    /// # Safety
    /// Both addresses and `bytes` are multiples of 16 and in bounds; `barrier` expects the bytes;
    /// the target is not touched before that phase completes.
    pub unsafe fn bulk(to: Shared, from: *const u8, bytes: u32, barrier: Shared) {
        // SAFETY: the caller promises valid aligned addresses and an expecting barrier.
        unsafe {
            asm!("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{}], [{}], {}, [{}];",
                in(reg32) to.0, in(reg64) from as u64, in(reg32) bytes, in(reg32) barrier.0,
                options(nostack));
        }
    }

    /// `cp.async.bulk.global.shared::cta.bulk_group`: one run of bytes from shared to global memory
    /// by the copy engine, in this thread's open group. PTX 8.0, floor sm_90.
    ///
    /// # Safety
    /// Both addresses and `bytes` are multiples of 16 and in bounds; what ordinary instructions wrote
    /// to `from` has been fenced by [`fence_shared`] and waited for; the source is not written
    /// before the copy's group has been committed and [`wait_stores_read`].
    pub unsafe fn bulk_store(to: *mut u8, from: Shared, bytes: u32) {
        // SAFETY: the caller promises valid aligned addresses and a source that stays.
        unsafe {
            asm!("cp.async.bulk.global.shared::cta.bulk_group [{}], [{}], {};", in(reg64) to as u64,
                in(reg32) from.0, in(reg32) bytes, options(nostack));
        }
    }

    /// `cp.async.bulk.commit_group`: closes this thread's group of [`bulk_store`]s and opens the next.
    /// PTX 8.0, floor sm_90.
    ///
    /// # Safety
    /// Only in a kernel.
    pub unsafe fn commit_stores() {
        // SAFETY: closing a group has no precondition.
        unsafe { asm!("cp.async.bulk.commit_group;", options(nostack)) };
    }

    /// `fence.proxy.async.shared::cta`: lets the copy engine see what this thread wrote to shared
    /// memory. PTX 8.0, floor sm_90.
    ///
    /// # Safety
    /// By the thread that wrote, before the barrier that the copying thread waits for.
    pub unsafe fn fence_shared() {
        // SAFETY: a fence has no precondition.
        unsafe { asm!("fence.proxy.async.shared::cta;", options(nostack)) };
    }

    /// `fence.proxy.async.global`: lets the copy engine see, in copies that this thread issues from now
    /// on, what ordinary instructions wrote to global memory as far as this thread knows of it. PTX 8.0;
    /// nothing on chips before sm_90, which have no such engine.
    ///
    /// # Safety
    /// Only in a kernel.
    pub unsafe fn fence_global() {
        if chip::is_sm_90() {
            // SAFETY: a fence has no precondition.
            unsafe { asm!("fence.proxy.async.global;", options(nostack)) };
        }
    }

    /// `cp.async.bulk.tensor.2d`: a box of a tensor map (TMA); what lies outside the tensor arrives
    /// as zeros. PTX 8.0, floor sm_90.
    ///
    /// # Safety
    /// `map` is a descriptor encoded by the driver; `x` times the element size is a multiple of 16
    /// (negative too: anything else is an illegal instruction); `to` is 128-byte aligned; `barrier`
    /// expects the whole box; the target is not touched before that phase completes.
    pub unsafe fn tensor_2d(to: Shared, map: *const u8, x: i32, y: i32, barrier: Shared) {
        // SAFETY: the caller promises a valid descriptor, alignment and an expecting barrier.
        unsafe {
            asm!("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [{}], [{}, {{{}, {}}}], [{}];",
                in(reg32) to.0, in(reg64) map as u64, in(reg32) x, in(reg32) y, in(reg32) barrier.0,
                options(nostack));
        }
    }
}

/// `cp.async.bulk.wait_group.read`: waits until all of this thread's groups of [`bulk_store`]s but
/// the `NEWEST` committed ones have read their sources. PTX 8.0, floor sm_90.
///
/// # Safety
/// Only in a kernel.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn wait_stores_read<const NEWEST: u32>() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: waiting has no precondition.
    unsafe {
        asm!("cp.async.bulk.wait_group.read {};", const NEWEST, options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    sim::wait_stores_read(NEWEST);
}
