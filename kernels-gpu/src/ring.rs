// SPDX-License-Identifier: MIT OR Apache-2.0
//! A ring of shared-memory stages: one producer warp fills them by asynchronous copies, consumer
//! warps empty them. Each stage has a barrier *full* (the producer's arrival and the bytes it
//! announced) and a barrier *empty* (one arrival from each consumer warp).

use crate::fault::{Fault, planted};
use cuda_std::barrier;
use cuda_std::shared::Shared;

/// The most stages a ring can have.
pub const MAX_STAGES: u32 = 8;

/// Bytes at the start of shared memory that hold the barriers; the stages follow.
pub const HEADER_BYTES: u32 = 2 * MAX_STAGES * barrier::BYTES;

/// A position in the ring, advanced by producer and consumers alike, each for itself.
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    base: Shared,
    stage_bytes: u32,
    stages: u32,
    slot: u32,
    parity: u32,
}

impl Ring {
    /// The first stage of a ring at `base`, the start of the dynamic shared memory.
    #[inline(always)]
    #[must_use]
    pub fn new(base: Shared, stage_bytes: u32, stages: u32) -> Self {
        Self { base, stage_bytes, stages, slot: 0, parity: 0 }
    }

    /// Sets up the barriers.
    ///
    /// # Safety
    /// By one thread, before a block barrier that everyone else waits for.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn init(&self, consumers: u32) {
        let mut at = *self;
        while at.slot < self.stages {
            // SAFETY: the header is reserved for barriers, and nobody uses them yet.
            unsafe {
                barrier::init(at.full(), 1);
                barrier::init(at.empty(), consumers);
            }
            at.slot += 1;
        }
        // SAFETY: the block barrier follows, as the caller promises.
        unsafe { barrier::fence_init() };
    }

    /// The stage's data.
    #[inline(always)]
    #[must_use]
    pub fn data(&self) -> Shared {
        self.base.offset(HEADER_BYTES + self.slot * self.stage_bytes)
    }

    /// The barrier on which the stage's copies complete.
    #[inline(always)]
    #[must_use]
    pub fn full(&self) -> Shared {
        self.base.offset(self.slot * barrier::BYTES)
    }

    #[inline(always)]
    fn empty(&self) -> Shared {
        self.base.offset((MAX_STAGES + self.slot) * barrier::BYTES)
    }

    /// Consumer: waits until the stage is filled.
    ///
    /// # Safety
    /// [`Ring::init`] has been done and seen.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn wait_full(&self) {
        if planted(Fault::NoFullWait) {
            return;
        }
        let parity = self.parity ^ u32::from(planted(Fault::Parity));
        // SAFETY: the barrier is initialised, and ring order keeps it at most one phase away.
        unsafe { barrier::wait(self.full(), parity) };
    }

    /// Producer: waits until all consumers have left the stage; passes at once in the first round.
    ///
    /// # Safety
    /// As [`Ring::wait_full`].
    #[inline(always)]
    #[track_caller]
    pub unsafe fn wait_empty(&self) {
        if planted(Fault::NoEmptyWait) {
            return;
        }
        // SAFETY: as in `wait_full`.
        unsafe { barrier::wait(self.empty(), self.parity ^ 1) };
    }

    /// Consumer: leaves the stage, one lane for its warp.
    ///
    /// # Safety
    /// The whole warp has read what it needs of the stage.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn release(&self) {
        // SAFETY: the barrier expects one arrival of each consumer warp.
        unsafe { barrier::arrive(self.empty()) };
    }

    /// Goes on to the next stage.
    #[inline(always)]
    pub fn advance(&mut self) {
        self.slot += 1;
        if self.slot == self.stages {
            self.slot = 0;
            self.parity ^= 1;
        }
    }
}
