// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches that overlap: a kernel may start while the launch before it still runs. It waits for that one
//! before it reads what that one writes, and before it writes what that one reads; then it lets the next
//! one start.

use crate::fault::{Fault, planted};
use cuda_std::grid;

/// Waits for the launch before.
///
/// # Safety
/// Only in a kernel.
#[inline(always)]
#[track_caller]
pub unsafe fn wait_for_previous() {
    if !planted(Fault::NoWaitForPrevious) && !planted(Fault::LateWait) {
        // SAFETY: waiting has no precondition.
        unsafe { grid::wait_for_previous() };
    }
}

/// Waits for the launch before, in threads that store, and that load nothing which the launch before writes.
///
/// # Safety
/// Only in a kernel.
#[inline(always)]
#[track_caller]
pub unsafe fn wait_before_stores() {
    if !planted(Fault::NoWaitBeforeStores) && !planted(Fault::LateWait) {
        // SAFETY: waiting has no precondition.
        unsafe { grid::wait_for_previous() };
    }
}

/// Lets the next launch start.
///
/// # Safety
/// After [`wait_for_previous`] by this thread.
#[inline(always)]
#[track_caller]
pub unsafe fn start_next() {
    if !planted(Fault::LateWait) {
        // SAFETY: as the caller promises.
        unsafe { grid::start_next() };
    }
}

/// What [`Fault::LateWait`] lets come when a thread has done all else: the emulator calls it at the end of every
/// kernel.
#[cfg(not(target_arch = "nvptx64"))]
#[track_caller]
pub fn late() {
    if planted(Fault::LateWait) {
        // SAFETY: a kernel has just ended.
        unsafe {
            grid::wait_for_previous();
            grid::start_next();
        }
    }
}
