// SPDX-License-Identifier: MIT OR Apache-2.0
//! The error of one driver call.

use crate::load::{function, is_loaded};
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

/// Turns the status of a driver call, such as one made through `cust::sys`, into a result.
///
/// # Errors
/// Any status but success.
pub fn check(call: &'static str, status: u32) -> Result<(), CallError> {
    if status == 0 { Ok(()) } else { Err(CallError { call, status, text: describe(status) }) }
}

fn describe(status: u32) -> String {
    type GetErrorString = unsafe extern "C" fn(u32, *mut *const c_char) -> u32;
    if !is_loaded() {
        return "the CUDA driver is not loaded".into();
    }
    let mut text = std::ptr::null();
    if let Some(describe) = function(c"cuGetErrorString") {
        // SAFETY: the driver function of this name has this signature, and `text` is writable.
        unsafe {
            let describe: GetErrorString = std::mem::transmute(describe);
            describe(status, &mut text);
        }
    }
    if text.is_null() {
        return "a status this driver has no text for".into();
    }
    // SAFETY: the driver left a static string there.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
