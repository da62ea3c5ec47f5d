// SPDX-License-Identifier: MIT OR Apache-2.0
//! NCCL's functions that this crate calls, looked up once.

use crate::id::UniqueId;
use std::ffi::{CStr, c_char, c_int, c_void};

/// `ncclComm_t`, `cudaStream_t`: opaque handles.
pub type Handle = *mut c_void;

/// `ncclSuccess`.
pub const SUCCESS: c_int = 0;
/// `ncclInProgress`.
pub const IN_PROGRESS: c_int = 7;
/// `ncclUint8`, which counts in bytes.
pub const BYTES: c_int = 1;

/// `ncclGetErrorString`.
type GetErrorString = unsafe extern "C" fn(c_int) -> *const c_char;
/// `ncclGetLastError`.
type GetLastError = unsafe extern "C" fn(Handle) -> *const c_char;

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
        /// The library's functions. Each returns NCCL's status.
        #[allow(non_snake_case)]
        pub struct Api {
            $(pub $name: unsafe extern "C" fn($($ty),*) -> c_int,)*
            /// Describes a status.
            pub error_string: GetErrorString,
            /// Describes the last error; from NCCL 2.13 on.
            pub last_error: Option<GetLastError>,
        }

        impl Api {
            /// Takes the address of each from `find`.
            ///
            /// # Errors
            /// The name of one that is not found.
            ///
            /// # Safety
            /// `find` returns the addresses of NCCL's functions, valid for the rest of the process.
            pub unsafe fn new(
                find: impl Fn(&CStr) -> Option<*mut c_void>,
            ) -> Result<Self, &'static str> {
                let need = |name: &'static CStr| {
                    find(name).ok_or_else(|| name.to_str().expect("ASCII"))
                };
                // SAFETY: the functions have the signatures that `nccl.h` gives them.
                Ok(unsafe {
                    Self {
                        $($name: std::mem::transmute::<
                            *mut c_void,
                            unsafe extern "C" fn($($ty),*) -> c_int,
                        >(need(name!($name))?),)*
                        error_string: std::mem::transmute::<*mut c_void, GetErrorString>(
                            need(c"ncclGetErrorString")?,
                        ),
                        last_error: find(c"ncclGetLastError").map(|address| {
                            std::mem::transmute::<*mut c_void, GetLastError>(address)
                        }),
                    }
                })
            }
        }
    };
}

functions! {
    ncclGetVersion(version: *mut c_int);
    ncclGetUniqueId(id: *mut UniqueId);
    ncclCommInitRank(communicator: *mut Handle, size: c_int, id: UniqueId, rank: c_int);
    ncclCommDestroy(communicator: Handle);
    ncclCommAbort(communicator: Handle);
    ncclCommGetAsyncError(communicator: Handle, state: *mut c_int);
    ncclGroupStart();
    ncclGroupEnd();
    ncclSend(
        from: *const c_void, count: usize, element: c_int, peer: c_int, communicator: Handle,
        stream: Handle
    );
    ncclRecv(
        to: *mut c_void, count: usize, element: c_int, peer: c_int, communicator: Handle,
        stream: Handle
    );
}
