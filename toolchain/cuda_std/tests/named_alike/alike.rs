// SPDX-License-Identifier: MIT OR Apache-2.0
//! A kernel of this file's name.

use cuda_std::{global, kernel};

/// Writes a 1.
///
/// # Safety
/// `at` is valid; one thread.
#[kernel]
pub unsafe fn alike(at: *mut u32) {
    // SAFETY: as the caller promises.
    unsafe { global::store(at, 1) };
}
