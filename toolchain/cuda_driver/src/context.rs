// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contexts: in which a thread allocates, loads and launches.

use crate::api::Handle;
use crate::call::CallError;
use crate::device::Device;
use crate::sys;
use std::ffi::c_int;
use std::ptr;

/// A share of a device's primary context, which every thread and library of the process uses that asks for it. Dropping
/// it gives the share back.
#[derive(Debug)]
pub struct Context {
    device: c_int,
    handle: Handle,
}

// SAFETY: the driver's functions on contexts may be called from any thread.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    /// Opens a device, and makes its context that of the calling thread.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn new(device: Device) -> Result<Self, CallError> {
        let context = Self::retain(device.as_raw())?;
        context.make_current()?;
        Ok(context)
    }

    /// Another share.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn share(&self) -> Result<Self, CallError> {
        Self::retain(self.device)
    }

    fn retain(device: c_int) -> Result<Self, CallError> {
        let mut handle = ptr::null_mut();
        // SAFETY: `handle` is writable; `Drop` releases it.
        unsafe { sys::cuDevicePrimaryCtxRetain(&mut handle, device)? };
        Ok(Self { device, handle })
    }

    /// Makes it the calling thread's context.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn make_current(&self) -> Result<(), CallError> {
        // SAFETY: the context is retained as long as `self` lives.
        unsafe { sys::cuCtxSetCurrent(self.handle) }
    }

    /// The driver's handle (`CUcontext`).
    #[must_use]
    pub fn as_raw(&self) -> Handle {
        self.handle
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained once. There is nobody to tell of an error.
        let _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

/// Waits until all work in the calling thread's context is done.
///
/// # Errors
/// It failed, or no context is current.
pub fn synchronize() -> Result<(), CallError> {
    // SAFETY: no precondition.
    unsafe { sys::cuCtxSynchronize() }
}

/// The priorities of streams in the calling thread's context: the least urgent one, and the most urgent, which is lower.
///
/// # Errors
/// No context is current, or the driver refuses.
pub fn stream_priorities() -> Result<[i32; 2], CallError> {
    let [mut least, mut greatest] = [0; 2];
    // SAFETY: both are writable.
    unsafe { sys::cuCtxGetStreamPriorityRange(&mut least, &mut greatest)? };
    Ok([least, greatest])
}

/// How many bytes of memory are free in the calling thread's context.
///
/// # Errors
/// No context is current, or the driver refuses.
pub fn free_memory() -> Result<usize, CallError> {
    let [mut free, mut total] = [0; 2];
    // SAFETY: both are writable.
    unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total)? };
    Ok(free)
}
