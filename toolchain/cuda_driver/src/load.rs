// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finding the driver's library and connecting the table to it, once per process.

use crate::table;
use libloading::Library;
use std::error::Error;
use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

const LIBRARY: &str = "libcuda.so.1";

/// Why the CUDA driver cannot be used. The text says what is missing and what to do.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LoadError {
    /// The dynamic loader does not find or does not accept the library.
    #[error(
        "no NVIDIA driver: {library} cannot be loaded ({reason}); \
         install the NVIDIA driver, or run on a machine that has it"
    )]
    NotFound {
        /// The library's file name.
        library: String,
        /// The dynamic loader's message.
        reason: String,
    },
    /// The library lacks a function that every driver has.
    #[error(
        "{library} is no usable NVIDIA driver: it has no function {function}; \
         reinstall the NVIDIA driver"
    )]
    Unusable {
        /// The library's file name.
        library: String,
        /// The missing function.
        function: &'static str,
    },
}

static DRIVER: OnceLock<Result<Library, LoadError>> = OnceLock::new();

/// Loads the CUDA driver and connects `cust` to it. Only the first call does work; it may come from
/// any thread, and must come before the first use of `cust`, whose calls otherwise fail with
/// `CUDA_ERROR_STUB_LIBRARY`.
pub fn load() -> Result<(), LoadError> {
    DRIVER.get_or_init(|| connect(LIBRARY)).as_ref().map(|_| ()).map_err(Clone::clone)
}

/// Whether [`load`] was called and found a driver.
pub fn is_loaded() -> bool {
    matches!(DRIVER.get(), Some(Ok(_)))
}

/// The address of a driver function that `cust` does not know, or `None` if the driver is not loaded
/// or too old for it.
pub(crate) fn function(name: &CStr) -> Option<*mut c_void> {
    find(DRIVER.get()?.as_ref().ok()?, name)
}

fn connect(library: &str) -> Result<Library, LoadError> {
    let not_found = |error: libloading::Error| {
        // The dynamic loader's own message is the cause of libloading's.
        let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        LoadError::NotFound { library: library.into(), reason }
    };
    // SAFETY: the library's initialisers run; they are the vendor's and have no precondition.
    let driver = unsafe { Library::new(library) }.map_err(not_found)?;
    for required in [c"cuInit", c"cuDriverGetVersion", c"cuGetErrorString"] {
        if find(&driver, required).is_none() {
            let function = required.to_str().expect("ASCII");
            return Err(LoadError::Unusable { library: library.into(), function });
        }
    }
    // SAFETY: the addresses come from the driver, which `DRIVER` keeps loaded from now on.
    unsafe { table::fill(|name| find(&driver, name)) };
    Ok(driver)
}

fn find(library: &Library, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: only the address is taken; nothing is called or read through it here.
    let symbol = unsafe { library.get::<*mut c_void>(name.to_bytes_with_nul()) }.ok()?;
    let address = *symbol;
    (!address.is_null()).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cust::sys;
    use std::process::Command;
    use std::ptr::{null, null_mut};

    #[test]
    fn a_missing_library_is_named_with_a_remedy() {
        let text = connect("libcuda-that-is-not-there.so").unwrap_err().to_string();
        assert!(
            text.starts_with("no NVIDIA driver: libcuda-that-is-not-there.so cannot"),
            "{text}"
        );
        assert!(text.contains("No such file or directory"), "{text}");
        assert!(text.contains("install the NVIDIA driver"), "{text}");
    }

    /// Builds a shared library from Rust source and returns its path.
    fn library(folder: &tempfile::TempDir, name: &str, source: &str) -> String {
        let path = folder.path().join(name);
        let file = path.with_extension("rs");
        std::fs::write(&file, source).unwrap();
        let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
        let output = Command::new(rustc)
            .args(["--edition=2024", "--crate-type=cdylib", "-Cpanic=abort", "-o"])
            .args([&path, &file])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        path.to_str().unwrap().into()
    }

    #[test]
    fn a_library_that_is_no_driver_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = library(
            &folder,
            "empty.so",
            "#[unsafe(no_mangle)] extern \"C\" fn cuInit(_: u32) -> i32 { 0 }",
        );
        let text = connect(&path).unwrap_err().to_string();
        assert!(text.contains("it has no function cuDriverGetVersion"), "{text}");
    }

    /// A stand-in driver shows that each jump reaches the function of its own name with its arguments.
    #[test]
    fn calls_reach_the_library_with_their_arguments() {
        let folder = tempfile::tempdir().unwrap();
        let path = library(
            &folder,
            "driver.so",
            r#"
            #[unsafe(no_mangle)] extern "C" fn cuInit(flags: u32) -> u32 { flags }
            #[unsafe(no_mangle)] unsafe extern "C" fn cuDriverGetVersion(v: *mut i32) -> u32 {
                unsafe { *v = 13000 }; 0
            }
            #[unsafe(no_mangle)] unsafe extern "C" fn cuGetErrorString(
                _: u32, text: *mut *const core::ffi::c_char) -> u32 {
                unsafe { *text = c"from the library".as_ptr() }; 0
            }
            // The last name of the table, and more arguments than there are registers for them.
            #[unsafe(no_mangle)] extern "C" fn cuWaitExternalSemaphoresAsync(
                _: usize, _: usize, n: u32, _: usize) -> u32 { n }
            #[unsafe(no_mangle)] unsafe extern "C" fn cuLaunchKernel(_: usize,
                _: u32, _: u32, _: u32, _: u32, _: u32, _: u32, _: u32, _: usize,
                _: usize, extra: *mut u32) -> u32 { unsafe { *extra = 7 }; 0 }
            "#,
        );
        let _driver = connect(&path).unwrap();
        let mut version = 0;
        let mut extra = 0u32;
        // SAFETY: the functions above keep the signatures of the driver's.
        unsafe {
            assert_eq!(sys::cuInit(1), sys::CUresult::CUDA_ERROR_INVALID_VALUE);
            assert_eq!(sys::cuDriverGetVersion(&mut version), sys::CUresult::CUDA_SUCCESS);
            let status = sys::cuWaitExternalSemaphoresAsync(null(), null(), 2, null_mut());
            assert_eq!(status, sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY);
            let extra = (&raw mut extra).cast();
            let (f, stream, params) = (null_mut(), null_mut(), null_mut());
            sys::cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, params, extra);
        }
        assert_eq!((version, extra), (13000, 7));
        assert_eq!(cust::error::CudaError::InvalidValue.to_string(), "\"from the library\"");
        // A function that the library lacks still answers.
        let mut count = 0;
        // SAFETY: `count` is writable.
        let status = unsafe { sys::cuDeviceGetCount(&mut count) };
        assert_eq!(status, sys::CUresult::CUDA_ERROR_STUB_LIBRARY);
    }
}
