// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device attributes that `cust::device::DeviceAttribute` does not list.

use crate::call::{CallError, check};
use cust::device::Device;
use cust::sys::{self, CUdevice_attribute};

/// A property of a device; `cust`'s [`cust::device::DeviceAttribute`] has the older ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Attribute {
    /// Most shared memory of a block, in bytes, after [`crate::set_max_dynamic_shared_memory`].
    MaxSharedMemoryPerBlockOptin,
    /// Shared memory that the driver keeps for itself in each block, in bytes.
    ReservedSharedMemoryPerBlock,
    /// Most resident blocks of a multiprocessor.
    MaxBlocksPerMultiprocessor,
    /// Most L2 cache that can be set aside for persisting accesses, in bytes.
    MaxPersistingL2CacheSize,
    /// Whether a kernel can be launched cooperatively (1) or not (0).
    CooperativeLaunch,
    /// Whether stream-ordered allocation is supported (1) or not (0).
    MemoryPoolsSupported,
}

/// Reads an attribute of a device.
pub fn attribute(device: Device, attribute: Attribute) -> Result<u32, CallError> {
    use CUdevice_attribute as D;
    let raw = match attribute {
        Attribute::MaxSharedMemoryPerBlockOptin => {
            D::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
        }
        Attribute::ReservedSharedMemoryPerBlock => {
            D::CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK
        }
        Attribute::MaxBlocksPerMultiprocessor => {
            D::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR
        }
        Attribute::MaxPersistingL2CacheSize => D::CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE,
        Attribute::CooperativeLaunch => D::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH,
        Attribute::MemoryPoolsSupported => D::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED,
    };
    let mut value = 0;
    // SAFETY: `value` is writable; an unknown device is an error of the call.
    let status = unsafe { sys::cuDeviceGetAttribute(&mut value, raw, device.as_raw()) };
    check("cuDeviceGetAttribute", status as u32)?;
    Ok(u32::try_from(value).unwrap_or(0))
}
