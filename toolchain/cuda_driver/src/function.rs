// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels in a context: loaded, looked up, and their attributes.

use crate::api::Handle;
use crate::call::CallError;
use crate::context::{Context, synchronize};
use crate::sys;
use std::ffi::{CString, c_int, c_void};
use std::marker::PhantomData;
use std::ptr;

/// `CU_JIT_MAX_REGISTERS`.
const MAX_REGISTERS: c_int = 0;
/// `CU_FUNC_ATTRIBUTE_PTX_VERSION`.
const PTX_VERSION: c_int = 5;
/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
const MAX_DYNAMIC_SHARED: c_int = 8;
/// `CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT`.
const SHARED_MEMORY_CARVEOUT: c_int = 9;

/// Kernels that were loaded into a context, of which they have a share.
#[derive(Debug)]
pub struct Loaded {
    handle: Handle,
    context: Context,
}

/// A kernel of [`Loaded`] ones.
#[derive(Clone, Copy, Debug)]
pub struct Function<'loaded> {
    handle: Handle,
    loaded: PhantomData<&'loaded Loaded>,
}

impl Loaded {
    /// Loads the kernels of a PTX text; those that say nothing of registers get at most so many.
    ///
    /// # Errors
    /// The driver refuses it.
    ///
    /// # Panics
    /// Where the text has a zero byte in it.
    pub fn new(context: &Context, ptx: &str, max_registers: u32) -> Result<Self, CallError> {
        let _current = context.enter()?;
        let text = CString::new(ptx).expect("a text without zeros");
        let mut options = [MAX_REGISTERS];
        let mut values: [*mut c_void; 1] = [ptr::without_provenance_mut(max_registers as usize)];
        let mut handle = ptr::null_mut();
        // SAFETY: the text ends with a zero; `handle` is writable; `Drop` unloads it.
        unsafe {
            let (options, values) = (options.as_mut_ptr(), values.as_mut_ptr());
            sys::cuModuleLoadDataEx(&mut handle, text.as_ptr().cast(), 1, options, values)?;
        }
        Ok(Self { handle, context: context.clone() })
    }

    /// The kernel of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn function(&self, name: &str) -> Result<Function<'_>, CallError> {
        let name = CString::new(name).unwrap_or_default();
        let mut handle = ptr::null_mut();
        // SAFETY: the module is loaded as long as `self` lives; the name ends with a zero.
        unsafe { sys::cuModuleGetFunction(&mut handle, self.handle, name.as_ptr())? };
        Ok(Function { handle, loaded: PhantomData })
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // Kernels of it may still run: wait for them. There is nobody to tell of an error.
        if let Ok(_current) = self.context.enter()
            && synchronize().is_ok()
        {
            // SAFETY: loaded in `new`, unloaded nowhere else.
            let _ = unsafe { sys::cuModuleUnload(self.handle) };
        }
    }
}

impl Function<'_> {
    /// The driver's handle (`CUfunction`).
    #[must_use]
    pub fn as_raw(&self) -> Handle {
        self.handle
    }

    /// How many of its blocks run at once on a multiprocessor.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn resident_blocks(&self, threads: u32, shared_bytes: u32) -> Result<u32, CallError> {
        let mut blocks = 0;
        let (threads, shared) =
            (c_int::try_from(threads).unwrap_or(c_int::MAX), shared_bytes as usize);
        // SAFETY: `blocks` is writable; the handle is valid as long as the module that `self` borrows.
        unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                self.handle,
                threads,
                shared,
            )?;
        }
        Ok(blocks.unsigned_abs())
    }

    /// The chip that its PTX is for, such as 90.
    pub(crate) fn ptx_version(&self) -> Result<u32, CallError> {
        let mut version = 0;
        // SAFETY: as above.
        unsafe { sys::cuFuncGetAttribute(&mut version, PTX_VERSION, self.handle)? };
        Ok(version.unsigned_abs())
    }

    fn set(&self, attribute: c_int, value: c_int) -> Result<(), CallError> {
        // SAFETY: the handle is valid as long as the module that `self` borrows.
        unsafe { sys::cuFuncSetAttribute(self.handle, attribute, value) }
    }
}

/// Lets launches of `kernel` ask for up to `bytes` of dynamic shared memory. Without this the limit is
/// 48 KiB on every device; with it, [`crate::Attribute::MaxSharedMemoryPerBlockOptin`]; more is an error.
///
/// # Errors
/// The driver refuses.
pub fn set_max_dynamic_shared_memory(kernel: &Function, bytes: u32) -> Result<(), CallError> {
    // The driver takes an `int`; what does not fit is far beyond every device and refused there.
    kernel.set(MAX_DYNAMIC_SHARED, c_int::try_from(bytes).unwrap_or(c_int::MAX))
}

/// Lets `kernel` run with the most shared memory that a multiprocessor can have, at the cost of its L1
/// cache. By default the driver configures as much as the blocks of a launch need, and blocks of
/// another launch find no more.
///
/// # Errors
/// The driver refuses.
pub fn prefer_shared_memory(kernel: &Function) -> Result<(), CallError> {
    // The percentage of the most.
    kernel.set(SHARED_MEMORY_CARVEOUT, 100)
}
