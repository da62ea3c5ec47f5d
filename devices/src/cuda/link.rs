// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies from one GPU's memory to another's, of threads of this process: queued on the stream of the GPU that gives, which
//! the GPU that takes waits for.

use super::super::info::nth_device;
use super::super::{Memory, failed};
use cuda_driver::{Context, Stream, StreamEvent, StreamEventHandle};
use problem::Error;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

/// A GPU's stream of work, for those who order it with other GPUs' work.
pub struct Link {
    number: usize,
    stream: Rc<Stream>,
    /// Contexts of the GPUs that this GPU's copies go to, by the numbers of the GPUs.
    reached: BTreeMap<usize, Context>,
    /// The end of what other streams of the same GPU were last to wait for.
    last: SyncPoint,
    own: Context,
}

/// A place in the work of a GPU that others wait for.
pub struct SyncPoint(StreamEvent);

/// A [`SyncPoint`] of another thread of this process, which keeps it as long as anybody waits for it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct RemoteSyncPoint(u64);

/// Memory of another thread's GPU, which keeps it as long as anybody copies there.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct RemoteMemory {
    /// The GPU's number.
    number: usize,
    address: u64,
    bytes: usize,
}

/// A place in the work of a GPU with its time.
pub struct TimedPoint(StreamEvent);

impl TimedPoint {
    /// Whether the GPU has come there.
    ///
    /// # Errors
    /// A kernel failed.
    pub fn is_passed(&self) -> Result<bool, Error> {
        is_passed(&self.0)
    }

    /// How long the GPU took from here to a later one of its own stream, both of which it has passed.
    ///
    /// # Errors
    /// It has not, or the driver refuses.
    pub fn until(&self, later: &Self) -> Result<Duration, Error> {
        let milliseconds = later.0.milliseconds_since(&self.0).map_err(failed("read an event"))?;
        Ok(Duration::from_secs_f64(f64::from(milliseconds) * 1e-3))
    }
}

/// Whether a GPU has come to an event.
pub(super) fn is_passed(event: &StreamEvent) -> Result<bool, Error> {
    event.is_done().map_err(failed("finish a kernel"))
}

impl SyncPoint {
    /// For another thread.
    #[must_use]
    pub fn to_remote(&self) -> RemoteSyncPoint {
        RemoteSyncPoint(self.0.handle().to_bits())
    }
}

/// Whether a GPU copies straight to another's memory, both given by their numbers.
///
/// # Errors
/// There is none of such a number, or the driver refuses.
pub fn reaches(from: usize, to: usize) -> Result<bool, Error> {
    let can = cuda_driver::can_access(nth_device(from)?, nth_device(to)?);
    can.map_err(failed("ask about a GPU"))
}

fn mark(context: &Context) -> Result<SyncPoint, Error> {
    StreamEvent::new(context).map(SyncPoint).map_err(failed("create an event"))
}

impl Link {
    /// Of the GPU of this number, whose stream it is.
    pub(super) fn new(number: usize, own: &Context, stream: &Rc<Stream>) -> Result<Self, Error> {
        let last = mark(own)?;
        let (stream, reached) = (Rc::clone(stream), BTreeMap::new());
        Ok(Self { number, stream, reached, last, own: own.clone() })
    }

    /// A place in the work, nowhere yet.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn mark(&self) -> Result<SyncPoint, Error> {
        mark(&self.own)
    }

    /// The time at which all that is queued so far will have been done.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn stamp(&self) -> Result<TimedPoint, Error> {
        let event = StreamEvent::timed(&self.own).map_err(failed("create an event"))?;
        event.record(&self.stream).map_err(failed("record an event"))?;
        Ok(TimedPoint(event))
    }

    /// Puts a mark behind all that is queued so far.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn set(&self, mark: &SyncPoint) -> Result<(), Error> {
        mark.0.record(&self.stream).map_err(failed("record an event"))
    }

    /// What is queued from now on waits until another GPU's work has come as far as where the mark is now.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn wait_for(&self, mark: RemoteSyncPoint) -> Result<(), Error> {
        // SAFETY: whoever sent the mark keeps it (`RemoteSyncPoint`).
        let waits = unsafe { StreamEventHandle::from_bits(mark.0).wait_on(&self.stream) };
        waits.map_err(failed("wait for another GPU"))
    }

    /// What is queued from now on waits for all that is queued so far on another stream of the same GPU.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn wait_for_all(&self, other: &Self) -> Result<(), Error> {
        other.set(&other.last)?;
        self.wait_for(other.last.to_remote())
    }

    /// Names so many bytes of its memory for another thread.
    ///
    /// # Panics
    /// Where the memory has fewer.
    #[must_use]
    pub fn name(&self, memory: &Memory, start: usize, bytes: usize) -> RemoteMemory {
        assert!(start + bytes <= memory.bytes(), "within the memory");
        RemoteMemory { number: self.number, address: memory.address() + start as u64, bytes }
    }

    /// Lets copies go straight to a GPU's memory, if that is possible; if not, they go through this machine's. Whether it is.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn reach(&mut self, far: RemoteMemory) -> Result<bool, Error> {
        let device = nth_device(far.number)?;
        let context = Context::open(device).map_err(failed("open another GPU's context"))?;
        let direct = reaches(self.number, far.number)?;
        if direct {
            let _current = self.own.enter().map_err(failed("take a context"))?;
            cuda_driver::enable_access(&context).map_err(failed("reach another GPU's memory"))?;
        }
        self.reached.insert(far.number, context);
        Ok(direct)
    }

    /// Queues a copy of the first bytes of a memory to another GPU's, all of it.
    ///
    /// # Errors
    /// The driver refuses.
    ///
    /// # Panics
    /// Where the memory has fewer bytes, or the GPU was not [reached](Link::reach) before.
    pub fn give(&self, from: &Memory, to: RemoteMemory) -> Result<(), Error> {
        assert!(to.bytes <= from.bytes(), "as many bytes");
        let (address, bytes, stream) = (from.address(), to.bytes, &self.stream);
        let context = &self.reached[&to.number];
        // SAFETY: both hold the bytes, and whoever sent the name keeps the memory and does not touch it (`RemoteMemory`).
        let given = unsafe {
            cuda_driver::copy_peer(to.address, context, address, &self.own, bytes, stream)
        };
        given.map_err(failed("copy to another GPU"))
    }

    /// The stream, for [`super::Nccl`].
    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }
}
