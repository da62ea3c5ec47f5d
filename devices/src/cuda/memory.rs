// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device memory: allocations, and copies to, from and within them.

use super::super::{ForeignMemory, Memory, MemoryRows, failed};
use cuda_driver::sys::{self, Memcpy2d, Side2d};
use cuda_driver::{Allocation, BoxExtent, BoxPlace, CallError, Context, Stream, TensorMap2d};
use problem::Error;

/// As [`failed`], for allocations: running out of memory has a kind of its own.
fn refused(action: &str) -> impl Fn(CallError) -> Error + '_ {
    move |reason| match reason.status {
        sys::OUT_OF_MEMORY => Error::GpuFull { action: action.into() },
        _ => failed(action)(reason),
    }
}

/// Waits for what was done outside of the stream, which does not wait for it.
pub(super) fn synchronise() -> Result<(), Error> {
    cuda_driver::synchronize().map_err(failed("settle a grid"))
}

fn owned(memory: Allocation) -> Memory {
    Memory::new(memory.address(), memory.bytes(), memory)
}

pub fn allocate(context: &Context, what: &str, bytes: usize) -> Result<Memory, Error> {
    let action = format!("allocate {} MB for the {what}", bytes / 1_000_000);
    let buffer = Allocation::zeroed(context, bytes.next_multiple_of(2));
    let buffer = buffer.map_err(refused(&action))?;
    synchronise()?;
    Ok(owned(buffer))
}

pub fn constants(context: &Context, what: &str, words: &[u32]) -> Result<Memory, Error> {
    // An empty buffer has no address.
    let words = if words.is_empty() { &[0] } else { words };
    let action = format!("upload {what}");
    let buffer = Allocation::of(context, words).map_err(refused(&action))?;
    synchronise()?;
    Ok(owned(buffer))
}

pub fn tensor_map(context: &Context, map: &TensorMap2d, address: u64) -> Result<Memory, Error> {
    let map = map.encode(address);
    let map = map.map_err(failed("describe a grid"))?;
    let buffer = Allocation::of(context, &[map]).map_err(failed("upload a tensor map"))?;
    synchronise()?;
    Ok(owned(buffer))
}

pub fn write(to: &Memory, rows: MemoryRows, bytes: &[u8]) -> Result<(), Error> {
    rows.check(to);
    assert_eq!(bytes.len(), rows.planes * rows.plane_bytes(), "as many bytes as the rows have");
    for (start, from) in rows.plane_starts().zip(bytes.chunks(rows.plane_bytes().max(1))) {
        let to = to.address() + start as u64;
        // SAFETY: both sides hold the rows at their pitch.
        let done = unsafe {
            if rows.rows == 1 {
                sys::cuMemcpyHtoD_v2(to, from.as_ptr().cast(), from.len())
            } else {
                let from = Side2d::host(from.as_ptr().cast(), rows.width);
                copy_plane(from, Side2d::device(to, rows.row_pitch), rows)
            }
        };
        done.map_err(failed("upload a grid"))?;
    }
    synchronise()
}

pub fn read(from: &Memory, rows: MemoryRows, bytes: &mut [u8]) -> Result<(), Error> {
    rows.check(from);
    read_from(from.address(), rows, bytes)
}

/// Copies rows of memory to the host, from an address. The memory need not be this crate's: whoever knows the
/// address answers for the rows.
pub(super) fn read_from(from: u64, rows: MemoryRows, bytes: &mut [u8]) -> Result<(), Error> {
    assert_eq!(bytes.len(), rows.planes * rows.plane_bytes(), "as many bytes as the rows have");
    for (start, to) in rows.plane_starts().zip(bytes.chunks_mut(rows.plane_bytes().max(1))) {
        let from = from + start as u64;
        // SAFETY: both sides hold the rows at their pitch.
        let done = unsafe {
            if rows.rows == 1 {
                sys::cuMemcpyDtoH_v2(to.as_mut_ptr().cast(), from, to.len())
            } else {
                let to = Side2d::host(to.as_mut_ptr().cast(), rows.width);
                copy_plane(Side2d::device(from, rows.row_pitch), to, rows)
            }
        };
        done.map_err(failed("download a grid"))?;
    }
    Ok(())
}

pub fn fill(to: &Memory, rows: MemoryRows, value: u16) -> Result<(), Error> {
    rows.check(to);
    assert!(rows.width.is_multiple_of(size_of::<u16>()), "{rows:?} hold pairs of bytes");
    let words = rows.width / size_of::<u16>();
    for start in rows.plane_starts() {
        let to = to.address() + start as u64;
        // SAFETY: the rows lie in the allocation.
        let done = unsafe { sys::cuMemsetD2D16_v2(to, rows.row_pitch, value, words, rows.rows) };
        done.map_err(failed("fill a grid"))?;
    }
    synchronise()
}

pub fn copy(stream: &Stream, from: &Memory, to: &Memory, bytes: usize) -> Result<(), Error> {
    assert!(bytes <= from.bytes().min(to.bytes()), "within both arrays");
    // SAFETY: both arrays hold the bytes, and the stream orders the copy with all other work.
    let done =
        unsafe { sys::cuMemcpyDtoDAsync_v2(to.address(), from.address(), bytes, stream.as_raw()) };
    done.map_err(failed("copy a grid"))
}

/// Queues a copy of rows of one memory to rows of another.
pub fn queue_rows(
    stream: &Stream,
    (from, from_rows): (&Memory, MemoryRows),
    (to, to_rows): (&Memory, MemoryRows),
) -> Result<(), Error> {
    from_rows.check(from);
    to_rows.check(to);
    let MemoryRows { width, rows, planes, .. } = from_rows;
    assert_eq!([planes, rows, width], [to_rows.planes, to_rows.rows, to_rows.width], "as many");
    let place = |memory: &Memory, rows: MemoryRows| BoxPlace {
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
pub fn copy_rows(from: ForeignMemory, to: ForeignMemory) -> Result<(), Error> {
    let [from_rows, to_rows] = [from.rows(), to.rows()];
    let extents = |rows: MemoryRows| [rows.planes, rows.rows, rows.width];
    assert_eq!(extents(from_rows), extents(to_rows), "as many bytes on both sides");
    for (from_start, to_start) in from_rows.plane_starts().zip(to_rows.plane_starts()) {
        let (from, to) = (from.address() + from_start as u64, to.address() + to_start as u64);
        // SAFETY: whoever made the two answers for their rows.
        let done = unsafe {
            if from_rows.rows == 1 {
                sys::cuMemcpyDtoD_v2(to, from, from_rows.width)
            } else {
                let from = Side2d::device(from, from_rows.row_pitch);
                copy_plane(from, Side2d::device(to, to_rows.row_pitch), from_rows)
            }
        };
        done.map_err(failed("copy an array on the GPU"))?;
    }
    synchronise()
}

/// Copies the rows of a plane.
///
/// # Safety
/// Both sides hold the rows.
unsafe fn copy_plane(from: Side2d, to: Side2d, rows: MemoryRows) -> Result<(), CallError> {
    let copy = Memcpy2d { from, to, width: rows.width, rows: rows.rows };
    // SAFETY: as the caller promises.
    unsafe { sys::cuMemcpy2DUnaligned_v2(&copy) }
}
