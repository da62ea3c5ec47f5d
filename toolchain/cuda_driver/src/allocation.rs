// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of the context that is current.

use crate::call::CallError;
use crate::sys;
use bytemuck::{Pod, cast_slice};

/// Memory in the context that was the calling thread's when it was made. Dropping it frees it once the work before is
/// done; drop it before the last share of its context.
///
/// Fills and copies are made on the default stream.
#[derive(Debug)]
pub struct Allocation {
    address: u64,
    bytes: usize,
}

impl Allocation {
    /// Memory with whatever is there: write to it before it leaves this module.
    fn new(bytes: usize) -> Result<Self, CallError> {
        let mut address = 0;
        // SAFETY: `address` is writable; `Drop` frees it. The driver refuses to allocate nothing.
        unsafe { sys::cuMemAlloc_v2(&mut address, bytes.max(1))? };
        Ok(Self { address, bytes })
    }

    /// So many bytes, all zero.
    ///
    /// # Errors
    /// No context is current, or there is not enough memory.
    pub fn zeroed(bytes: usize) -> Result<Self, CallError> {
        let mut memory = Self::new(bytes)?;
        memory.fill(0)?;
        Ok(memory)
    }

    /// A copy of values.
    ///
    /// # Errors
    /// As [`Allocation::zeroed`].
    pub fn of<T: Pod>(values: &[T]) -> Result<Self, CallError> {
        let bytes: &[u8] = cast_slice(values);
        let memory = Self::new(bytes.len())?;
        if !bytes.is_empty() {
            // SAFETY: both sides hold the bytes.
            unsafe {
                sys::cuMemcpyHtoD_v2(memory.address, bytes.as_ptr().cast(), bytes.len())?;
            }
        }
        Ok(memory)
    }

    /// Sets every byte.
    ///
    /// # Errors
    /// The driver refuses, or work before failed.
    pub fn fill(&mut self, byte: u8) -> Result<(), CallError> {
        if self.bytes == 0 {
            return Ok(());
        }
        // SAFETY: the memory holds the bytes.
        unsafe { sys::cuMemsetD8_v2(self.address, byte, self.bytes) }
    }

    /// Copies its first bytes to this machine.
    ///
    /// # Errors
    /// As [`Allocation::fill`].
    ///
    /// # Panics
    /// Where it has fewer.
    pub fn read(&self, to: &mut [u8]) -> Result<(), CallError> {
        assert!(to.len() <= self.bytes, "within the memory");
        if to.is_empty() {
            return Ok(());
        }
        // SAFETY: both sides hold the bytes.
        unsafe { sys::cuMemcpyDtoH_v2(to.as_mut_ptr().cast(), self.address, to.len()) }
    }

    /// Where it lies.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// How much it is.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: allocated in `new`, freed nowhere else. There is nobody to tell of an error.
        let _ = unsafe { sys::cuMemFree_v2(self.address) };
    }
}
