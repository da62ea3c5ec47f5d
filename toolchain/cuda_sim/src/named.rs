// SPDX-License-Identifier: MIT OR Apache-2.0
//! Barriers of some of a block's warps: `bar.sync` and `bar.arrive` with a number and a count of threads. Who
//! arrives hands on what it knows; who waits learns it.

use crate::block::{Block, CollectiveOutcome, LaneOperands, OPERANDS, State};
use crate::config::LANES;
use crate::fault::FaultKind;
use crate::lane::{collective, when};
use crate::mbarrier::NamedBarrier;

/// Barriers of a block.
const COUNT: u32 = 16;

impl Block<'_> {
    /// A warp comes to a barrier.
    fn come(
        &mut self,
        warp: usize,
        operands: &[LaneOperands; LANES],
        waits: bool,
    ) -> CollectiveOutcome {
        let [number, threads, ..] = operands[0];
        let fail = |lane, what: String| Err((lane, FaultKind::NamedBarrier { number, what }));
        if let Some(lane) = operands.iter().position(|it| it != &operands[0]) {
            return fail(lane, "lanes of one warp name different ones, or counts".to_owned());
        }
        if number >= COUNT {
            return fail(0, format!("there are {COUNT}, from 0 on"));
        }
        let most = self.threads.len() as u32;
        if threads == 0 || threads > most || !threads.is_multiple_of(LANES as u32) {
            return fail(0, format!("{threads} threads are no whole warps of this block"));
        }
        let barrier = self.named.entry(number).or_default();
        if barrier.arrived > 0 && barrier.expected != threads {
            let other = barrier.expected;
            return fail(0, format!("this warp counts {threads} threads, others {other}"));
        }
        barrier.expected = threads;
        barrier.arrived += LANES as u32;
        if waits {
            barrier.waiting.push(warp);
        }
        for thread in warp * LANES..(warp + 1) * LANES {
            barrier.gathered.join(&self.threads[thread].clock);
        }
        for thread in warp * LANES..(warp + 1) * LANES {
            self.tick(thread);
        }
        self.open_named(number);
        Ok([[0; 8]; LANES])
    }

    /// Lets those pass that wait at a barrier, if all have come.
    fn open_named(&mut self, number: u32) {
        let barrier = self.named.get_mut(&number).expect("a warp has come to it");
        if barrier.arrived < barrier.expected {
            return;
        }
        let NamedBarrier { waiting, gathered, .. } = std::mem::take(barrier);
        for thread in waiting.iter().flat_map(|warp| warp * LANES..(warp + 1) * LANES) {
            self.threads[thread].clock.join(&gathered);
            self.tick(thread);
        }
        self.wake(|state| matches!(state, State::NamedBarrier(at) if *at == number));
    }

    /// Whether a warp waits at a barrier.
    fn waits_at(&self, warp: usize, number: u32) -> bool {
        self.named.get(&number).is_some_and(|barrier| barrier.waiting.contains(&warp))
    }
}

fn operands(number: u32, threads: u32) -> LaneOperands {
    let mut operands = [0; OPERANDS];
    operands[..2].copy_from_slice(&[number, threads]);
    operands
}

/// `bar.sync a, b`: waits until so many threads have come.
#[track_caller]
pub(crate) fn sync(number: u32, threads: u32) {
    collective("bar.sync", operands(number, threads), |block, warp, operands| {
        block.come(warp, operands, true)
    });
    when(|block, thread| {
        if block.waits_at(thread / LANES, number) {
            block.set_state(thread, State::NamedBarrier(number));
            return Ok(None);
        }
        Ok(Some(()))
    });
}

/// `bar.arrive a, b`: comes to it, and goes on.
#[track_caller]
pub(crate) fn arrive(number: u32, threads: u32) {
    collective("bar.arrive", operands(number, threads), |block, warp, operands| {
        block.come(warp, operands, false)
    });
}
