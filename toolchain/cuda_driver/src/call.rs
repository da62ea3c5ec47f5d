// SPDX-License-Identifier: MIT OR Apache-2.0
//! The error of one driver call.

use std::ffi::{CStr, c_char};

/// A driver call that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call} failed with CUDA error {status}: {text}")]
pub struct CallError {
    /// The driver function.
    pub call: &'static str,
    /// The driver's status (`CUresult`).
    pub status: u32,
    /// The driver's description of the status.
    pub text: String,
}

/// Turns the status of a driver call made through `cust::sys` into a result.
///
/// # Errors
/// Any status but success.
pub fn check(call: &'static str, status: u32) -> Result<(), CallError> {
    if status == 0 { Ok(()) } else { Err(CallError { call, status, text: describe(status) }) }
}

fn describe(status: u32) -> String {
    // `cust_raw`'s declaration takes an enum, which must not hold a status newer than itself.
    unsafe extern "C" {
        fn cuGetErrorString(status: u32, text: *mut *const c_char) -> u32;
    }
    let mut text = std::ptr::null();
    // SAFETY: `text` is writable; for a status that it does not know the driver leaves null there.
    unsafe {
        if cuGetErrorString(status, &mut text) != 0 || text.is_null() {
            return "a status this driver has no text for".into();
        }
        CStr::from_ptr(text).to_string_lossy().into_owned()
    }
}
