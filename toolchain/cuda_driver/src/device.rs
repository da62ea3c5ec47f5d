// SPDX-License-Identifier: MIT OR Apache-2.0
//! The GPUs of a machine, and what each is.

use crate::call::CallError;
use crate::sys;
use std::ffi::{CStr, c_int};

/// A GPU that the driver lists. It is not open: [`crate::Context::new`] opens it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Device(c_int);

/// A property of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Attribute {
    /// Cycles in a second, in thousands, at most.
    ClockRate,
    /// Compute capability, the first number.
    ComputeCapabilityMajor,
    /// Compute capability, the second number.
    ComputeCapabilityMinor,
    /// Whether a kernel can be launched cooperatively (1) or not (0).
    CooperativeLaunch,
    /// Lines of the memory's bus.
    GlobalMemoryBusWidth,
    /// Level-2 cache, in bytes.
    L2CacheSize,
    /// Most resident blocks of a multiprocessor.
    MaxBlocksPerMultiprocessor,
    /// Most L2 cache that can be set aside for persisting accesses, in bytes.
    MaxPersistingL2CacheSize,
    /// Most shared memory of a block, in bytes, after [`crate::set_max_dynamic_shared_memory`].
    MaxSharedMemoryPerBlockOptin,
    /// Cycles of the memory in a second, in thousands, at most.
    MemoryClockRate,
    /// Whether stream-ordered allocation is supported (1) or not (0).
    MemoryPoolsSupported,
    /// Multiprocessors.
    MultiprocessorCount,
    /// Shared memory that the driver keeps for itself in each block, in bytes.
    ReservedSharedMemoryPerBlock,
}

impl Attribute {
    /// `CUdevice_attribute`.
    fn code(self) -> c_int {
        match self {
            Self::ClockRate => 13,
            Self::MultiprocessorCount => 16,
            Self::MemoryClockRate => 36,
            Self::GlobalMemoryBusWidth => 37,
            Self::L2CacheSize => 38,
            Self::ComputeCapabilityMajor => 75,
            Self::ComputeCapabilityMinor => 76,
            Self::CooperativeLaunch => 95,
            Self::MaxSharedMemoryPerBlockOptin => 97,
            Self::MaxBlocksPerMultiprocessor => 106,
            Self::MaxPersistingL2CacheSize => 108,
            Self::ReservedSharedMemoryPerBlock => 111,
            Self::MemoryPoolsSupported => 115,
        }
    }
}

impl Device {
    /// How many GPUs the driver lists (`CUDA_VISIBLE_DEVICES` chooses).
    ///
    /// # Errors
    /// There is no driver or no GPU, or the driver refuses.
    pub fn count() -> Result<u32, CallError> {
        let mut count = 0;
        // SAFETY: `cuInit` has no precondition; `count` is writable.
        unsafe {
            sys::cuInit(0)?;
            sys::cuDeviceGetCount(&mut count)?;
        }
        Ok(count.unsigned_abs())
    }

    /// The GPU of this number.
    ///
    /// # Errors
    /// There is none, or no driver.
    pub fn nth(number: u32) -> Result<Self, CallError> {
        let mut device = 0;
        // SAFETY: `cuInit` has no precondition; `device` is writable.
        unsafe {
            sys::cuInit(0)?;
            sys::cuDeviceGet(&mut device, c_int::try_from(number).unwrap_or(c_int::MAX))?;
        }
        Ok(Self(device))
    }

    /// As the driver numbers it.
    #[must_use]
    pub fn as_raw(self) -> c_int {
        self.0
    }

    /// Its name, such as `NVIDIA H200`.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn name(self) -> Result<String, CallError> {
        let mut name = [0; 128];
        // SAFETY: the array has the length that is given; the last byte stays zero.
        unsafe { sys::cuDeviceGetName(name.as_mut_ptr(), name.len() as c_int - 1, self.0)? };
        // SAFETY: the last byte is zero.
        Ok(unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned())
    }

    /// Its memory, in bytes.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn total_memory(self) -> Result<usize, CallError> {
        let mut bytes = 0;
        // SAFETY: `bytes` is writable.
        unsafe { sys::cuDeviceTotalMem_v2(&mut bytes, self.0)? };
        Ok(bytes)
    }

    /// One of its properties.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn attribute(self, attribute: Attribute) -> Result<u32, CallError> {
        let mut value = 0;
        // SAFETY: `value` is writable; an unknown device is an error of the call.
        unsafe { sys::cuDeviceGetAttribute(&mut value, attribute.code(), self.0)? };
        Ok(u32::try_from(value).unwrap_or(0))
    }
}

/// The version of CUDA that the driver supports, such as (13, 0).
///
/// # Errors
/// There is no driver, or it refuses.
pub fn driver_version() -> Result<(u32, u32), CallError> {
    let mut version = 0;
    // SAFETY: `version` is writable.
    unsafe { sys::cuDriverGetVersion(&mut version)? };
    let version = version.unsigned_abs();
    Ok((version / 1000, version % 1000 / 10))
}
