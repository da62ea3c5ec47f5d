// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contexts: in which a thread allocates, loads and launches.

use crate::api::Handle;
use crate::call::CallError;
use crate::device::Device;
use crate::sys;
use std::ffi::c_int;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

/// A share of a device's primary context, which every thread and library of the process uses that asks for it. What is
/// made in it has a share, too; the driver gets the context back when the last one is dropped.
#[derive(Clone, Debug)]
pub struct Context(Arc<Retained>);

/// What the driver counts.
#[derive(Debug)]
struct Retained {
    device: c_int,
    handle: Handle,
}

// SAFETY: the driver's functions on contexts may be called from any thread.
unsafe impl Send for Retained {}
// SAFETY: as above.
unsafe impl Sync for Retained {}

/// A context as that of the thread, until this is dropped. Then the one before is again.
#[derive(Debug)]
pub struct ContextGuard {
    _context: Context,
    /// It belongs to the thread.
    thread: PhantomData<*const ()>,
}

impl Context {
    /// Opens a device, and makes its context that of the calling thread.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn new(device: Device) -> Result<Self, CallError> {
        let context = Self::open(device)?;
        context.make_current()?;
        Ok(context)
    }

    /// Opens a device. The calling thread keeps the context that it has.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn open(device: Device) -> Result<Self, CallError> {
        let (device, mut handle) = (device.as_raw(), ptr::null_mut());
        // SAFETY: `handle` is writable; `Drop` releases it.
        unsafe { sys::cuDevicePrimaryCtxRetain(&mut handle, device)? };
        Ok(Self(Arc::new(Retained { device, handle })))
    }

    /// Makes it the calling thread's context for a while.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn enter(&self) -> Result<ContextGuard, CallError> {
        // SAFETY: what is returned keeps the context.
        unsafe { sys::cuCtxPushCurrent_v2(self.0.handle)? };
        Ok(ContextGuard { _context: self.clone(), thread: PhantomData })
    }

    /// Makes it the calling thread's context.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn make_current(&self) -> Result<(), CallError> {
        // SAFETY: the context is retained as long as `self` lives.
        unsafe { sys::cuCtxSetCurrent(self.0.handle) }
    }

    /// The driver's handle (`CUcontext`).
    #[must_use]
    pub fn as_raw(&self) -> Handle {
        self.0.handle
    }
}

impl Drop for ContextGuard {
    fn drop(&mut self) {
        let mut context = ptr::null_mut();
        // SAFETY: `context` is writable. There is nobody to tell of an error.
        let _ = unsafe { sys::cuCtxPopCurrent_v2(&mut context) };
    }
}

impl Drop for Retained {
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
