// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams: queues of work that a GPU does in order.

use crate::api::Handle;
use crate::call::CallError;
use crate::context::Context;
use crate::sys;
use std::ptr;

/// `CU_STREAM_DEFAULT`.
const BLOCKING: u32 = 0;
/// `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: u32 = 1;

/// A stream of work in a context, of which it has a share. Dropping it lets what is queued go on.
#[derive(Debug)]
pub struct Stream {
    handle: Handle,
    context: Context,
}

// SAFETY: the driver's functions on streams may be called from any thread.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    /// A stream that waits for what the default stream has been given before, and that one for this.
    ///
    /// Of two streams whose work waits, the one of the lower `priority` goes first; 0 is that of every other stream,
    /// [`crate::stream_priorities`] says how low it goes, and what is beyond counts as the end of that range. Copies have no
    /// priorities.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn new(context: &Context, priority: i32) -> Result<Self, CallError> {
        Self::with(context, BLOCKING, priority)
    }

    /// A stream that the default stream does not hold up, nor it that one: synchronous copies and fills, which the driver
    /// does there, have to be waited for ([`crate::synchronize`]), and wait for nothing on this stream.
    ///
    /// # Errors
    /// As [`Stream::new`].
    pub fn non_blocking(context: &Context, priority: i32) -> Result<Self, CallError> {
        Self::with(context, NON_BLOCKING, priority)
    }

    fn with(context: &Context, flags: u32, priority: i32) -> Result<Self, CallError> {
        let _current = context.enter()?;
        let mut handle = ptr::null_mut();
        // SAFETY: `handle` is writable; `Drop` destroys it.
        unsafe { sys::cuStreamCreateWithPriority(&mut handle, flags, priority)? };
        Ok(Self { handle, context: context.clone() })
    }

    /// Waits until all that it has been given is done.
    ///
    /// # Errors
    /// Some of it failed.
    pub fn synchronize(&self) -> Result<(), CallError> {
        // SAFETY: the stream lives.
        unsafe { sys::cuStreamSynchronize(self.handle) }
    }

    /// The driver's handle (`CUstream`, which is `cudaStream_t`).
    #[must_use]
    pub fn as_raw(&self) -> Handle {
        self.handle
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Ok(_current) = self.context.enter() {
            // SAFETY: created in `with`, destroyed nowhere else. There is nobody to tell of an error.
            let _ = unsafe { sys::cuStreamDestroy_v2(self.handle) };
        }
    }
}
