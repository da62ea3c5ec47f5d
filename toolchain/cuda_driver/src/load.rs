// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finding the driver's library, once per process.

use crate::api::Api;
use crate::call::describe_by;
use libloading::Library;
use std::error::Error;
use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

#[cfg(feature = "cust")]
mod symbols;
#[cfg(feature = "cust")]
mod table;

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

/// A driver that was found.
pub struct Driver {
    library: Library,
    pub api: Api,
}

static DRIVER: OnceLock<Result<Driver, LoadError>> = OnceLock::new();

/// Loads the CUDA driver. [`crate::Gpu::open`] does so by itself, and so does the first call through
/// `cust`, which is its `init`; this says why there is none. Only the first call does work; it may come
/// from any thread.
///
/// # Errors
/// There is no driver, or not a usable one.
pub fn load() -> Result<(), LoadError> {
    driver().map(|_| ())
}

/// Whether a driver has been looked for and found.
pub fn is_loaded() -> bool {
    matches!(DRIVER.get(), Some(Ok(_)))
}

/// The driver; looks for it if nobody has.
pub fn driver() -> Result<&'static Driver, LoadError> {
    let connected = || {
        let driver = connect(LIBRARY)?;
        // SAFETY: the address comes from the driver, which `DRIVER` keeps loaded from now on.
        unsafe { describe_by(find(&driver.library, c"cuGetErrorString")) };
        Ok(driver)
    };
    DRIVER.get_or_init(connected).as_ref().map_err(Clone::clone)
}

/// The address of a driver function that not every driver has, or `None` if there is no driver or it is
/// too old.
pub fn function(name: &CStr) -> Option<*mut c_void> {
    find(&driver().ok()?.library, name)
}

fn connect(library: &str) -> Result<Driver, LoadError> {
    let not_found = |error: libloading::Error| {
        // The dynamic loader's own message is the cause of libloading's.
        let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        LoadError::NotFound { library: library.into(), reason }
    };
    // SAFETY: the library's initialisers run; they are the vendor's and have no precondition.
    let found = unsafe { Library::new(library) }.map_err(not_found)?;
    // SAFETY: the addresses come from the driver, which `DRIVER` keeps loaded from now on.
    let api = unsafe { Api::new(|name| find(&found, name)) };
    let api = api.map_err(|function| LoadError::Unusable { library: library.into(), function })?;
    // SAFETY: as above.
    #[cfg(feature = "cust")]
    unsafe {
        table::fill(|name| find(&found, name))
    };
    Ok(Driver { library: found, api })
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
    use std::process::Command;

    #[test]
    fn a_missing_library_is_named_with_a_remedy() {
        let text = connect("libcuda-that-is-not-there.so").err().unwrap().to_string();
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
        let text = connect(&path).err().unwrap().to_string();
        assert!(text.contains("it has no function cuDeviceGetCount"), "{text}");
    }

    /// A stand-in driver shows that each jump reaches the function of its own name with its arguments.
    #[cfg(feature = "cust")]
    #[test]
    fn calls_reach_the_library_with_their_arguments() {
        use cust::sys;
        use std::ptr::{null, null_mut};

        let folder = tempfile::tempdir().unwrap();
        let source = include_str!("../tests/stand_in/driver.rs");
        let path = library(&folder, "driver.so", source);
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
        // SAFETY: it takes nothing.
        let status = unsafe { sys::cuProfilerStart() };
        assert_eq!(status, sys::CUresult::CUDA_ERROR_STUB_LIBRARY);
    }
}
