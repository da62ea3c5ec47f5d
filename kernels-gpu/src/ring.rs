// SPDX-License-Identifier: MIT OR Apache-2.0
//! A ring of shared-memory stages: producer warps fill them, by asynchronous copies or by stores,
//! consumer warps empty them. Each stage has a barrier *full* (one arrival from each producer warp,
//! and the bytes of copies that it announced; on chips before sm_90, which do not count bytes, see
//! [`crate::fill`]) and a barrier *empty* (one from each consumer warp, or from each
//! of its lanes).

use crate::fault::{Fault, planted};
use cuda_std::barrier;
use cuda_std::shared::Shared;

/// The most stages a ring can have, but for [`Ring::of`].
pub const MAX_STAGES: u32 = 8;

/// Bytes of a ring's barriers.
pub const HEADER_BYTES: u32 = header_bytes(MAX_STAGES);

/// Bytes of the barriers of a ring of at most so many stages.
#[must_use]
pub const fn header_bytes(most_stages: u32) -> u32 {
    2 * most_stages * barrier::BYTES
}

/// A position in the ring, advanced by producer and consumers alike, each for itself.
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    barriers: Shared,
    stages_start: Shared,
    stage_bytes: u32,
    stages: u32,
    /// Stages that there are barriers for.
    most_stages: u32,
    slot: u32,
    parity: u32,
}

impl Ring {
    /// The first stage of a ring with its barriers, [`HEADER_BYTES`], and its stages at these places.
    #[inline(always)]
    #[must_use]
    pub fn new(barriers: Shared, stages_start: Shared, stage_bytes: u32, stages: u32) -> Self {
        Self::of(MAX_STAGES, barriers, stages_start, stage_bytes, stages)
    }

    /// The first stage of a ring with barriers for `most_stages` stages, [`header_bytes`], and its stages at these
    /// places.
    #[inline(always)]
    #[must_use]
    pub fn of(
        most_stages: u32,
        barriers: Shared,
        stages_start: Shared,
        stage_bytes: u32,
        stages: u32,
    ) -> Self {
        Self { barriers, stages_start, stage_bytes, stages, most_stages, slot: 0, parity: 0 }
    }

    /// Sets up the barriers: for so many arrivals of producers and of consumers.
    ///
    /// # Safety
    /// By one thread, before a block barrier that everyone else waits for.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn init(&self, producers: u32, consumers: u32) {
        let mut at = *self;
        while at.slot < self.stages {
            // SAFETY: the header is reserved for barriers, and nobody uses them yet.
            unsafe {
                barrier::init(at.full(), producers);
                barrier::init(at.empty(), consumers);
            }
            at.slot += 1;
        }
        // SAFETY: the block barrier follows, as the caller promises.
        unsafe { barrier::fence_init() };
    }

    /// Sets up the barriers *full* only, of a ring whose stages are known to be empty without the others.
    ///
    /// # Safety
    /// By one thread, before a barrier that all who use the ring wait for.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn init_full(&self, producers: u32) {
        let mut at = *self;
        while at.slot < self.stages {
            // SAFETY: the header is reserved for barriers, and nobody uses them yet.
            unsafe { barrier::init(at.full(), producers) };
            at.slot += 1;
        }
        // SAFETY: the block barrier follows, as the caller promises.
        unsafe { barrier::fence_init() };
    }

    /// The stage's data.
    #[inline(always)]
    #[must_use]
    pub fn data(&self) -> Shared {
        self.stages_start.offset(self.slot * self.stage_bytes)
    }

    /// Bytes from the first stage to this one.
    #[inline(always)]
    #[must_use]
    pub fn offset(&self) -> u32 {
        self.slot * self.stage_bytes
    }

    /// The barrier on which the stage's copies complete.
    #[inline(always)]
    #[must_use]
    pub fn full(&self) -> Shared {
        self.barriers.offset(self.slot * barrier::BYTES)
    }

    #[inline(always)]
    fn empty(&self) -> Shared {
        self.barriers.offset((self.most_stages + self.slot) * barrier::BYTES)
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

    /// Producer: hands the stage on, one lane for its warp, or each for itself, if so many are expected.
    ///
    /// # Safety
    /// The lane, or the whole warp, has written its part of the stage.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn publish(&self) {
        // SAFETY: the barrier expects one arrival of each producer warp.
        unsafe { barrier::arrive(self.full()) };
    }

    /// Consumer: leaves the stage, one lane for its warp, or each for itself where [`Ring::init`] expects
    /// so many.
    ///
    /// # Safety
    /// The whole warp, or the lane, has read what it needs of the stage.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn release(&self) {
        // SAFETY: the barrier expects one arrival of each consumer warp.
        unsafe { barrier::arrive(self.empty()) };
    }

    /// Goes on to where `other` is, a ring of as many stages that always was where this one was.
    #[inline(always)]
    pub fn follow(&mut self, other: &Self) {
        (self.slot, self.parity) = (other.slot, other.parity);
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
