// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ranks that exchange memory.

use crate::api::{BYTES, Handle, IN_PROGRESS};
use crate::error::Error;
use crate::id::UniqueId;
use crate::nccl::Nccl;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr;

/// A CUDA stream: `CUstream`, which is `cudaStream_t`. `cuda_driver::Stream::as_raw().cast()` is one.
pub type Stream = *mut c_void;

/// A range of device memory, and the rank to which it goes or from which it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    /// Device address of the first byte.
    pub address: u64,
    /// How many bytes.
    pub bytes: usize,
    /// The other rank. It may be the own one, if the same exchange sends and receives.
    pub peer: u32,
}

/// One of the ranks that exchange memory with each other: one GPU. It may be moved to another thread, and is used by one
/// at a time.
///
/// Dropping it waits for the exchanges queued and gives back what NCCL took. After an error, or in a thread that
/// panics, it aborts instead, as [`Communicator::abort`] does. Drop it before the last share of its context.
#[derive(Debug)]
pub struct Communicator {
    nccl: &'static Nccl,
    handle: Handle,
    rank: u32,
    size: u32,
    failed: Cell<bool>,
}

// SAFETY: NCCL binds a communicator to a device, not to a thread; it must be used by one thread at a time.
unsafe impl Send for Communicator {}

impl Communicator {
    /// Becomes rank `rank` of `size` with the device whose context is current on the calling thread: its primary
    /// context, and no other rank's device. It waits until all ranks have called, from as many threads or processes,
    /// for ever if one does not.
    ///
    /// # Errors
    /// The rank is not below the size, the ranks cannot reach each other, or NCCL cannot use the device.
    pub fn new(nccl: &'static Nccl, rank: u32, size: u32, id: UniqueId) -> Result<Self, Error> {
        let mut handle = ptr::null_mut();
        // SAFETY: `handle` is writable; `Drop` gives it back.
        let code =
            unsafe { (nccl.api.ncclCommInitRank)(&mut handle, number(size), id, number(rank)) };
        nccl.check(format_args!("join as rank {rank} of {size}"), code)?;
        Ok(Self { nccl, handle, rank, size, failed: Cell::new(false) })
    }

    /// This rank, below [`Communicator::size`].
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// How many ranks there are.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Queues an exchange behind what `stream` has been given before: all messages at once, whatever their order. It
    /// returns when they are queued, which may take until their peers have called too. Messages of no bytes are left
    /// out.
    ///
    /// To every message that this rank sends belongs one that the peer receives, in an exchange of its own, of as many
    /// bytes; if there are several between the same two ranks, they belong together in the order given on both
    /// sides. One that lacks its counterpart keeps the stream waiting for ever.
    ///
    /// # Errors
    /// NCCL refuses, or a rank failed before. What has been queued is undefined then: drop or abort the communicator.
    ///
    /// # Safety
    /// `stream` is a live stream of the context that was current in [`Communicator::new`], or null, its default
    /// stream. Until the stream has passed the exchange, all ranges are allocated on this rank's GPU. Nobody writes
    /// what is sent meanwhile, and nobody else reads or writes what is received into. The ranges that are received
    /// into share no byte with each other or with those sent. The counterpart of each message has as many bytes.
    pub unsafe fn exchange(
        &self,
        sends: &[Message],
        receives: &[Message],
        stream: Stream,
    ) -> Result<(), Error> {
        let some = |message: &&Message| message.bytes > 0;
        if sends.iter().chain(receives).all(|message| message.bytes == 0) {
            return Ok(());
        }
        let api = &self.nccl.api;
        // SAFETY: no precondition; the group is ended below in any case.
        self.check_call("begin an exchange", unsafe { (api.ncclGroupStart)() })?;
        let each_send = |&Message { address, bytes, peer }: &Message| {
            let from = ptr::without_provenance(address as usize);
            // SAFETY: as the caller promises.
            let code =
                unsafe { (api.ncclSend)(from, bytes, BYTES, number(peer), self.handle, stream) };
            self.check_call(format_args!("send {bytes} bytes to rank {peer}"), code)
        };
        let each_receive = |&Message { address, bytes, peer }: &Message| {
            let to = ptr::without_provenance_mut(address as usize);
            // SAFETY: as the caller promises.
            let code =
                unsafe { (api.ncclRecv)(to, bytes, BYTES, number(peer), self.handle, stream) };
            self.check_call(format_args!("receive {bytes} bytes from rank {peer}"), code)
        };
        let given = sends
            .iter()
            .filter(some)
            .try_for_each(each_send)
            .and_then(|()| receives.iter().filter(some).try_for_each(each_receive));
        // SAFETY: the group was begun above, by this thread.
        let queued = self.check_call("queue an exchange", unsafe { (api.ncclGroupEnd)() });
        given.and(queued)
    }

    /// Looks whether something failed since it was queued: a rank that is gone, a network that broke. Work that waits
    /// for it waits for ever; [`Communicator::abort`] ends that.
    ///
    /// # Errors
    /// Something did.
    pub fn check(&self) -> Result<(), Error> {
        let mut state = 0;
        // SAFETY: `state` is writable.
        let code = unsafe { (self.nccl.api.ncclCommGetAsyncError)(self.handle, &mut state) };
        self.check_call("tell its state", code)?;
        if state == IN_PROGRESS { Ok(()) } else { self.check_call("finish an exchange", state) }
    }

    /// Ends exchanges that are queued, done or not, and gives back what NCCL took. The other ranks notice, or not:
    /// they are to abort as well.
    ///
    /// # Errors
    /// NCCL cannot give back everything.
    pub fn abort(self) -> Result<(), Error> {
        let this = ManuallyDrop::new(self);
        // SAFETY: made in `new`; `Drop`, which would give it back, does not run.
        this.nccl.check("abort", unsafe { (this.nccl.api.ncclCommAbort)(this.handle) })
    }

    /// Turns a call's status into a result, and remembers a failure.
    fn check_call(&self, action: impl fmt::Display, code: c_int) -> Result<(), Error> {
        let result = self.nccl.check(action, code);
        if result.is_err() {
            self.failed.set(true);
        }
        result
    }
}

impl Drop for Communicator {
    fn drop(&mut self) {
        let api = &self.nccl.api;
        // SAFETY: made in `new`, given back nowhere else. There is nobody to tell of an error.
        let _ = unsafe {
            if self.failed.get() || std::thread::panicking() {
                (api.ncclCommAbort)(self.handle)
            } else {
                (api.ncclCommDestroy)(self.handle)
            }
        };
    }
}

/// As NCCL takes it; what does not fit is far beyond every rank and refused there.
fn number(rank: u32) -> c_int {
    c_int::try_from(rank).unwrap_or(c_int::MAX)
}
