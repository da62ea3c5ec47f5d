// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several GPUs of one process: whether one reaches another's memory, and copies between them.
//!
//! Each GPU has its context, which [`Context::new`] retains: it is the device's primary one, the same
//! for every thread and library of the process, and may be lent to any thread. Addresses are unique in
//! the process: an address says by itself on which GPU it lies.

use crate::call::CallError;
use crate::context::Context;
use crate::device::Device;
use crate::stream::Stream;
use crate::sys;

/// `CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED`.
const ALREADY_ENABLED: u32 = 704;

/// Whether kernels and copies of `from` can reach the memory of `to` directly, by NVLink or PCIe. A
/// device reaches its own. If not, copies between the two still work: the driver takes them through
/// the host's memory.
///
/// # Errors
/// The driver refuses, or there is none.
pub fn can_access(from: Device, to: Device) -> Result<bool, CallError> {
    if from == to {
        return Ok(true);
    }
    let mut can = 0;
    // SAFETY: `can` is writable; an unknown device is an error of the call.
    unsafe { sys::cuDeviceCanAccessPeer(&mut can, from.as_raw(), to.as_raw())? };
    Ok(can != 0)
}

/// Lets the calling thread's current context reach the memory of `peer` directly, now and later
/// allocations alike, until one of the two contexts ends. It is one direction; each side asks for its
/// own. Asking twice, or for the current context itself, changes nothing.
///
/// # Errors
/// [`can_access`] says no, no context is current, or the driver refuses.
pub fn enable_access(peer: &Context) -> Result<(), CallError> {
    let mut current = std::ptr::null_mut();
    // SAFETY: `current` is writable.
    unsafe { sys::cuCtxGetCurrent(&mut current)? };
    if current == peer.as_raw() {
        return Ok(());
    }
    // SAFETY: `peer` is retained as long as it is borrowed; the flags must be 0.
    match unsafe { sys::cuCtxEnablePeerAccess(peer.as_raw(), 0) } {
        Err(error) if error.status == ALREADY_ENABLED => Ok(()),
        enabled => enabled,
    }
}

/// Queues a copy of `bytes` bytes from an address of one context to an address of another, or of the
/// same, behind what `stream` has been given before. It returns at once.
///
/// # Errors
/// The driver refuses, or reports that work before failed.
///
/// # Safety
/// Until the stream has passed the copy, both ranges are allocated in the contexts named beside them,
/// they do not overlap, nobody writes the source and nobody else reads or writes the destination.
/// Work of other streams is kept away by events or by waiting.
pub unsafe fn copy_peer(
    to: u64,
    to_context: &Context,
    from: u64,
    from_context: &Context,
    bytes: usize,
    stream: &Stream,
) -> Result<(), CallError> {
    if bytes == 0 {
        return Ok(());
    }
    let (to_context, from_context) = (to_context.as_raw(), from_context.as_raw());
    let stream = stream.as_raw();
    // SAFETY: as the caller promises; the contexts are retained as long as they are borrowed.
    unsafe {
        if to_context == from_context {
            sys::cuMemcpyDtoDAsync_v2(to, from, bytes, stream)
        } else {
            sys::cuMemcpyPeerAsync(to, to_context, from, from_context, bytes, stream)
        }
    }
}
