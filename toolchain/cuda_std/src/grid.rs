// SPDX-License-Identifier: MIT OR Apache-2.0
//! The launch before and the launch after this one in a stream, where the host lets them overlap
//! (`cuda_driver::launch_overlapping`). Otherwise both calls do nothing, and on chips before sm_90, where
//! launches never overlap, they are not even there.

#[cfg(target_arch = "nvptx64")]
use crate::chip;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_sim::grid as sim;

device! {
    /// `griddepcontrol.wait`: waits until the launch before has ended and its writes are seen.
    /// PTX 7.8, floor sm_90.
    ///
    /// # Safety
    /// Only in a kernel; before this thread's first access to memory that the launch before uses. What
    /// launches further back wrote is final without, if the launch before keeps [`start_next`]'s contract.
    pub unsafe fn wait_for_previous() {
        if chip::is_sm_90() {
            // SAFETY: waiting has no precondition.
            unsafe { asm!("griddepcontrol.wait;", options(nostack)) };
        }
    }

    /// As [`start_next`], before this thread has waited: for the last kernel before one that waits before
    /// all else. What launches further back wrote is not final for that one until then.
    ///
    /// # Safety
    /// Only in a kernel. The next launch accesses nothing before its [`wait_for_previous`] that this one
    /// or those before it write.
    pub unsafe fn start_waiting_next() {
        if chip::is_sm_90() {
            // SAFETY: a hint without precondition.
            unsafe { asm!("griddepcontrol.launch_dependents;", options(nostack)) };
        }
    }

    /// `griddepcontrol.launch_dependents`: lets blocks of the next launch start as soon as all blocks
    /// of this one have said so, or ended. PTX 7.8, floor sm_90.
    ///
    /// # Safety
    /// Only in a kernel, after this thread's [`wait_for_previous`].
    pub unsafe fn start_next() {
        if chip::is_sm_90() {
            // SAFETY: a hint without precondition.
            unsafe { asm!("griddepcontrol.launch_dependents;", options(nostack)) };
        }
    }
}
