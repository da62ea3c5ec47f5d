// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams that run beside everything else. `cust::stream::Stream::new` drops the flag for that, without
//! a word: its streams wait for whatever the default stream does, and that for them.

use crate::call::{CallError, check};
use cust::stream::Stream;
use cust::sys;
use std::ptr;

/// `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: u32 = 1;

/// A stream of the calling thread's current context that the default stream does not hold up, nor it that
/// one: synchronous copies and fills, which the driver does there, have to be waited for
/// (`CurrentContext::synchronize`), and wait for nothing on this stream.
///
/// Of two streams whose work waits, the one of the lower `priority` goes first; 0 is that of every other
/// stream, `CurrentContext::get_stream_priority_range` says how low it goes, and what is beyond counts
/// as the end of that range. Copies have no priorities.
///
/// # Errors
/// No context is current, or the driver refuses.
pub fn non_blocking_stream(priority: i32) -> Result<Stream, CallError> {
    let mut stream: sys::CUstream = ptr::null_mut();
    // SAFETY: `stream` is writable; the `Stream` below destroys it.
    let status = unsafe { sys::cuStreamCreateWithPriority(&mut stream, NON_BLOCKING, priority) };
    check("cuStreamCreateWithPriority", status as u32)?;
    const {
        assert!(size_of::<Stream>() == size_of::<sys::CUstream>(), "a `Stream` is its handle");
    }
    // SAFETY: a `Stream` is a struct of one field, the handle, which fills it; it owns the handle from now
    // on, as if it had made it itself.
    Ok(unsafe { std::mem::transmute::<sys::CUstream, Stream>(stream) })
}
