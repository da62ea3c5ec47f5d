// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device memory.

use crate::error::Error;
use crate::gpu::Gpu;
use bytemuck::{Pod, cast_slice, cast_slice_mut};
use cuda_kernel::{Slice, SliceMut};
use std::marker::PhantomData;

/// Values in the memory of a GPU, from [`Gpu::upload`], [`Gpu::zeros`] or [`Gpu::uninit`]. Dropping it frees them once the
/// work before is done.
#[derive(Debug)]
pub struct Buffer<'gpu, T> {
    gpu: &'gpu Gpu,
    address: u64,
    len: usize,
    values: PhantomData<T>,
}

impl Gpu {
    /// Copies values to the GPU.
    ///
    /// # Errors
    /// There is not enough memory, or a kernel before failed.
    pub fn upload<T: Pod>(&self, values: &[T]) -> Result<Buffer<'_, T>, Error> {
        let mut buffer = Buffer::allocate(self, values.len())?;
        buffer.write(values)?;
        Ok(buffer)
    }

    /// As many values on the GPU, all bits zero.
    ///
    /// # Errors
    /// There is not enough memory, or a kernel before failed.
    pub fn zeros<T: Pod>(&self, count: usize) -> Result<Buffer<'_, T>, Error> {
        let mut buffer = Buffer::allocate(self, count)?;
        buffer.clear()?;
        Ok(buffer)
    }

    /// As many values on the GPU, of any bits, for a kernel to write: what reads them before is found by
    /// compute-sanitizer's `initcheck`.
    ///
    /// # Errors
    /// There is not enough memory, or a kernel before failed.
    pub fn uninit<T: Pod>(&self, count: usize) -> Result<Buffer<'_, T>, Error> {
        Buffer::allocate(self, count)
    }
}

impl<'gpu, T: Pod> Buffer<'gpu, T> {
    /// Memory for `len` values with whatever is there.
    fn allocate(gpu: &'gpu Gpu, len: usize) -> Result<Self, Error> {
        let mut address = 0;
        // More than there are addresses is refused, and so is nothing.
        let bytes = len.saturating_mul(size_of::<T>()).max(1);
        // SAFETY: `address` is writable.
        unsafe { gpu.api()?.cuMemAlloc_v2(&mut address, bytes)? };
        Ok(Self { gpu, address, len, values: PhantomData })
    }

    /// How many values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where the values are for kernels that read them. The host cannot follow the pointer.
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.address as *const T
    }

    /// Where the values are for kernels that write them. The host cannot follow the pointer.
    #[must_use]
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.address as *mut T
    }

    /// The values for kernels that take `&[T]`.
    #[must_use]
    pub fn as_slice(&self) -> Slice<T> {
        Slice { start: self.as_ptr(), len: self.len }
    }

    /// The values for kernels that take `&mut [T]`.
    #[must_use]
    pub fn as_mut_slice(&mut self) -> SliceMut<T> {
        SliceMut { start: self.as_mut_ptr(), len: self.len }
    }

    /// Waits for the work so far and copies the values to the host.
    ///
    /// # Errors
    /// A kernel failed.
    pub fn read(&self) -> Result<Vec<T>, Error> {
        let mut values = vec![T::zeroed(); self.len];
        let bytes: &mut [u8] = cast_slice_mut(&mut values);
        // SAFETY: both have as many bytes; the driver returns when they are copied.
        unsafe {
            self.gpu.api()?.cuMemcpyDtoH_v2(
                bytes.as_mut_ptr().cast(),
                self.address,
                bytes.len(),
            )?;
        }
        Ok(values)
    }

    /// Copies values from the host, after the work so far.
    ///
    /// # Errors
    /// A kernel failed.
    ///
    /// # Panics
    /// With another number of values than the buffer has.
    pub fn write(&mut self, values: &[T]) -> Result<(), Error> {
        assert_eq!(values.len(), self.len, "as many values as the buffer has");
        let bytes: &[u8] = cast_slice(values);
        // SAFETY: both have as many bytes; when the driver returns it has read the host's.
        unsafe {
            self.gpu.api()?.cuMemcpyHtoD_v2(self.address, bytes.as_ptr().cast(), bytes.len())?;
        }
        Ok(())
    }

    /// Sets all bits to zero, after the work so far.
    ///
    /// # Errors
    /// A kernel failed.
    pub fn clear(&mut self) -> Result<(), Error> {
        // SAFETY: the buffer has as many bytes.
        unsafe { self.gpu.api()?.cuMemsetD8_v2(self.address, 0, self.len * size_of::<T>())? };
        Ok(())
    }
}

impl<T> Drop for Buffer<'_, T> {
    fn drop(&mut self) {
        if let Ok(api) = self.gpu.api() {
            // SAFETY: allocated in `allocate`, freed nowhere else; the driver waits for kernels that use
            // it. There is nobody to tell of an error.
            let _ = unsafe { api.cuMemFree_v2(self.address) };
        }
    }
}
