// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches in a stream: after the one before, or overlapping it.

use crate::call::CallError;
use crate::extents::Extents;
use crate::function::Function;
use crate::load::function;
use crate::stream::Stream;
use crate::sys::{self, LaunchAttribute, LaunchConfig};
use std::ffi::c_void;
use std::ptr;

const COOPERATIVE: u32 = 2;
const PROGRAMMATIC_STREAM_SERIALIZATION: u32 = 6;

/// The attribute of this number, whose value is the integer 1.
fn on(id: u32) -> LaunchAttribute {
    let mut value = [0; 16];
    value[0] = 1;
    LaunchAttribute { id, padding: 0, value }
}

/// Launches a kernel that may start while the launch before it in the stream still runs, up to its
/// `cuda_std::grid::wait_for_previous`. One that was compiled for chips before sm_90 cannot wait, and a
/// driver may be too old for that: they launch in order.
///
/// # Errors
/// The driver refuses.
///
/// # Safety
/// As any launch: `parameters` points at one value for each of the kernel's parameters, of its type,
/// and the launch meets the kernel's contract. The kernel waits for the launch before it before it
/// touches what that one touches, and some thread of it does in any case, so that its end implies that
/// of the launch before.
pub unsafe fn launch_overlapping(
    kernel: &Function,
    extents: Extents,
    stream: &Stream,
    parameters: &mut [*mut c_void],
) -> Result<(), CallError> {
    // SAFETY: as the caller promises.
    unsafe { launch(kernel, extents, stream, parameters, false) }
}

/// As [`launch_overlapping`], for a kernel whose blocks wait for each other: they all run at once, or the
/// driver refuses (`CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE`) instead of letting them wait for ever.
///
/// # Errors
/// The driver refuses.
///
/// # Safety
/// As any launch: `parameters` points at one value for each of the kernel's parameters, of its type,
/// and the launch meets the kernel's contract. The kernel waits for the launch before it before it
/// touches what that one touches, and some thread of it does in any case, so that its end implies that
/// of the launch before.
pub unsafe fn launch_cooperative(
    kernel: &Function,
    extents: Extents,
    stream: &Stream,
    parameters: &mut [*mut c_void],
) -> Result<(), CallError> {
    // SAFETY: as the caller promises.
    unsafe { launch(kernel, extents, stream, parameters, true) }
}

/// # Safety
/// As any launch: `parameters` points at one value for each of the kernel's parameters, of its type,
/// and the launch meets the kernel's contract. The kernel waits for the launch before it before it
/// touches what that one touches, and some thread of it does in any case, so that its end implies that
/// of the launch before.
unsafe fn launch(
    kernel: &Function,
    extents: Extents,
    stream: &Stream,
    parameters: &mut [*mut c_void],
    cooperative: bool,
) -> Result<(), CallError> {
    if !waits(kernel)? || function(c"cuLaunchKernelEx").is_none() {
        // SAFETY: as the caller promises.
        return unsafe { in_order(kernel, extents, stream, parameters, cooperative) };
    }
    let Extents { blocks, threads, shared_bytes } = extents;
    let attributes = [on(PROGRAMMATIC_STREAM_SERIALIZATION), on(COOPERATIVE)];
    let config = LaunchConfig {
        grid: [blocks, 1, 1],
        block: [threads, 1, 1],
        shared_bytes,
        stream: stream.as_raw(),
        attributes: attributes.as_ptr(),
        attribute_count: if cooperative { 2 } else { 1 },
    };
    // SAFETY: the configuration outlives the call; the rest is as the caller promises.
    unsafe {
        sys::cuLaunchKernelEx(&config, kernel.as_raw(), parameters.as_mut_ptr(), ptr::null_mut())
    }
}

/// Launches a kernel that starts when the launch before it in the stream has ended.
///
/// # Errors
/// The driver refuses.
///
/// # Safety
/// As any launch: `parameters` points at one value for each of the kernel's parameters, of its type,
/// and the launch meets the kernel's contract.
pub unsafe fn launch_in_order(
    kernel: &Function,
    extents: Extents,
    stream: &Stream,
    parameters: &mut [*mut c_void],
) -> Result<(), CallError> {
    // SAFETY: as the caller promises.
    unsafe { in_order(kernel, extents, stream, parameters, false) }
}

/// As [`launch_in_order`], whether or not its blocks wait for each other.
///
/// # Safety
/// As any launch: `parameters` points at one value for each of the kernel's parameters, of its type,
/// and the launch meets the kernel's contract.
unsafe fn in_order(
    kernel: &Function,
    Extents { blocks, threads, shared_bytes }: Extents,
    stream: &Stream,
    parameters: &mut [*mut c_void],
    cooperative: bool,
) -> Result<(), CallError> {
    let (kernel, stream, parameters) = (kernel.as_raw(), stream.as_raw(), parameters.as_mut_ptr());
    // SAFETY: as the caller promises.
    unsafe {
        if cooperative {
            sys::cuLaunchCooperativeKernel(
                kernel,
                blocks,
                1,
                1,
                threads,
                1,
                1,
                shared_bytes,
                stream,
                parameters,
            )
        } else {
            let extra = ptr::null_mut();
            sys::cuLaunchKernel(
                kernel,
                blocks,
                1,
                1,
                threads,
                1,
                1,
                shared_bytes,
                stream,
                parameters,
                extra,
            )
        }
    }
}

/// Whether `cuda_std::grid::wait_for_previous` means something in a kernel: whether its PTX is for sm_90
/// or later.
fn waits(kernel: &Function) -> Result<bool, CallError> {
    const SM_90: u32 = 90;
    Ok(kernel.ptx_version()? >= SM_90)
}
