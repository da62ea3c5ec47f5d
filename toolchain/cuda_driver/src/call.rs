// SPDX-License-Identifier: MIT OR Apache-2.0
//! The error of one driver call.

use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;

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

/// `cuGetErrorString`.
type GetErrorString = unsafe extern "C" fn(u32, *mut *const c_char) -> u32;

/// The `cuGetErrorString` of the driver that was loaded, if it has one.
static GET_ERROR_STRING: OnceLock<Option<GetErrorString>> = OnceLock::new();

/// Lets a driver describe errors: the first one that was loaded.
///
/// # Safety
/// `function` is the address of the driver's `cuGetErrorString`, valid for the rest of the process.
pub unsafe fn describe_by(function: Option<*mut c_void>) {
    // SAFETY: the driver function of this name has this signature.
    let function = function.map(|address| unsafe { std::mem::transmute(address) });
    let _ = GET_ERROR_STRING.set(function);
}

fn describe(status: u32) -> String {
    let Some(function) = GET_ERROR_STRING.get() else {
        return "the CUDA driver is not loaded".into();
    };
    let mut text = std::ptr::null();
    if let Some(function) = function {
        // SAFETY: `text` is writable.
        unsafe { function(status, &mut text) };
    }
    if text.is_null() {
        return "a status this driver has no text for".into();
    }
    // SAFETY: the driver left a static string there.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
