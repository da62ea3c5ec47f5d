// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies to this machine beside the stream of work: a stream of their own waits for what was queued before, and writes
//! to memory that the driver has pinned, so that a copy takes no time of the processor.
//!
//! The memory is this process's own, and only registered with the driver: whoever still reads it when the GPU is closed
//! goes on to read it.

use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::super::fetch::{Fetch, Fetched};
use super::super::{Memory, failed};
use cuda_driver::{Context, Stream, StreamEvent, sys};
use problem::Error;

/// The stream of copies, and the memory that they go to.
pub struct Fetcher {
    context: Context,
    stream: Stream,
    /// Memory that is pinned.
    pinned: RefCell<Vec<*mut c_void>>,
    /// Memory that nobody uses.
    free: Receiver<Vec<u8>>,
    home: Sender<Vec<u8>>,
}

impl Fetcher {
    /// Without memory at first.
    ///
    /// # Errors
    /// The driver refuses a stream.
    pub fn new(context: &Context) -> Result<Self, Error> {
        let stream = Stream::new(context, 0).map_err(failed("open a stream"))?;
        let (home, free) = channel();
        let (context, pinned) = (context.clone(), RefCell::default());
        Ok(Self { context, stream, pinned, free, home })
    }

    /// Queues a copy of the first bytes of a memory, after all that `work` has to do now.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn fetch(
        &self,
        work: &Stream,
        from: &Memory,
        count: usize,
    ) -> Result<Box<dyn Fetch>, Error> {
        assert!(count <= from.bytes(), "within the array");
        let event = || StreamEvent::new(&self.context).map_err(failed("create an event"));
        let before = event()?;
        before.record(work).map_err(failed("record an event"))?;
        before.wait_on(&self.stream).map_err(failed("wait for an event"))?;
        let mut way =
            CopyInFlight { memory: self.memory(count), count, end: event()?, home: self.home() };
        let to = way.memory.as_mut_ptr().cast();
        let stream = self.stream.as_raw();
        // SAFETY: both sides hold the bytes; `way` keeps those of this side until the copy has ended.
        let queued = unsafe { sys::cuMemcpyDtoHAsync_v2(to, from.address(), count, stream) };
        queued.map_err(failed("fetch a grid"))?;
        if let Err(why) = way.end.record(&self.stream) {
            // Nothing tells when the copy ends but the stream.
            let _ = self.stream.synchronize();
            way.count = 0;
            return Err(failed("record an event")(why));
        }
        Ok(Box::new(way))
    }

    fn home(&self) -> Option<Sender<Vec<u8>>> {
        Some(self.home.clone())
    }

    /// Memory for so many bytes: some that has come back, or new one, pinned if the driver likes.
    fn memory(&self, count: usize) -> Vec<u8> {
        while let Ok(memory) = self.free.try_recv() {
            if memory.len() >= count {
                return memory;
            }
            self.unpin(|pinned| pinned == memory.as_ptr().cast_mut().cast());
        }
        let mut memory = vec![0; count.max(1)];
        let start = memory.as_mut_ptr().cast();
        // SAFETY: the memory is there until it is unpinned: whoever has it hands it back, or drops it after this.
        let pinned = unsafe { sys::cuMemHostRegister_v2(start, memory.len(), 0) };
        // Copies to other memory are slower, and right.
        if pinned.is_ok() {
            self.pinned.borrow_mut().push(start);
        }
        memory
    }

    fn unpin(&self, which: impl Fn(*mut c_void) -> bool) {
        self.pinned.borrow_mut().retain(|&start| {
            if which(start) {
                // SAFETY: it is pinned, and no copy to it is under way.
                let _ = unsafe { sys::cuMemHostUnregister(start) };
            }
            !which(start)
        });
    }
}

impl Drop for Fetcher {
    fn drop(&mut self) {
        // All copies have ended after this, and their memory is an ordinary one.
        let _ = self.stream.synchronize();
        self.unpin(|_| true);
    }
}

/// A copy under way.
struct CopyInFlight {
    memory: Vec<u8>,
    count: usize,
    end: StreamEvent,
    home: Option<Sender<Vec<u8>>>,
}

impl Fetch for CopyInFlight {
    fn wait(mut self: Box<Self>) -> Result<Fetched, Error> {
        self.end.synchronize().map_err(failed("fetch a grid"))?;
        Ok(Fetched::new(std::mem::take(&mut self.memory), self.count, self.home.take()))
    }
}

impl Drop for CopyInFlight {
    fn drop(&mut self) {
        if let Some(home) = self.home.take() {
            // Where the GPU is closed, the copy has ended, and this fails.
            let _ = self.end.synchronize();
            let _ = home.send(std::mem::take(&mut self.memory));
        }
    }
}
