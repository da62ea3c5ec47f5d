// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver functions that this crate itself calls, looked up once.

use crate::call::{CallError, check};
use std::ffi::{CStr, c_char, c_int, c_void};

/// `CUcontext`, `CUmodule`, `CUfunction`, `CUstream`: opaque handles.
pub type Handle = *mut c_void;

/// An identifier as a C string.
macro_rules! name {
    ($name:ident) => {
        match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
            Ok(name) => name,
            Err(_) => unreachable!(),
        }
    };
}

macro_rules! functions {
    ($($name:ident($($argument:ident: $ty:ty),*);)*) => {
        /// The driver's functions. Each fails as the driver says, under its own name.
        #[allow(non_snake_case)]
        pub struct Api {
            $($name: unsafe extern "C" fn($($ty),*) -> u32,)*
        }

        impl Api {
            /// Takes the address of each from `find`.
            ///
            /// # Errors
            /// The name of one that is not found.
            ///
            /// # Safety
            /// `find` returns the addresses of the driver's functions, valid for the rest of the process.
            pub unsafe fn new(
                find: impl Fn(&CStr) -> Option<*mut c_void>,
            ) -> Result<Self, &'static str> {
                let find = |name: &'static CStr| {
                    find(name).ok_or_else(|| name.to_str().expect("ASCII"))
                };
                // SAFETY: the functions below have the signatures that `cuda.h` of CUDA 12 gives them.
                Ok(unsafe {
                    Self {
                        $($name: std::mem::transmute::<
                            *mut c_void,
                            unsafe extern "C" fn($($ty),*) -> u32,
                        >(find(name!($name))?),)*
                    }
                })
            }

            $(
                /// # Safety
                /// Keep the contract that the driver documents for the function of this name.
                #[allow(non_snake_case, clippy::too_many_arguments)]
                pub unsafe fn $name(&self, $($argument: $ty),*) -> Result<(), CallError> {
                    // SAFETY: as the caller promises.
                    check(stringify!($name), unsafe { (self.$name)($($argument),*) })
                }
            )*
        }
    };
}

functions! {
    cuInit(flags: u32);
    cuDeviceGetCount(count: *mut c_int);
    cuDeviceGet(device: *mut c_int, ordinal: c_int);
    cuDeviceGetName(name: *mut c_char, bytes: c_int, device: c_int);
    cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int);
    cuDevicePrimaryCtxRetain(context: *mut Handle, device: c_int);
    cuDevicePrimaryCtxRelease_v2(device: c_int);
    cuCtxSetCurrent(context: Handle);
    cuCtxSynchronize();
    cuModuleLoadDataEx(
        module: *mut Handle, image: *const c_void, count: u32, options: *mut c_int,
        values: *mut *mut c_void
    );
    cuModuleUnload(module: Handle);
    cuModuleGetFunction(function: *mut Handle, module: Handle, name: *const c_char);
    cuFuncSetAttribute(function: Handle, attribute: c_int, value: c_int);
    cuLaunchKernel(
        function: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32,
        block_z: u32, shared_bytes: u32, stream: Handle, parameters: *mut *mut c_void,
        extra: *mut *mut c_void
    );
    cuMemAlloc_v2(address: *mut u64, bytes: usize);
    cuMemFree_v2(address: u64);
    cuMemcpyHtoD_v2(to: u64, from: *const c_void, bytes: usize);
    cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize);
    cuMemsetD8_v2(to: u64, byte: u8, count: usize);
    cuEventCreate(event: *mut Handle, flags: u32);
    cuEventDestroy_v2(event: Handle);
    cuEventRecord(event: Handle, stream: Handle);
    cuEventSynchronize(event: Handle);
    cuEventElapsedTime(milliseconds: *mut f32, start: Handle, end: Handle);
}
