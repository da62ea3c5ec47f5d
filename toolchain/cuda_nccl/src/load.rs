// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finding NCCL's library, once per process.

use crate::api::Api;
use crate::nccl::Nccl;
use crate::places;
use libloading::Library;
use std::error::Error;
use std::ffi::{CStr, OsStr, c_void};
use std::sync::OnceLock;

/// The variable that names the library.
const VARIABLE: &str = "NCCL_LIBRARY";

/// Why NCCL cannot be used. The text says what is missing and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The dynamic loader does not find or does not accept the library.
    #[error(
        "no NCCL: {library} cannot be loaded ({reason}); install NCCL (the package libnccl2, or \
         `pip install nvidia-nccl-cu12`), or name its library in {VARIABLE}"
    )]
    NotFound {
        /// The library's file name.
        library: String,
        /// The dynamic loader's message.
        reason: String,
    },
    /// The library lacks a function that NCCL has from 2.7 on.
    #[error(
        "{library} is no usable NCCL: it has no function {function}; install NCCL 2.7 or later, or \
         name its library in {VARIABLE}"
    )]
    Unusable {
        /// The library's file name.
        library: String,
        /// The missing function.
        function: &'static str,
    },
}

static NCCL: OnceLock<Result<Nccl, LoadError>> = OnceLock::new();

/// Loads NCCL. Only the first call does work; it may come from any thread. No GPU and no driver is needed for it.
///
/// # Errors
/// There is no NCCL, or not a usable one.
pub fn load() -> Result<&'static Nccl, LoadError> {
    NCCL.get_or_init(look).as_ref().map_err(Clone::clone)
}

fn look() -> Result<Nccl, LoadError> {
    if let Some(library) = std::env::var_os(VARIABLE).filter(|library| !library.is_empty()) {
        return connect(&library);
    }
    let mut found = connect(places::LIBRARY.as_ref());
    for path in places::installed() {
        if found.is_ok() {
            break;
        }
        found = connect(path.as_os_str());
    }
    found
}

fn connect(library: &OsStr) -> Result<Nccl, LoadError> {
    let name = || library.to_string_lossy().into_owned();
    let not_found = |error: libloading::Error| {
        // The dynamic loader's own message is the cause of libloading's.
        let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        LoadError::NotFound { library: name(), reason }
    };
    // SAFETY: the library's initialisers run; they are the vendor's and have no precondition.
    let found = unsafe { Library::new(library) }.map_err(not_found)?;
    // SAFETY: the addresses come from the library, which `Nccl` keeps loaded.
    let api = unsafe { Api::new(|name| find(&found, name)) };
    let api = api.map_err(|function| LoadError::Unusable { library: name(), function })?;
    Ok(Nccl::new(api, found))
}

fn find(library: &Library, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: only the address is taken; nothing is called or read through it here.
    let symbol = unsafe { library.get::<*mut c_void>(name.to_bytes_with_nul()) }.ok()?;
    let address = *symbol;
    (!address.is_null()).then_some(address)
}
