// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels, loaded, and their launches.

use crate::api::Handle;
use crate::error::Error;
use crate::extents::Extents3d;
use crate::gpu::Gpu;
use crate::kernels::Kernels;
use cuda_kernel::{Kernel, Parameters};
use std::ffi::{CString, c_int, c_void};
use std::ptr;

/// Kernels that a GPU can run, from [`Gpu::load`].
#[derive(Debug)]
pub struct Module<'gpu> {
    gpu: &'gpu Gpu,
    handle: Handle,
}

/// Shared memory of a block that needs no permission, in bytes.
const WITHOUT_ASKING: u32 = 48 << 10;
/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
const MAX_DYNAMIC_SHARED: c_int = 8;
/// `CU_JIT_ERROR_LOG_BUFFER` and `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`.
const ERROR_LOG: [c_int; 2] = [5, 6];
/// `CUDA_ERROR_NOT_FOUND`.
const NOT_FOUND: u32 = 500;

impl Gpu {
    /// Loads the kernels that fit this GPU best.
    ///
    /// # Errors
    /// There are none for it, or the driver refuses them.
    pub fn load(&self, kernels: Kernels) -> Result<Module<'_>, Error> {
        if kernels.codes().next().is_none() {
            return Err(Error::NoKernels { reason: kernels.compiler() });
        }
        let code = kernels.for_gpu(self.compute_capability()).ok_or_else(|| Error::WrongChip {
            chips: kernels.codes().map(|code| code.chip.name()).collect::<Vec<_>>().join(", "),
            gpu: self.name().to_owned(),
            compute_capability: self.compute_capability(),
        })?;
        Module::load(self, &code.ptx())
    }

    /// Loads the kernels of a PTX text.
    ///
    /// # Errors
    /// The driver refuses it.
    pub fn load_ptx(&self, ptx: &str) -> Result<Module<'_>, Error> {
        Module::load(self, ptx)
    }
}

impl<'gpu> Module<'gpu> {
    fn load(gpu: &'gpu Gpu, ptx: &str) -> Result<Self, Error> {
        let api = gpu.api()?;
        // The driver looks for the end of the text.
        let text = CString::new(ptx).unwrap_or_default();
        let mut log = vec![0u8; 8 << 10];
        let mut options = ERROR_LOG;
        let mut values: [*mut c_void; 2] =
            [log.as_mut_ptr().cast(), ptr::without_provenance_mut(log.len())];
        let mut handle = ptr::null_mut();
        // SAFETY: the text ends with a zero; the log has the size that is given, and outlives the call.
        let loaded = unsafe {
            let (options, values) = (options.as_mut_ptr(), values.as_mut_ptr());
            api.cuModuleLoadDataEx(&mut handle, text.as_ptr().cast(), 2, options, values)
        };
        if let Err(error) = loaded {
            let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
            let log = String::from_utf8_lossy(&log[..end]).trim().to_owned();
            return Err(if log.is_empty() { error.into() } else { Error::Assemble { error, log } });
        }
        Ok(Self { gpu, handle })
    }

    /// Launches a kernel after the work so far, and does not wait for it. More than 48 KiB of shared memory
    /// are asked for where needed.
    ///
    /// # Errors
    /// There is no such kernel, or the GPU cannot run a block of these extents.
    ///
    /// # Safety
    /// The launch meets the kernel's contract: the pointers lead to device memory of the size and for the
    /// use that the kernel has for it, and the extents are those that it expects.
    pub unsafe fn launch<K: Kernel>(
        &self,
        extents: impl Into<Extents3d>,
        parameters: K::Parameters,
    ) -> Result<(), Error> {
        let Extents3d { grid, block, shared_bytes } = extents.into();
        let api = self.gpu.api()?;
        let function = self.function(K::NAME)?;
        parameters.with_pointers(|parameters| {
            // SAFETY: as the caller promises; the trait vouches for the parameters' types.
            unsafe {
                if shared_bytes > WITHOUT_ASKING {
                    let bytes = c_int::try_from(shared_bytes).unwrap_or(c_int::MAX);
                    api.cuFuncSetAttribute(function, MAX_DYNAMIC_SHARED, bytes)?;
                }
                let (stream, extra) = (ptr::null_mut(), ptr::null_mut());
                let parameters = parameters.as_mut_ptr();
                api.cuLaunchKernel(
                    function,
                    grid.x,
                    grid.y,
                    grid.z,
                    block.x,
                    block.y,
                    block.z,
                    shared_bytes,
                    stream,
                    parameters,
                    extra,
                )?;
            }
            Ok(())
        })
    }

    fn function(&self, name: &'static str) -> Result<Handle, Error> {
        let mut function = ptr::null_mut();
        let text = CString::new(name).unwrap_or_default();
        // SAFETY: the module is loaded as long as `self` lives; the name ends with a zero.
        match unsafe {
            self.gpu.api()?.cuModuleGetFunction(&mut function, self.handle, text.as_ptr())
        } {
            Ok(()) => Ok(function),
            Err(error) if error.status == NOT_FOUND => Err(Error::NoKernel { name }),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        if let Ok(api) = self.gpu.api() {
            // SAFETY: loaded in `load`, unloaded nowhere else. Kernels of it may still run: wait for them.
            // There is nobody to tell of an error.
            let _ =
                unsafe { api.cuCtxSynchronize().and_then(|()| api.cuModuleUnload(self.handle)) };
        }
    }
}
