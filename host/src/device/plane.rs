// SPDX-License-Identifier: MIT OR Apache-2.0
//! A grid in device memory, in its frame of zeros (`kernels_gpu::layout`).

use super::{Gpu, failed, refused};
use crate::grid::Element;
use crate::region::Region;
use crate::{Dtype, Error, Grid, Shape, Values, with_dtype, with_values};
use cuda_driver::cust::context::CurrentContext;
use cuda_driver::cust::memory::{DeviceBuffer, DeviceMemory};
use cuda_driver::cust::sys;
use kernels_gpu::layout::Layout;

/// Not a number in every element type, if repeated.
const NAN: u16 = 0x7fff;

/// One of the buffers that take turns as input and output.
pub struct Plane {
    memory: DeviceBuffer<u16>,
    shape: Shape,
    dtype: Dtype,
    layout: Layout,
}

impl Plane {
    /// A grid of zeros.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn new(_gpu: &Gpu, shape: Shape, dtype: Dtype) -> Result<Self, Error> {
        let layout = layout(shape);
        let bytes = layout.elements() * dtype.bytes();
        let action = format!("allocate {} MB", bytes / 1_000_000);
        let memory = DeviceBuffer::zeroed(bytes / size_of::<u16>()).map_err(refused(&action))?;
        settle()?;
        Ok(Self { memory, shape, dtype, layout })
    }

    /// Where its points lie.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Device address of the first grid point.
    pub(super) fn origin(&self) -> u64 {
        self.row(0, 0)
    }

    /// Makes sure of what kernels take for granted: two different planes of this layout, with elements
    /// of so many bytes.
    ///
    /// # Panics
    /// With others.
    pub(super) fn check_pair(from: &Self, to: &Self, layout: Layout, bytes: usize) {
        for plane in [from, to] {
            let found = (plane.layout, plane.dtype.bytes());
            assert_eq!(found, (layout, bytes), "the planes that the launch was prepared for");
        }
        assert_ne!(from.origin(), to.origin(), "input and output are two planes");
    }

    fn row(&self, z: usize, y: usize) -> u64 {
        let position = self.layout.position(z as u32, y as u32, 0);
        self.memory.as_raw_ptr() + (position * self.dtype.bytes()) as u64
    }

    fn pitch_bytes(&self) -> usize {
        self.layout.pitch() as usize * self.dtype.bytes()
    }

    fn row_bytes(&self) -> usize {
        self.shape.extents()[2] * self.dtype.bytes()
    }

    /// Fills the grid, but not its frame, with NaN.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn poison(&mut self) -> Result<(), Error> {
        let [nz, ny, _] = self.shape.extents();
        let words = self.row_bytes() / size_of::<u16>();
        for z in 0..nz {
            // SAFETY: ny rows of so many words, `pitch` apart, lie in the allocation.
            let status = unsafe {
                sys::cuMemsetD2D16_v2(self.row(z, 0), self.pitch_bytes(), NAN, words, ny)
            };
            check("poison a grid", status)?;
        }
        settle()
    }

    /// Takes the values of a grid of its shape and stored type.
    ///
    /// # Errors
    /// The driver refuses.
    ///
    /// # Panics
    /// Where shapes or types differ.
    pub fn upload(&mut self, grid: &Grid) -> Result<(), Error> {
        let found = (grid.shape, grid.dtype());
        assert_eq!(found, (self.shape, self.dtype.stored()), "a grid of this plane's kind");
        let bytes: &[u8] = with_values!(&grid.values, values => bytemuck::cast_slice(values));
        let [nz, ny, _] = self.shape.extents();
        for (z, values) in bytes.chunks(ny * self.row_bytes()).enumerate().take(nz) {
            let (to, from) = (self.row(z, 0), values.as_ptr());
            // SAFETY: both sides hold ny rows at their pitch.
            let status = unsafe {
                if ny == 1 {
                    sys::cuMemcpyHtoD_v2(to, from.cast(), values.len())
                } else {
                    let copy = sys::CUDA_MEMCPY2D {
                        srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_HOST,
                        srcHost: from.cast(),
                        srcPitch: self.row_bytes(),
                        dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
                        dstDevice: to,
                        dstPitch: self.pitch_bytes(),
                        ..self.rows()
                    };
                    sys::cuMemcpy2DUnaligned_v2(&copy)
                }
            };
            check("upload a grid", status)?;
        }
        settle()
    }

    /// The grid.
    ///
    /// # Errors
    /// The driver refuses, or the grid does not fit in memory.
    pub fn download(&self) -> Result<Grid, Error> {
        Grid::check_memory(self.shape, self.dtype)?;
        Ok(Grid { shape: self.shape, values: self.read(Region::whole(self.shape))? })
    }

    /// The values of a box of grid points, in C order.
    ///
    /// # Errors
    /// The driver refuses.
    ///
    /// # Panics
    /// Where the box reaches out of the grid.
    pub fn read(&self, region: Region) -> Result<Values, Error> {
        let within = |axis: usize| {
            let (low, high) = (region.low[axis], region.high[axis]);
            0 <= low && low <= high && high as usize <= self.shape.extents()[axis]
        };
        assert!((0..3).all(within), "{region:?} lies in a grid of {}", self.shape);
        Ok(with_dtype!(self.dtype, T => {
            let mut values = vec![T::from_f64(f64::NAN); region.points()];
            self.download_bytes(region, bytemuck::cast_slice_mut(&mut values))?;
            T::wrap(values)
        }))
    }

    /// Into as many bytes as the points of a region of the grid have.
    fn download_bytes(&self, region: Region, bytes: &mut [u8]) -> Result<(), Error> {
        let [_, rows, columns] = region.extents();
        let [z, y, x] = region.low.map(|low| low as usize);
        let row_bytes = columns * self.dtype.bytes();
        for (plane, values) in bytes.chunks_mut((rows * row_bytes).max(1)).enumerate() {
            let from = self.row(z + plane, y) + (x * self.dtype.bytes()) as u64;
            let to = values.as_mut_ptr();
            // SAFETY: the device's side is a box of the grid, its rows at the plane's pitch; this side has
            // as many bytes for them, one row behind the other.
            let status = unsafe {
                if rows == 1 {
                    sys::cuMemcpyDtoH_v2(to.cast(), from, values.len())
                } else {
                    let copy = sys::CUDA_MEMCPY2D {
                        srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
                        srcDevice: from,
                        srcPitch: self.pitch_bytes(),
                        dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_HOST,
                        dstHost: to.cast(),
                        dstPitch: row_bytes,
                        WidthInBytes: row_bytes,
                        Height: rows,
                        ..self.rows()
                    };
                    sys::cuMemcpy2DUnaligned_v2(&copy)
                }
            };
            check("download a grid", status)?;
        }
        Ok(())
    }

    /// Takes over the whole array of another plane of the same kind, frame included.
    ///
    /// # Errors
    /// The driver refuses.
    ///
    /// # Panics
    /// Where the kinds differ.
    pub fn clone_from(&mut self, gpu: &Gpu, other: &Self) -> Result<(), Error> {
        assert_eq!((self.shape, self.dtype), (other.shape, other.dtype), "planes of one kind");
        let bytes = size_of::<u16>() * self.memory.len();
        copy_bytes(gpu, &self.memory, &other.memory, bytes)
    }

    /// Copies as many bytes as the grid has from the start of one plane to that of another, whatever
    /// lies there: the yardstick for a sweep. Between planes of one kind, the frame stays zero, and
    /// copies back and forth leave the grid that they began with as it is.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn copy_points(gpu: &Gpu, from: &Self, to: &Self) -> Result<(), Error> {
        let bytes = from.shape.points() * from.dtype.bytes();
        copy_bytes(gpu, &to.memory, &from.memory, bytes)
    }

    /// A 2D copy of the rows of a plane, its two ends still to be set.
    fn rows(&self) -> sys::CUDA_MEMCPY2D {
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
            Height: self.shape.extents()[1],
        }
    }
}

/// Where the points of a grid lie in device memory. Coordinates in a launch are 32-bit and signed, which
/// engines check.
#[must_use]
pub fn layout(shape: Shape) -> Layout {
    Layout { dims: shape.dims() as u32, extents: shape.extents().map(|extent| extent as u32) }
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
    let most = size_of::<u16>() * to.len().min(from.len());
    assert!(bytes <= most, "within both arrays");
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
