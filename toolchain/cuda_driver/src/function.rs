// SPDX-License-Identifier: MIT OR Apache-2.0
//! Attributes of a kernel that `cust::function::Function` can read but not set.

use crate::call::{CallError, check};
use cust::function::Function;
use cust::sys::{self, CUfunction_attribute};

/// Allows launches of `kernel` with up to `bytes` of dynamic shared memory.
///
/// Above 48 KiB (static and dynamic together) the driver asks for this before the launch, and before
/// `Function::max_active_blocks_per_multiprocessor` counts with that much. The limit of a device is
/// [`crate::Attribute::MaxSharedMemoryPerBlockOptin`]; more is an error.
pub fn set_max_dynamic_shared_memory(kernel: &Function, bytes: u32) -> Result<(), CallError> {
    // The driver takes an `int`; what does not fit is far beyond every device and refused there.
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    // SAFETY: the handle is valid as long as the module that `kernel` borrows.
    let status = unsafe { sys::cuFuncSetAttribute(kernel.to_raw(), attribute, bytes) };
    check("cuFuncSetAttribute", status as u32)
}

/// Lets `kernel` run with the most shared memory that a multiprocessor can have, at the cost of its L1
/// cache. By default the driver configures as much as the blocks of a launch need, and blocks of
/// another launch find no more.
pub fn prefer_shared_memory(kernel: &Function) -> Result<(), CallError> {
    let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
    // SAFETY: as above; 100 is the percentage of the most.
    let status = unsafe { sys::cuFuncSetAttribute(kernel.to_raw(), attribute, 100) };
    check("cuFuncSetAttribute", status as u32)
}
