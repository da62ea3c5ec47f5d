// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams of other libraries of the process: a GPU's work is put between theirs, and nobody waits.

use super::super::failed;
use super::Gpu;
use super::bytes::current;
use cuda_driver::{ContextGuard, StreamEvent};
use problem::Error;

/// The first GPU's context as that of a thread, until this is dropped; then the one before is again.
pub struct CurrentContext {
    _current: ContextGuard,
}

impl CurrentContext {
    /// Makes it the thread's.
    ///
    /// # Errors
    /// There is no GPU, or the driver refuses.
    pub fn new() -> Result<Self, Error> {
        Ok(Self { _current: current()? })
    }
}

impl Gpu {
    /// Has its work from here on come after what a stream has been asked for. Its context is that of the thread.
    ///
    /// # Errors
    /// The driver refuses.
    ///
    /// # Safety
    /// `stream` is a stream of this GPU's context, as CUDA numbers it; 0 is the default stream.
    pub unsafe fn wait_for_stream(&self, stream: u64) -> Result<(), Error> {
        let event = StreamEvent::new(&self.context).map_err(failed("create an event"))?;
        // SAFETY: as the caller promises.
        unsafe { event.record_in(stream) }.map_err(failed("record an event"))?;
        event.wait_on(&self.stream).map_err(failed("wait for a stream"))
    }

    /// Has what a stream is asked for from here on come after its work so far. Its context is that of the thread.
    ///
    /// # Errors
    /// The driver refuses.
    ///
    /// # Safety
    /// `stream` is a stream of this GPU's context, as CUDA numbers it; 0 is the default stream.
    pub unsafe fn let_stream_wait(&self, stream: u64) -> Result<(), Error> {
        let event = StreamEvent::new(&self.context).map_err(failed("create an event"))?;
        event.record(&self.stream).map_err(failed("record an event"))?;
        // SAFETY: as the caller promises.
        unsafe { event.hold(stream) }.map_err(failed("have a stream wait"))
    }
}
