// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device memory: allocations, and copies to, from and within them.

use super::super::{Elsewhere, Memory, Rows, failed};
use cuda_driver::cust::context::CurrentContext;
use cuda_driver::cust::error::CudaError;
use cuda_driver::cust::memory::{DeviceBuffer, DeviceCopy, DeviceMemory, DevicePointer};
use cuda_driver::cust::stream::Stream;
use cuda_driver::cust::sys::{self, CUmemorytype};
use cuda_driver::{BoxExtent, BoxPlace, TensorMap2d};
use problem::Error;

/// As [`failed`], for allocations: running out of memory has a kind of its own.
fn refused(action: &str) -> impl Fn(CudaError) -> Error + '_ {
    move |reason| match reason {
        CudaError::OutOfMemory => Error::GpuFull { action: action.into() },
        other => failed(action)(other),
    }
}

/// Waits for what was done outside of the stream, which does not wait for it.
pub(super) fn settle() -> Result<(), Error> {
    CurrentContext::synchronize().map_err(failed("settle a grid"))
}

fn owned<T: DeviceCopy + 'static>(buffer: DeviceBuffer<T>) -> Memory {
    Memory::new(buffer.as_raw_ptr(), size_of::<T>() * buffer.len(), buffer)
}

pub fn allocate(what: &str, bytes: usize) -> Result<Memory, Error> {
    let action = format!("allocate {} MB for the {what}", bytes / 1_000_000);
    let buffer =
        DeviceBuffer::<u16>::zeroed(bytes.div_ceil(size_of::<u16>())).map_err(refused(&action))?;
    settle()?;
    Ok(owned(buffer))
}

pub fn constants(what: &str, words: &[u32]) -> Result<Memory, Error> {
    // An empty buffer has no address.
    let words = if words.is_empty() { &[0] } else { words };
    let action = format!("upload {what}");
    let buffer = DeviceBuffer::from_slice(words).map_err(refused(&action))?;
    settle()?;
    Ok(owned(buffer))
}

pub fn tensor_map(map: &TensorMap2d, address: u64) -> Result<Memory, Error> {
    let map = map.encode(DevicePointer::<u32>::from_raw(address));
    let map = map.map_err(failed("describe a grid"))?;
    let buffer = DeviceBuffer::from_slice(&[map]).map_err(failed("upload a tensor map"))?;
    settle()?;
    Ok(owned(buffer))
}

pub fn write(to: &Memory, rows: Rows, bytes: &[u8]) -> Result<(), Error> {
    rows.check(to);
    assert_eq!(bytes.len(), rows.planes * rows.plane_bytes(), "as many bytes as the rows have");
    for (start, from) in rows.plane_starts().zip(bytes.chunks(rows.plane_bytes().max(1))) {
        let to = to.address() + start as u64;
        // SAFETY: both sides hold the rows at their pitch.
        let status = unsafe {
            if rows.rows == 1 {
                sys::cuMemcpyHtoD_v2(to, from.as_ptr().cast(), from.len())
            } else {
                let copy = sys::CUDA_MEMCPY2D {
                    srcHost: from.as_ptr().cast(),
                    srcPitch: rows.width,
                    dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
                    dstDevice: to,
                    dstPitch: rows.row_pitch,
                    ..of_rows(rows)
                };
                sys::cuMemcpy2DUnaligned_v2(&copy)
            }
        };
        check("upload a grid", status)?;
    }
    settle()
}

pub fn read(from: &Memory, rows: Rows, bytes: &mut [u8]) -> Result<(), Error> {
    rows.check(from);
    read_from(from.address(), rows, bytes)
}

/// The same of memory that is not this crate's: whoever knows the address answers for the rows.
pub(super) fn read_from(from: u64, rows: Rows, bytes: &mut [u8]) -> Result<(), Error> {
    assert_eq!(bytes.len(), rows.planes * rows.plane_bytes(), "as many bytes as the rows have");
    for (start, to) in rows.plane_starts().zip(bytes.chunks_mut(rows.plane_bytes().max(1))) {
        let from = from + start as u64;
        // SAFETY: both sides hold the rows at their pitch.
        let status = unsafe {
            if rows.rows == 1 {
                sys::cuMemcpyDtoH_v2(to.as_mut_ptr().cast(), from, to.len())
            } else {
                let copy = sys::CUDA_MEMCPY2D {
                    srcMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
                    srcDevice: from,
                    srcPitch: rows.row_pitch,
                    dstHost: to.as_mut_ptr().cast(),
                    dstPitch: rows.width,
                    ..of_rows(rows)
                };
                sys::cuMemcpy2DUnaligned_v2(&copy)
            }
        };
        check("download a grid", status)?;
    }
    Ok(())
}

