// SPDX-License-Identifier: MIT OR Apache-2.0
//! Driver functions under their own names that not every program calls: each is looked up at its first call.

use crate::api::Handle;
use crate::call::{CallError, check};
use crate::load::function;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The status of a call that no driver answered: `CUDA_ERROR_STUB_LIBRARY`.
pub(crate) const NOT_LOADED: u32 = 34;
/// `CUDA_ERROR_OUT_OF_MEMORY`: the status of an allocation that finds no room.
pub const OUT_OF_MEMORY: u32 = 2;
/// `CU_MEMORYTYPE_HOST`.
pub const HOST: u32 = 1;
/// `CU_MEMORYTYPE_DEVICE`.
pub const DEVICE: u32 = 2;

/// One side of [`Memcpy2d`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Side2d {
    /// Bytes and rows that are left out.
    pub offsets: [usize; 2],
    /// [`HOST`] or [`DEVICE`].
    pub memory: u32,
    /// Where it lies in the host's memory.
    pub host: *const c_void,
    /// Where it lies in the device's.
    pub device: u64,
    /// No array.
    pub array: *mut c_void,
    /// Bytes from one row to the next.
    pub pitch: usize,
}

impl Side2d {
    /// Rows in the host's memory.
    #[must_use]
    pub fn host(host: *const c_void, pitch: usize) -> Self {
        Self { offsets: [0; 2], memory: HOST, host, device: 0, array: ptr::null_mut(), pitch }
    }

    /// Rows in the device's memory.
    #[must_use]
    pub fn device(device: u64, pitch: usize) -> Self {
        let (host, array) = (ptr::null(), ptr::null_mut());
        Self { offsets: [0; 2], memory: DEVICE, host, device, array, pitch }
    }
}

/// `CUDA_MEMCPY2D`: a copy of rows.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Memcpy2d {
    /// The source.
    pub from: Side2d,
    /// The destination.
    pub to: Side2d,
    /// Bytes of a row.
    pub width: usize,
    /// Rows.
    pub rows: usize,
}

/// One side of [`Memcpy3d`].
#[repr(C)]
pub(crate) struct Side3d {
    pub offsets_and_level: [usize; 4],
    pub memory: u32,
    pub host: *const c_void,
    pub device: u64,
    pub array: Handle,
    /// Null in a copy within a context.
    pub context: Handle,
    pub pitch: usize,
    pub height: usize,
}

/// `CUDA_MEMCPY3D` and `CUDA_MEMCPY3D_PEER`.
#[repr(C)]
pub(crate) struct Memcpy3d {
    pub from: Side3d,
    pub to: Side3d,
    pub width: usize,
    pub rows: usize,
    pub planes: usize,
}

/// `CUlaunchAttribute`, of an integer.
#[repr(C, align(8))]
pub(crate) struct LaunchAttribute {
    pub id: u32,
    pub padding: u32,
    pub value: [u32; 16],
}

/// `CUlaunchConfig`.
#[repr(C)]
pub(crate) struct LaunchConfig {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared_bytes: u32,
    pub stream: Handle,
    pub attributes: *const LaunchAttribute,
    pub attribute_count: u32,
}

/// The address of a function, which is looked for until it is found.
fn address(known: &AtomicPtr<c_void>, name: &CStr) -> Option<*mut c_void> {
    let mut address = known.load(Ordering::Acquire);
    if address.is_null() {
        address = function(name)?;
        known.store(address, Ordering::Release);
    }
    Some(address)
}

macro_rules! functions {
    ($($visibility:vis fn $name:ident($($argument:ident: $ty:ty),* $(,)?);)*) => {$(
        /// The driver's function of this name.
        ///
        /// # Errors
        /// It fails, or there is no driver, or none with this function.
        ///
        /// # Safety
        /// Keep the contract that the driver documents for this function.
        #[allow(non_snake_case, clippy::too_many_arguments)]
        $visibility unsafe fn $name($($argument: $ty),*) -> Result<(), CallError> {
            static KNOWN: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
            const NAME: &str = stringify!($name);
            const TEXT: &CStr =
                match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => unreachable!(),
                };
            let Some(address) = address(&KNOWN, TEXT) else { return check(NAME, NOT_LOADED) };
            // SAFETY: the functions have the signatures that `cuda.h` of CUDA 12 gives them; the rest is as the caller
            // promises.
            let status = unsafe {
                let call: unsafe extern "C" fn($($ty),*) -> u32 = std::mem::transmute(address);
                call($($argument),*)
            };
            check(NAME, status)
        }
    )*};
}

