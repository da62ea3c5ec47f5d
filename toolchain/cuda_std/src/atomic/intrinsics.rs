// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fences, an instruction each.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
#[cfg(not(target_arch = "nvptx64"))]
use {
    core::sync::atomic::Ordering,
    cuda_sim::atomic::{Scope, fence},
};

macro_rules! fences {
    ($($name:ident $text:literal $order:ident $scope:ident)*) => {$(
        #[doc = concat!("`", $text, "`: orders what the thread does before it and after it, as others in this scope see it.")]
        ///
        /// # Safety
        /// None is needed; rust-cuda's is `unsafe`, too.
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub unsafe fn $name() {
            #[cfg(not(target_arch = "nvptx64"))]
            fence(Ordering::$order, Scope::$scope);
            // SAFETY: it orders accesses, and makes none.
            #[cfg(target_arch = "nvptx64")]
            unsafe {
                asm!(concat!($text, ";"), options(nostack, preserves_flags));
            }
        }
    )*};
}
fences! {
    membar_device "membar.gl" AcqRel Device
    membar_block "membar.cta" AcqRel Block
    membar_system "membar.sys" AcqRel System
    fence_sc_device "fence.sc.gpu" SeqCst Device
    fence_sc_block "fence.sc.cta" SeqCst Block
    fence_sc_system "fence.sc.sys" SeqCst System
    fence_acqrel_device "fence.acq_rel.gpu" AcqRel Device
    fence_acqrel_block "fence.acq_rel.cta" AcqRel Block
    fence_acqrel_system "fence.acq_rel.sys" AcqRel System
}
