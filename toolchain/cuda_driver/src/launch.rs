// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches in a stream: after the one before, or overlapping it.

use crate::call::{CallError, check};
use crate::extents::Extents;
use crate::load::function;
use cust::function::Function;
use cust::stream::Stream;
use cust::sys::{self, CUfunction_attribute};
use std::ffi::c_void;
use std::ptr;

/// `CUlaunchAttribute` for programmatic stream serialization.
#[repr(C, align(8))]
struct Attribute {
    id: u32,
    padding: u32,
    value: [u32; 16],
}

const COOPERATIVE: u32 = 2;
const PROGRAMMATIC_STREAM_SERIALIZATION: u32 = 6;

impl Attribute {
    /// The attribute of this number, whose value is the integer 1.
    fn on(id: u32) -> Self {
        let mut value = [0; 16];
        value[0] = 1;
        Self { id, padding: 0, value }
    }
}

/// `CUlaunchConfig`.
#[repr(C)]
struct LaunchConfig {
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    stream: sys::CUstream,
    attributes: *const Attribute,
    attribute_count: u32,
}

type LaunchEx = unsafe extern "C" fn(
    *const LaunchConfig,
    sys::CUfunction,
    *mut *mut c_void,
    *mut *mut c_void,
) -> u32;

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
/// As [`launch_overlapping`].
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
/// As [`launch_overlapping`].
unsafe fn launch(
    kernel: &Function,
    extents: Extents,
    stream: &Stream,
    parameters: &mut [*mut c_void],
    cooperative: bool,
) -> Result<(), CallError> {
    let launch_ex = if waits(kernel)? { function(c"cuLaunchKernelEx") } else { None };
    let Some(launch_ex) = launch_ex else {
        // SAFETY: as the caller promises.
        return unsafe { in_order(kernel, extents, stream, parameters, cooperative) };
    };
    let Extents { blocks, threads, shared_bytes } = extents;
    let attributes = [Attribute::on(PROGRAMMATIC_STREAM_SERIALIZATION), Attribute::on(COOPERATIVE)];
    let config = LaunchConfig {
        grid: [blocks, 1, 1],
        block: [threads, 1, 1],
        shared_bytes,
        stream: stream.as_inner(),
        attributes: attributes.as_ptr(),
        attribute_count: if cooperative { 2 } else { 1 },
    };
    // SAFETY: the driver function of this name has this signature; the configuration outlives the
    // call; the rest is as the caller promises.
    let status = unsafe {
        let launch: LaunchEx = std::mem::transmute(launch_ex);
        launch(&config, kernel.to_raw(), parameters.as_mut_ptr(), ptr::null_mut())
    };
    check("cuLaunchKernelEx", status)
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
/// As there.
unsafe fn in_order(
    kernel: &Function,
    Extents { blocks, threads, shared_bytes }: Extents,
    stream: &Stream,
    parameters: &mut [*mut c_void],
    cooperative: bool,
) -> Result<(), CallError> {
    let (kernel, stream, parameters) =
        (kernel.to_raw(), stream.as_inner(), parameters.as_mut_ptr());
    // SAFETY: as the caller promises.
    let (call, status) = unsafe {
        if cooperative {
            let status = sys::cuLaunchCooperativeKernel(
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
            );
            ("cuLaunchCooperativeKernel", status)
        } else {
            let extra = ptr::null_mut();
            let status = sys::cuLaunchKernel(
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
            );
            ("cuLaunchKernel", status)
        }
    };
    check(call, status as u32)
}

/// Whether `cuda_std::grid::wait_for_previous` means something in a kernel: whether its PTX is for sm_90
/// or later.
fn waits(kernel: &Function) -> Result<bool, CallError> {
    const SM_90: i32 = 90;
    let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_PTX_VERSION;
    let mut version = 0;
    // SAFETY: the handle is valid as long as the module that `kernel` borrows; `version` is writable.
    let status = unsafe { sys::cuFuncGetAttribute(&mut version, attribute, kernel.to_raw()) };
    check("cuFuncGetAttribute", status as u32)?;
    Ok(version >= SM_90)
}
