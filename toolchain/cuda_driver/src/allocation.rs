// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of a context.

use crate::call::CallError;
use crate::context::Context;
use crate::sys;
use bytemuck::{Pod, cast_slice};

/// Memory in a context, of which it has a share. Any thread may use and drop it, whatever context is current there. Dropping
/// it frees it once the work before is done.
///
/// Fills and copies are made on the default stream.
#[derive(Debug)]
pub struct Allocation {
    address: u64,
    bytes: usize,
    context: Context,
}

impl Allocation {
    /// So many bytes, with whatever is there.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn uninit(context: &Context, bytes: usize) -> Result<Self, CallError> {
        let _current = context.enter()?;
        let mut address = 0;
        // SAFETY: `address` is writable; `Drop` frees it. The driver refuses to allocate nothing.
        unsafe { sys::cuMemAlloc_v2(&mut address, bytes.max(1))? };
        Ok(Self { address, bytes, context: context.clone() })
    }

    /// So many bytes, all zero.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn zeroed(context: &Context, bytes: usize) -> Result<Self, CallError> {
        let mut memory = Self::uninit(context, bytes)?;
        memory.fill(0)?;
        Ok(memory)
    }

    /// A copy of values.
    ///
    /// # Errors
    /// As [`Allocation::zeroed`].
    pub fn of<T: Pod>(context: &Context, values: &[T]) -> Result<Self, CallError> {
        let bytes: &[u8] = cast_slice(values);
        let memory = Self::uninit(context, bytes.len())?;
        if !bytes.is_empty() {
            let _current = context.enter()?;
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
        let _current = self.context.enter()?;
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
        let _current = self.context.enter()?;
        // SAFETY: both sides hold the bytes.
        unsafe { sys::cuMemcpyDtoH_v2(to.as_mut_ptr().cast(), self.address, to.len()) }
    }

    /// Where it lies.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The context that it lies in.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// How much it is.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if let Ok(_current) = self.context.enter() {
            // SAFETY: allocated in `uninit`, freed nowhere else. There is nobody to tell of an error.
            let _ = unsafe { sys::cuMemFree_v2(self.address) };
        }
    }
}
