// SPDX-License-Identifier: MIT OR Apache-2.0
//! `mbarrier`: phases that complete when the expected arrivals and the announced bytes have come.

use crate::block::{Block, State};
use crate::clock::{Agent, Clock};
use crate::fault::{FaultKind, aligned};
use crate::lane::{when, with};
use crate::mbarrier::Barrier;

/// The most bytes that a barrier counts.
const MAX_BYTES: u32 = (1 << 20) - 1;

impl Block<'_> {
    /// The barrier at an address, for use by a thread that knows of its initialisation.
    pub fn barrier(&mut self, thread: usize, at: u32) -> Result<&mut Barrier, FaultKind> {
        let barrier = self.barriers.get_mut(&at).ok_or(FaultKind::NoBarrier(at))?;
        if !barrier.init.is_before(self.index, &self.threads[thread].clock) {
            return Err(FaultKind::BarrierUnseen { at, init: barrier.init.site });
        }
        Ok(barrier)
    }

    /// The barrier at an address, for a copy that a thread issues.
    pub fn barrier_of_copy(&mut self, thread: usize, at: u32) -> Result<&mut Barrier, FaultKind> {
        let barrier = self.barrier(thread, at)?;
        if !barrier.fenced {
            return Err(FaultKind::BarrierUnfenced(at));
        }
        Ok(barrier)
    }

    fn arrive(&mut self, thread: usize, at: u32, bytes: u32) -> Result<(), FaultKind> {
        let clock = self.threads[thread].clock.clone();
        let barrier = self.barrier(thread, at)?;
        if barrier.missing == 0 {
            return Err(FaultKind::OverArrival { at, phase: barrier.phase });
        }
        if bytes > MAX_BYTES {
            return Err(FaultKind::TooManyBytes { at, bytes });
        }
        barrier.missing -= 1;
        barrier.bytes += i64::from(bytes);
        barrier.gathered.join(&clock);
        self.tick(thread);
        self.complete(at);
        Ok(())
    }

    /// The arrival that a thread owed since this phase, because of copies that are now done: those of an
    /// agent up to an epoch.
    pub fn arrive_late(
        &mut self,
        at: u32,
        phase: u32,
        (agent, epoch): (Agent, u32),
    ) -> Result<(), FaultKind> {
        let barrier = self.barriers.get_mut(&at).expect("checked when the arrival was issued");
        if barrier.missing == 0 || barrier.phase != phase {
            return Err(FaultKind::OverArrival { at, phase });
        }
        barrier.missing -= 1;
        barrier.gathered.raise(agent, epoch);
        self.complete(at);
        Ok(())
    }

    /// Bytes of a copy have come that was issued in this phase.
    pub fn deliver(&mut self, at: u32, phase: u32, bytes: u32) -> Result<(), FaultKind> {
        let barrier = self.barriers.get_mut(&at).expect("checked when the copy was issued");
        if barrier.phase != phase {
            return Err(FaultKind::Unannounced { at, phase, bytes });
        }
        barrier.bytes -= i64::from(bytes);
        self.complete(at);
        Ok(())
    }

    /// Completes the phase if nothing is missing.
    fn complete(&mut self, at: u32) {
        let barrier = self.barriers.get_mut(&at).expect("the caller has found it");
        if barrier.missing != 0 || barrier.bytes != 0 {
            return;
        }
        barrier.phase += 1;
        barrier.missing = barrier.arrivals;
        barrier.released.join(&std::mem::take(&mut barrier.gathered));
        barrier.released.raise(barrier.agent, barrier.phase);
        let completed = i64::from(barrier.phase);
        self.wake(|state| {
            matches!(state, State::Phase { at: waits_at, phase } if *waits_at == at && *phase < completed)
        });
    }

    /// The phase that a parity means to a thread now: the one under way or the one before.
    fn awaited(&mut self, thread: usize, at: u32, parity: u32) -> Result<i64, FaultKind> {
        let barrier = self.barrier(thread, at)?;
        let under_way = i64::from(barrier.phase);
        let phase = if barrier.phase % 2 == parity { under_way } else { under_way - 1 };
        let agent = barrier.agent;
        let known = self.threads[thread].clock.at(agent);
        if phase > i64::from(known) {
            return Err(FaultKind::AmbiguousPhase { at, parity, phase, known });
        }
        Ok(phase)
    }
}

/// `mbarrier.init`.
#[track_caller]
pub fn init(at: u32, arrivals: u32) {
    with(|block, thread| {
        aligned("the address of a barrier", at.into(), 8)?;
        if block.barriers.contains_key(&at) {
            return Err(FaultKind::BarrierTwice(at));
        }
        let init = block.event(thread);
        // The bytes are reserved, never written: nobody may read them as data.
        block.shared.reserve(at, 8, init, &block.threads[thread].clock)?;
        let barrier = Barrier {
            arrivals,
            missing: arrivals,
            bytes: 0,
            phase: 0,
            agent: block.new_agent(),
            gathered: Clock::default(),
            released: Clock::default(),
            init,
            fenced: false,
        };
        block.barriers.insert(at, barrier);
        Ok(())
    });
}

/// `fence.mbarrier_init.release.cluster`.
#[track_caller]
pub fn fence_init() {
    with(|block, thread| {
        for barrier in block.barriers.values_mut() {
            barrier.fenced |= barrier.init.agent == thread as Agent;
        }
        Ok(())
    });
}

/// `mbarrier.arrive`.
#[track_caller]
pub fn arrive(at: u32) {
    with(|block, thread| block.arrive(thread, at, 0));
}

/// `mbarrier.arrive.expect_tx`.
#[track_caller]
pub fn arrive_expect(at: u32, bytes: u32) {
    with(|block, thread| {
        block.needs_sm_90("mbarrier.arrive.expect_tx")?;
        block.arrive(thread, at, bytes)
    });
}

/// `mbarrier.try_wait.parity`, or `mbarrier.test_wait.parity`, until it succeeds.
#[track_caller]
pub fn wait(at: u32, parity: u32) {
    let mut awaited = None;
    when(|block, thread| {
        let phase = match awaited {
            Some(phase) => phase,
            None => *awaited.insert(block.awaited(thread, at, parity)?),
        };
        let barrier = &block.barriers[&at];
        if phase >= i64::from(barrier.phase) {
            block.set_state(thread, State::Phase { at, phase });
            return Ok(None);
        }
        block.threads[thread].clock.join(&barrier.released);
        Ok(Some(()))
    });
}
