// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies of boxes of bytes, queued on a stream: rows at a pitch, and planes of them, within one GPU or
//! from one to another.

use crate::call::CallError;
use crate::context::Context;
use crate::peer::copy_peer;
use crate::stream::Stream;
use crate::sys::{self, Memcpy3d, Side3d};
use std::ptr;

/// How large a box is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoxExtent {
    /// Bytes of a row.
    pub width: usize,
    /// Rows of a plane.
    pub rows: usize,
    /// Planes.
    pub planes: usize,
}

/// Where a box lies in a context's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoxPlace {
    /// Device address of its first byte.
    pub address: u64,
    /// Bytes from one row to the next.
    pub row_pitch: usize,
    /// Bytes from one plane to the next.
    pub plane_pitch: usize,
}

/// The greatest pitch of a copy in bytes (`CU_DEVICE_ATTRIBUTE_MAX_PITCH` of every GPU).
const MAX_PITCH: usize = i32::MAX as usize;

/// Queues a copy of a box from one place to another behind what `stream` has been given before. It
/// returns at once. Any pitches will do; where planes are no whole number of rows apart, it takes a
/// driver call for each plane, and for each row where rows are 2 GiB or more apart.
///
/// # Errors
/// The driver refuses, or reports that work before failed; then a part of the copy may be queued.
///
/// # Safety
/// Until the stream has passed the copy, the bytes of both boxes are allocated in the context that is
/// current now, the boxes share none, nobody writes the source and nobody else reads or writes the
/// destination. Work of other streams is kept away by events or by waiting.
pub unsafe fn copy_box(
    extent: BoxExtent,
    from: BoxPlace,
    to: BoxPlace,
    stream: &Stream,
) -> Result<(), CallError> {
    for part in parts(extent, from, to) {
        // SAFETY: the parts are of the boxes, for which the caller promises that.
        unsafe { queue(part, None, stream)? };
    }
    Ok(())
}

/// As [`copy_box`], from a box of one context to a box of another, or of the same.
///
/// ```no_run
/// use cuda_driver::{Allocation, BoxExtent, BoxPlace, Context, Device, Stream, copy_box_peer, enable_access};
///
/// let second = Context::new(Device::nth(1)?)?;
/// let first = Context::new(Device::nth(0)?)?; // The current one.
/// let (here, there) = (Allocation::zeroed(&first, 4096)?, Allocation::zeroed(&second, 4096)?);
/// enable_access(&second)?;
///
/// let place =
///     |memory: &Allocation| BoxPlace { address: memory.address(), row_pitch: 64, plane_pitch: 1024 };
/// let extent = BoxExtent { width: 16, rows: 8, planes: 4 };
/// let stream = Stream::non_blocking(&first, 0)?;
/// // SAFETY: both boxes lie in their memories, which nobody uses before the stream is done.
/// unsafe { copy_box_peer(extent, (place(&here), &first), (place(&there), &second), &stream)? };
/// stream.synchronize()?;
/// # Ok::<(), cuda_driver::CallError>(())
/// ```
///
/// # Errors
/// The driver refuses, or reports that work before failed; then a part of the copy may be queued.
///
/// # Safety
/// Until the stream has passed the copy, the bytes of each box are allocated in the context named beside it, the boxes
/// share none, nobody writes the source and nobody else reads or writes the destination. Work of other streams is kept
/// away by events or by waiting.
pub unsafe fn copy_box_peer(
    extent: BoxExtent,
    (from, from_context): (BoxPlace, &Context),
    (to, to_context): (BoxPlace, &Context),
    stream: &Stream,
) -> Result<(), CallError> {
    for part in parts(extent, from, to) {
        // SAFETY: the parts are of the boxes, for which the caller promises that.
        unsafe { queue(part, Some((from_context, to_context)), stream)? };
    }
    Ok(())
}

/// What the driver copies in one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    extent: BoxExtent,
    from: BoxPlace,
    to: BoxPlace,
}

/// Rows of a plane or planes of a box: how many, and how far apart on both sides.
#[derive(Clone, Copy)]
struct Step {
    count: usize,
    from: usize,
    to: usize,
}

const NO_STEP: Step = Step { count: 1, from: 0, to: 0 };

