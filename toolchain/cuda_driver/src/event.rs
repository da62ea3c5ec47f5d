// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events that order the work of streams, also of several GPUs and threads, and that take its time.

use crate::api::Handle;
use crate::call::CallError;
use crate::context::Context;
use crate::stream::Stream;
use crate::sys;
use std::ptr;

/// `CU_EVENT_DISABLE_TIMING`.
const DISABLE_TIMING: u32 = 2;
/// `CUDA_ERROR_NOT_READY`.
const NOT_READY: u32 = 600;

/// A point in a stream's work that other streams and threads can wait for. It may be recorded again and again. Threads may
/// share it.
///
/// It has a share of its context. Dropping it destroys it once the work recorded is done.
#[derive(Debug)]
pub struct StreamEvent {
    handle: StreamEventHandle,
    context: Context,
}

/// Names a [`StreamEvent`] without owning it: a plain value to send to other threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamEventHandle(Handle);

// SAFETY: the driver's functions on events may be called from any thread.
unsafe impl Send for StreamEventHandle {}
// SAFETY: as above.
unsafe impl Sync for StreamEventHandle {}

impl StreamEvent {
    /// An event of a context, not recorded yet. It takes no time, which makes it cheap.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn new(context: &Context) -> Result<Self, CallError> {
        Self::with(context, DISABLE_TIMING)
    }

    /// An event that takes the time when the GPU comes to it.
    ///
    /// # Errors
    /// As [`StreamEvent::new`].
    pub fn timed(context: &Context) -> Result<Self, CallError> {
        Self::with(context, 0)
    }

    fn with(context: &Context, flags: u32) -> Result<Self, CallError> {
        let _current = context.enter()?;
        let mut event = ptr::null_mut();
        // SAFETY: `event` is writable; `Drop` destroys it.
        unsafe { sys::cuEventCreate(&mut event, flags)? };
        Ok(Self { handle: StreamEventHandle(event), context: context.clone() })
    }

    /// Waits until the work is done behind which it was recorded last.
    ///
    /// # Errors
    /// Work before failed.
    pub fn synchronize(&self) -> Result<(), CallError> {
        // SAFETY: the event lives as long as `self`.
        unsafe { sys::cuEventSynchronize(self.handle.0) }
    }

    /// How long the GPU took from an earlier event to this one, in milliseconds. Both are timed, and it has come to both.
    ///
    /// # Errors
    /// One of them takes no time, or the GPU has not come to it.
    pub fn milliseconds_since(&self, earlier: &Self) -> Result<f32, CallError> {
        let mut milliseconds = 0.0;
        // SAFETY: both events live; `milliseconds` is writable.
        unsafe { sys::cuEventElapsedTime(&mut milliseconds, earlier.handle.0, self.handle.0)? };
        Ok(milliseconds)
    }

    /// Names it for other threads.
    #[must_use]
    pub fn handle(&self) -> StreamEventHandle {
        self.handle
    }

    /// Sets it behind all work that `stream`, of the event's own context, has been given so far, instead
    /// of where it was. Who waited for it before goes on waiting for the place of then.
    ///
    /// # Errors
    /// The stream is of another context, or the driver refuses.
    pub fn record(&self, stream: &Stream) -> Result<(), CallError> {
        // SAFETY: the event lives as long as `self`, the stream as long as it is borrowed.
        unsafe { sys::cuEventRecord(self.handle.0, stream.as_raw()) }
    }

    /// Lets all work that `stream` is given from now on wait until the work is done behind which the event
    /// was recorded last; at once if it never was. The stream may be of another context and GPU. The
    /// calling thread does not wait: where another thread records, this call has to come after that one.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn wait_on(&self, stream: &Stream) -> Result<(), CallError> {
        // SAFETY: the event lives as long as `self`.
        unsafe { self.handle.wait_on(stream) }
    }

    /// As [`StreamEvent::record`], of a stream that another library made.
    ///
    /// # Errors
    /// The stream is of another context, or the driver refuses.
    ///
    /// # Safety
    /// `stream` is a stream that exists, as CUDA numbers it; 0 is the default stream.
    pub unsafe fn record_in(&self, stream: u64) -> Result<(), CallError> {
        // SAFETY: the event lives as long as `self`, the stream as the caller promises.
        unsafe { sys::cuEventRecord(self.handle.0, foreign(stream)) }
    }

    /// As [`StreamEvent::wait_on`], of a stream that another library made.
    ///
    /// # Errors
    /// The driver refuses.
    ///
    /// # Safety
    /// `stream` is a stream that exists, as CUDA numbers it; 0 is the default stream.
    pub unsafe fn hold(&self, stream: u64) -> Result<(), CallError> {
        // SAFETY: the event lives as long as `self`, the stream as the caller promises.
        unsafe { sys::cuStreamWaitEvent(foreign(stream), self.handle.0, 0) }
    }

    /// Whether the work is done behind which it was recorded last; also if it never was.
    ///
    /// # Errors
    /// Work before failed.
    pub fn is_done(&self) -> Result<bool, CallError> {
        // SAFETY: the event lives as long as `self`.
        unsafe { self.handle.is_done() }
    }
}

/// A stream of another library by its number, which is the address that the driver gave it.
fn foreign(stream: u64) -> Handle {
    ptr::with_exposed_provenance_mut(stream as usize)
}

impl StreamEventHandle {
    /// A number that names it within this process, for messages.
    #[must_use]
    pub fn to_bits(self) -> u64 {
        self.0.expose_provenance() as u64
    }

    /// The handle that [`StreamEventHandle::to_bits`] gave this number. Any other number names no event, and must not be
    /// waited for.
    #[must_use]
    pub fn from_bits(bits: u64) -> Self {
        Self(ptr::with_exposed_provenance_mut(bits as usize))
    }

    /// Lets all work that `stream` is given from now on wait for the work behind which the event was recorded last, as
    /// [`StreamEvent::wait_on`].
    ///
    /// # Errors
    /// The driver refuses.
    ///
    /// # Safety
    /// The [`StreamEvent`] lives until this returns.
    pub unsafe fn wait_on(self, stream: &Stream) -> Result<(), CallError> {
        // SAFETY: the event lives, as the caller promises, and the stream as long as it is borrowed; the
        // flags must be 0.
        unsafe { sys::cuStreamWaitEvent(stream.as_raw(), self.0, 0) }
    }

    /// Whether the work is done behind which the event was recorded last; also if it never was.
    ///
    /// # Errors
    /// Work before failed.
    ///
    /// # Safety
    /// The [`StreamEvent`] lives until this returns.
    pub unsafe fn is_done(self) -> Result<bool, CallError> {
        // SAFETY: the event lives, as the caller promises.
        match unsafe { sys::cuEventQuery(self.0) } {
            Err(error) if error.status == NOT_READY => Ok(false),
            asked => asked.map(|()| true),
        }
    }
}

impl Drop for StreamEvent {
    fn drop(&mut self) {
        if let Ok(_current) = self.context.enter() {
            // SAFETY: created in `with`, destroyed nowhere else. There is nobody to tell of an error.
            let _ = unsafe { sys::cuEventDestroy_v2(self.handle.0) };
        }
    }
}