pub fn fill(to: &Memory, rows: Rows, value: u16) -> Result<(), Error> {
    rows.check(to);
    assert!(rows.width.is_multiple_of(size_of::<u16>()), "{rows:?} hold pairs of bytes");
    let words = rows.width / size_of::<u16>();
    for start in rows.plane_starts() {
        let to = to.address() + start as u64;
        // SAFETY: the rows lie in the allocation.
        let status = unsafe { sys::cuMemsetD2D16_v2(to, rows.row_pitch, value, words, rows.rows) };
        check("fill a grid", status)?;
    }
    settle()
}

pub fn copy(stream: &Stream, from: &Memory, to: &Memory, bytes: usize) -> Result<(), Error> {
    assert!(bytes <= from.bytes().min(to.bytes()), "within both arrays");
    // SAFETY: both arrays hold the bytes, and the stream orders the copy with all other work.
    let status = unsafe {
        sys::cuMemcpyDtoDAsync_v2(to.address(), from.address(), bytes, stream.as_inner())
    };
    check("copy a grid", status)
}

/// Queues a copy of rows of one memory to rows of another.
pub fn queue_rows(
    stream: &Stream,
    (from, from_rows): (&Memory, Rows),
    (to, to_rows): (&Memory, Rows),
) -> Result<(), Error> {
    from_rows.check(from);
    to_rows.check(to);
    let Rows { width, rows, planes, .. } = from_rows;
    assert_eq!([planes, rows, width], [to_rows.planes, to_rows.rows, to_rows.width], "as many");
    let place = |memory: &Memory, rows: Rows| BoxPlace {
        address: memory.address() + rows.start as u64,
        row_pitch: rows.row_pitch,
        plane_pitch: rows.plane_pitch,
    };
    let (from, to) = (place(from, from_rows), place(to, to_rows));
    // SAFETY: both memories hold the rows, and the stream orders the copy with all other work on them.
    let queued =
        unsafe { cuda_driver::copy_box(BoxExtent { width, rows, planes }, from, to, stream) };
    queued.map_err(failed("copy points"))
}

/// Copies rows from one place to another, which has happened when it returns.
pub fn copy_rows(from: Elsewhere, to: Elsewhere) -> Result<(), Error> {
    let [from_rows, to_rows] = [from.rows(), to.rows()];
    let extents = |rows: Rows| [rows.planes, rows.rows, rows.width];
    assert_eq!(extents(from_rows), extents(to_rows), "as many bytes on both sides");
    for (from_start, to_start) in from_rows.plane_starts().zip(to_rows.plane_starts()) {
        let (from, to) = (from.address() + from_start as u64, to.address() + to_start as u64);
        // SAFETY: whoever made the two answers for their rows.
        let status = unsafe {
            if from_rows.rows == 1 {
                sys::cuMemcpyDtoD_v2(to, from, from_rows.width)
            } else {
                let copy = sys::CUDA_MEMCPY2D {
                    srcMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
                    srcDevice: from,
                    srcPitch: from_rows.row_pitch,
                    dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
                    dstDevice: to,
                    dstPitch: to_rows.row_pitch,
                    ..of_rows(from_rows)
                };
                sys::cuMemcpy2DUnaligned_v2(&copy)
            }
        };
        check("copy an array on the GPU", status)?;
    }
    settle()
}

/// A 2D copy of the rows of a plane, its two ends still to be set.
fn of_rows(rows: Rows) -> sys::CUDA_MEMCPY2D {
    let host = CUmemorytype::CU_MEMORYTYPE_HOST;
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
        WidthInBytes: rows.width,
        Height: rows.rows,
    }
}

pub(super) fn check(action: &str, status: sys::cudaError_enum) -> Result<(), Error> {
    cuda_driver::check("the driver", status as u32).map_err(failed(action))
}