/// The fewest parts that the driver takes. What lies without gaps on both sides is one row.
fn parts(extent: BoxExtent, from: BoxPlace, to: BoxPlace) -> Vec<Part> {
    let BoxExtent { mut width, rows, planes } = extent;
    if width == 0 || rows == 0 || planes == 0 {
        return Vec::new();
    }
    let mut rows = Step { count: rows, from: from.row_pitch, to: to.row_pitch };
    let mut planes = Step { count: planes, from: from.plane_pitch, to: to.plane_pitch };
    if rows.count == 1 {
        (rows, planes) = (planes, NO_STEP);
    }
    if planes.from == rows.count * rows.from && planes.to == rows.count * rows.to {
        rows.count *= planes.count;
        planes = NO_STEP;
    }
    if rows.from == width && rows.to == width {
        width *= rows.count;
        (rows, planes) = (planes, NO_STEP);
    }
    let part = |row: usize, plane: usize, rows_at_once, planes_at_once| Part {
        extent: BoxExtent { width, rows: rows_at_once, planes: planes_at_once },
        from: BoxPlace {
            address: from.address + (row * rows.from + plane * planes.from) as u64,
            row_pitch: rows.from,
            plane_pitch: planes.from,
        },
        to: BoxPlace {
            address: to.address + (row * rows.to + plane * planes.to) as u64,
            row_pitch: rows.to,
            plane_pitch: planes.to,
        },
    };
    let pitches = width..=MAX_PITCH;
    let whole = |plane: usize, row: usize| plane.is_multiple_of(row) && plane / row >= rows.count;
    if rows.count > 1 && !(pitches.contains(&rows.from) && pitches.contains(&rows.to)) {
        let in_plane = |plane| (0..rows.count).map(move |row| part(row, plane, 1, 1));
        (0..planes.count).flat_map(in_plane).collect()
    } else if planes.count > 1 && !(whole(planes.from, rows.from) && whole(planes.to, rows.to)) {
        (0..planes.count).map(|plane| part(0, plane, rows.count, 1)).collect()
    } else {
        vec![part(0, 0, rows.count, planes.count)]
    }
}

/// Queues one part, of boxes of the current context or of the contexts of source and destination.
///
/// # Safety
/// As [`copy_box`] and [`copy_box_peer`].
unsafe fn queue(
    Part { extent, from, to }: Part,
    contexts: Option<(&Context, &Context)>,
    stream: &Stream,
) -> Result<(), CallError> {
    let contexts = contexts.filter(|(from, to)| from.as_raw() != to.as_raw());
    if extent.rows * extent.planes == 1 {
        // SAFETY: as the caller promises.
        return unsafe {
            match contexts {
                Some((from_context, to_context)) => {
                    let (from, to) = (from.address, to.address);
                    copy_peer(to, to_context, from, from_context, extent.width, stream)
                }
                None => {
                    let (from, to, stream) = (from.address, to.address, stream.as_raw());
                    sys::cuMemcpyDtoDAsync_v2(to, from, extent.width, stream)
                }
            }
        };
    }
    let [from_context, to_context] =
        contexts.map_or([ptr::null_mut(); 2], |(from, to)| [from.as_raw(), to.as_raw()]);
    let side = |place: BoxPlace, context| Side3d {
        offsets_and_level: [0; 4],
        memory: sys::DEVICE,
        host: ptr::null(),
        device: place.address,
        array: ptr::null_mut(),
        context,
        pitch: place.row_pitch,
        height: height(extent, place),
    };
    let BoxExtent { width, rows, planes } = extent;
    let (from, to) = (side(from, from_context), side(to, to_context));
    let copy = Memcpy3d { from, to, width, rows, planes };
    // SAFETY: as the caller promises; `copy` outlives the call.
    unsafe {
        match contexts {
            Some(_) => sys::cuMemcpy3DPeerAsync(&copy, stream.as_raw()),
            None => sys::cuMemcpy3DAsync_v2(&copy, stream.as_raw()),
        }
    }
}

/// How many rows lie from one plane to the next.
fn height(extent: BoxExtent, place: BoxPlace) -> usize {
    if extent.planes > 1 { place.plane_pitch / place.row_pitch } else { extent.rows }
}

#[cfg(test)]
mod tests;