functions! {
    pub fn cuCtxPopCurrent_v2(context: *mut Handle);
    pub fn cuCtxPushCurrent_v2(context: Handle);
    pub fn cuDeviceGet(device: *mut c_int, ordinal: c_int);
    pub fn cuDevicePrimaryCtxRelease_v2(device: c_int);
    pub fn cuDevicePrimaryCtxRetain(context: *mut Handle, device: c_int);
    pub fn cuMemAlloc_v2(address: *mut u64, bytes: usize);
    pub fn cuMemFree_v2(address: u64);
    pub fn cuMemHostRegister_v2(start: *mut c_void, bytes: usize, flags: u32);
    pub fn cuMemHostUnregister(start: *mut c_void);
    pub fn cuMemcpy2DUnaligned_v2(copy: *const Memcpy2d);
    pub fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle);
    pub fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize);
    pub fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, bytes: usize, stream: Handle);
    pub fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize);
    pub fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, bytes: usize);
    pub fn cuMemsetD2D16_v2(to: u64, pitch: usize, value: u16, width: usize, rows: usize);

    pub(crate) fn cuCtxEnablePeerAccess(peer: Handle, flags: u32);
    pub(crate) fn cuCtxGetCurrent(context: *mut Handle);
    pub(crate) fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int);
    pub(crate) fn cuCtxSetCurrent(context: Handle);
    pub(crate) fn cuCtxSynchronize();
    pub(crate) fn cuDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int);
    pub(crate) fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int);
    pub(crate) fn cuDeviceGetCount(count: *mut c_int);
    pub(crate) fn cuDeviceGetName(name: *mut c_char, bytes: c_int, device: c_int);
    pub(crate) fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int);
    pub(crate) fn cuDriverGetVersion(version: *mut c_int);
    pub(crate) fn cuEventCreate(event: *mut Handle, flags: u32);
    pub(crate) fn cuEventDestroy_v2(event: Handle);
    pub(crate) fn cuEventElapsedTime(milliseconds: *mut f32, start: Handle, end: Handle);
    pub(crate) fn cuEventQuery(event: Handle);
    pub(crate) fn cuEventRecord(event: Handle, stream: Handle);
    pub(crate) fn cuEventSynchronize(event: Handle);
    pub(crate) fn cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: Handle);
    pub(crate) fn cuFuncSetAttribute(function: Handle, attribute: c_int, value: c_int);
    pub(crate) fn cuInit(flags: u32);
    pub(crate) fn cuLaunchCooperativeKernel(
        function: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32,
        block_z: u32, shared_bytes: u32, stream: Handle, parameters: *mut *mut c_void
    );
    pub(crate) fn cuLaunchKernel(
        function: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32,
        block_z: u32, shared_bytes: u32, stream: Handle, parameters: *mut *mut c_void,
        extra: *mut *mut c_void
    );
    pub(crate) fn cuLaunchKernelEx(
        config: *const LaunchConfig, function: Handle, parameters: *mut *mut c_void,
        extra: *mut *mut c_void
    );
    pub(crate) fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    pub(crate) fn cuMemcpy3DAsync_v2(copy: *const Memcpy3d, stream: Handle);
    pub(crate) fn cuMemcpy3DPeerAsync(copy: *const Memcpy3d, stream: Handle);
    pub(crate) fn cuMemcpyPeerAsync(
        to: u64, to_context: Handle, from: u64, from_context: Handle, bytes: usize, stream: Handle
    );
    pub(crate) fn cuMemsetD8_v2(to: u64, byte: u8, count: usize);
    pub(crate) fn cuModuleGetFunction(function: *mut Handle, module: Handle, name: *const c_char);
    pub(crate) fn cuModuleLoadDataEx(
        module: *mut Handle, image: *const c_void, count: u32, options: *mut c_int,
        values: *mut *mut c_void
    );
    pub(crate) fn cuModuleUnload(module: Handle);
    pub(crate) fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int, function: Handle, threads: c_int, shared_bytes: usize
    );
    pub(crate) fn cuStreamCreateWithPriority(stream: *mut Handle, flags: u32, priority: c_int);
    pub(crate) fn cuStreamDestroy_v2(stream: Handle);
    pub(crate) fn cuStreamSynchronize(stream: Handle);
    pub(crate) fn cuStreamWaitEvent(stream: Handle, event: Handle, flags: u32);
}
