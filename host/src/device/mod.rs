// SPDX-License-Identifier: MIT OR Apache-2.0
//! The GPU: what there is, and the device code that this program carries.

use crate::Error;

/// What is known of the GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceInfo {
    /// Its name, such as `NVIDIA H200`.
    pub name: String,
    /// Compute capability, major and minor.
    pub compute_capability: (u32, u32),
    /// Memory.
    pub memory_bytes: u64,
    /// Memory that is free now.
    pub free_bytes: u64,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Level-2 cache.
    pub l2_bytes: u64,
    /// Shared memory that one block can ask for.
    pub shared_bytes_per_block: u32,
    /// Version of the driver.
    pub driver_version: String,
}

/// Looks for a GPU that the kernels run on.
///
/// # Errors
/// [`Error::NoDriver`], [`Error::NoGpu`] or [`Error::Driver`].
pub fn probe() -> Result<DeviceInfo, Error> {
    Err(Error::NoDriver { reason: "this build does not look for one yet".into() })
}

/// The PTX that was compiled into this program, if there was a device compiler.
#[must_use]
pub fn embedded_ptx() -> Option<&'static str> {
    None
}

/// The device compiler that was found when this program was built, or how to get one.
#[must_use]
pub fn device_compiler() -> &'static str {
    "none: this build does not look for one yet"
}
