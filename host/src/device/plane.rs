// SPDX-License-Identifier: MIT OR Apache-2.0
//! A 2D f16 grid in device memory, in its frame of zeros (`kernels_gpu::layout`).

use super::{Gpu, failed, refused};
use crate::Error;
use cuda_driver::cust::context::CurrentContext;
use cuda_driver::cust::memory::{DeviceBuffer, DeviceMemory};
use cuda_driver::cust::sys;
use half::f16;
use kernels_gpu::layout;

/// Bytes of an f16.
const ELEMENT: usize = 2;

/// One of the two buffers that take turns as input and output.
pub struct Plane {
    memory: DeviceBuffer<u16>,
    nx: u32,
    ny: u32,
}

impl Plane {
    /// A grid of `ny` × `nx` zeros.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn new(_gpu: &Gpu, ny: u32, nx: u32) -> Result<Self, Error> {
        let elements = layout::elements(nx, ny);
        let action = format!("allocate {} MB", elements * ELEMENT / 1_000_000);
        let memory = DeviceBuffer::zeroed(elements).map_err(refused(&action))?;
        settle()?;
        Ok(Self { memory, nx, ny })
    }

    /// Device address of grid point (0, 0).
    pub(super) fn origin(&self) -> u64 {
        let position = layout::position(self.nx, 0, 0);
        self.memory.as_raw_ptr() + (position * ELEMENT) as u64
    }

    fn pitch_bytes(&self) -> usize {
        layout::pitch(self.nx) as usize * ELEMENT
    }

    fn row_bytes(&self) -> usize {
        self.nx as usize * ELEMENT
    }

    fn points(&self) -> usize {
        self.ny as usize * self.nx as usize
    }

    /// Fills the grid, but not its frame, with NaN.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn poison(&mut self) -> Result<(), Error> {
        let nan = f16::NAN.to_bits();
        // SAFETY: rows 0..ny of nx elements, `pitch` apart, lie in the allocation.
        let status = unsafe {
            let (nx, ny) = (self.nx as usize, self.ny as usize);
            sys::cuMemsetD2D16_v2(self.origin(), self.pitch_bytes(), nan, nx, ny)
        };
        check("poison a grid", status)?;
        settle()
    }

    /// Takes the values of a grid in C order.
    ///
    /// # Errors
    /// The driver refuses.
    ///
    /// # Panics
    /// Where the number of values is not that of the points.
    pub fn upload(&mut self, values: &[f16]) -> Result<(), Error> {
        assert_eq!(values.len(), self.points(), "one value for each point");
        let copy = sys::CUDA_MEMCPY2D {
            srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_HOST,
            srcHost: values.as_ptr().cast(),
            srcPitch: self.row_bytes(),
            dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
            dstDevice: self.origin(),
            dstPitch: self.pitch_bytes(),
            ..self.whole()
        };
        // SAFETY: both sides hold ny rows of nx elements at their pitch.
        check("upload a grid", unsafe { sys::cuMemcpy2DUnaligned_v2(&copy) })?;
        settle()
    }

    /// The values of the grid in C order.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn download(&self) -> Result<Vec<f16>, Error> {
        let mut values = vec![f16::NAN; self.points()];
        let copy = sys::CUDA_MEMCPY2D {
            srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
            srcDevice: self.origin(),
            srcPitch: self.pitch_bytes(),
            dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_HOST,
            dstHost: values.as_mut_ptr().cast(),
            dstPitch: self.row_bytes(),
            ..self.whole()
        };
        // SAFETY: both sides hold ny rows of nx elements at their pitch.
        check("download a grid", unsafe { sys::cuMemcpy2DUnaligned_v2(&copy) })?;
        Ok(values)
    }

    /// Takes over the whole array of another plane of the same size, frame included.
    ///
    /// # Errors
    /// The driver refuses.
    ///
    /// # Panics
    /// Where the sizes differ.
    pub fn clone_from(&mut self, gpu: &Gpu, other: &Self) -> Result<(), Error> {
        assert_eq!((self.nx, self.ny), (other.nx, other.ny), "planes of one size");
        let bytes = self.memory.len() * ELEMENT;
        copy_bytes(gpu, &self.memory, &other.memory, bytes)
    }

    /// Copies as many bytes as the grid has between two planes, in the layout of neither: the
    /// yardstick for a sweep. Both planes are ruined for sweeps.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn copy_points(gpu: &Gpu, from: &Self, to: &Self) -> Result<(), Error> {
        copy_bytes(gpu, &to.memory, &from.memory, from.points() * ELEMENT)
    }

    /// A 2D copy of all rows, its two ends still to be set.
    fn whole(&self) -> sys::CUDA_MEMCPY2D {
        let host = sys::CUmemorytype::CU_MEMORYTYPE_HOST;
        sys::CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: host,
            srcHost: std::ptr::null(),
            srcDevice: 0,
            srcArray: std::ptr::null_mut(),
            srcPitch: 0,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: host,
            dstHost: std::ptr::null_mut(),
            dstDevice: 0,
            dstArray: std::ptr::null_mut(),
            dstPitch: 0,
            WidthInBytes: self.row_bytes(),
            Height: self.ny as usize,
        }
    }
}

/// Waits for what was done outside of the stream, which does not wait for it.
pub(super) fn settle() -> Result<(), Error> {
    CurrentContext::synchronize().map_err(failed("settle a grid"))
}

/// Device-to-device, on the stream.
fn copy_bytes(
    gpu: &Gpu,
    to: &DeviceBuffer<u16>,
    from: &DeviceBuffer<u16>,
    bytes: usize,
) -> Result<(), Error> {
    assert!(bytes <= to.len() * ELEMENT && bytes <= from.len() * ELEMENT, "within both arrays");
    // SAFETY: both arrays hold the bytes, and the stream orders the copy with all other work.
    let status = unsafe {
        let stream = gpu.stream.as_inner();
        sys::cuMemcpyDtoDAsync_v2(to.as_raw_ptr(), from.as_raw_ptr(), bytes, stream)
    };
    check("copy a grid", status)
}

fn check(action: &str, status: sys::cudaError_enum) -> Result<(), Error> {
    cuda_driver::check("the driver", status as u32).map_err(failed(action))
}
