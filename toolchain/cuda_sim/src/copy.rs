// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asynchronous copies from global to shared memory. Rules are checked when a copy is issued; its
//! data is read and written when it completes, at a random time.

use crate::block::{Block, State};
use crate::clock::Agent;
use crate::fault::{Access, FaultKind, aligned};
use crate::lane::{when, with};
use crate::pending::{Arrival, Copy, LATENCY, OwnCopies, Signal};
use crate::shadow::{Event, Proxy};
pub use crate::store::{bulk_store, commit_stores, fence_global, fence_shared, wait_stores_read};
use crate::tensor_map::{ByteRun, Swizzle, swizzled};
use rand::RngExt;

impl Block<'_> {
    fn issue(
        &mut self,
        thread: usize,
        to: u32,
        bytes: u32,
        runs: Vec<ByteRun>,
        signal: Signal,
    ) -> Result<(), FaultKind> {
        let (agent, epoch, proxy) = match signal {
            Signal::Barrier { at, phase } => (self.barriers[&at].agent, phase + 1, Proxy::Async),
            Signal::Own { thread, batch } => (self.own_copies(thread).agent, batch, Proxy::Generic),
        };
        for run in &runs {
            if let Some(source) = run.source {
                self.check_previous(thread, source, run.bytes.len(), Access::Read)?;
            }
        }
        let site = self.site(thread);
        let event = Event { site, agent, epoch, asynchronous: true, atomic: None, proxy };
        let clock = &self.threads[thread].clock;
        self.shared.reserve(to, bytes, event, clock)?;
        for run in &runs {
            if let Some(source) = run.source {
                self.memory.check_read(source, run.bytes.len(), event, clock)?;
            }
        }
        let due = self.time + self.random.random_range(1..=LATENCY);
        self.copies.push(Copy { due, site, to, bytes, runs, signal });
        self.stats.copies += 1;
        self.stats.copied_bytes += u64::from(bytes);
        Ok(())
    }

    /// Completes the copies whose time has come.
    pub fn run_copies(&mut self) {
        self.run_stores();
        while let Some(next) = self.copies.iter().position(|copy| copy.due <= self.time) {
            let copy = self.copies.swap_remove(next);
            let mut data = vec![0; copy.bytes as usize];
            for run in copy.runs {
                if let Some(source) = run.source {
                    self.memory.copy_out(source, &mut data[run.bytes]);
                }
            }
            self.shared.fill(copy.to, &data);
            match copy.signal {
                Signal::Barrier { at, phase } => {
                    if let Err(kind) = self.deliver(at, phase, copy.bytes) {
                        self.fail_at(copy.site, kind);
                    }
                }
                Signal::Own { thread, batch } => {
                    for arrival in &mut self.arrivals {
                        if arrival.thread == thread && arrival.batch >= batch {
                            arrival.left -= 1;
                        }
                    }
                    self.own_copies(thread).under_way -= 1;
                    if let State::OwnCopies(last) = self.threads[thread].state
                        && !self.copying(thread, last)
                    {
                        self.set_state(thread, State::Ready);
                    }
                }
            }
        }
        self.run_arrivals();
    }

    /// Makes the arrivals whose copies are done.
    fn run_arrivals(&mut self) {
        while let Some(next) = self.arrivals.iter().position(|arrival| arrival.left == 0) {
            let Arrival { site, at, phase, agent, batch, .. } = self.arrivals.swap_remove(next);
            if let Err(kind) = self.arrive_late(at, phase, (agent, batch)) {
                self.fail_at(site, kind);
            }
        }
    }

    /// The copies that a thread issues itself.
    fn own_copies(&mut self, thread: usize) -> &mut OwnCopies {
        if self.threads[thread].own_copies.is_none() {
            let agent = self.new_agent();
            let own = OwnCopies { agent, batch: 1, under_way: 0, groups: Vec::new() };
            self.threads[thread].own_copies = Some(own);
        }
        self.threads[thread].own_copies.as_mut().expect("just set")
    }

    /// Whether copies of a thread's batches up to `last` are under way.
    fn copying(&self, thread: usize, last: u32) -> bool {
        self.copies.iter().any(|copy| match copy.signal {
            Signal::Own { thread: own, batch } => own == thread && batch <= last,
            Signal::Barrier { .. } => false,
        })
    }

    /// Lets a thread go on once its copies of batches up to `last` are there.
    fn wait_for_own_copies(
        &mut self,
        thread: usize,
        agent: Agent,
        last: u32,
    ) -> Result<Option<()>, FaultKind> {
        if self.copying(thread, last) {
            self.set_state(thread, State::OwnCopies(last));
            return Ok(None);
        }
        self.threads[thread].clock.raise(agent, last);
        Ok(Some(()))
    }

    /// Reports a thread that returns while its own copies are under way.
    pub fn check_own_copies(&mut self, thread: usize) {
        if self.threads[thread].own_copies.as_ref().is_some_and(|copies| copies.under_way > 0) {
            self.fail(thread, FaultKind::Unfinished);
        }
    }

    /// Passes the time until the next copy completes; false where none is under way.
    pub fn skip_to_next_copy(&mut self) -> bool {
        let stores = self.stores.iter().map(|store| store.due);
        let next = self.copies.iter().map(|copy| copy.due).chain(stores).min();
        self.time = next.unwrap_or(self.time);
        next.is_some()
    }

    /// Reports copies that are under way when the block ends.
    pub fn check_finished(&mut self) {
        let stores = self.stores.iter().map(|store| store.site);
        let arrivals = self.arrivals.iter().map(|arrival| arrival.site);
        let mut late = self.copies.iter().map(|copy| copy.site).chain(stores).chain(arrivals);
        if let Some(site) = late.next() {
            self.fail_at(site, FaultKind::Unfinished);
        }
    }
}

fn run(from: *const u8, bytes: u32) -> Vec<ByteRun> {
    vec![ByteRun { bytes: 0..bytes as usize, source: Some(from as usize) }]
}

/// `cp.async.cg.shared.global 16`.
#[track_caller]
pub fn async_16(to: u32, from: *const u8) {
    async_copy(to, from, 16);
}

/// `cp.async.ca.shared.global`, of 4, 8 or 16 bytes.
#[track_caller]
pub(crate) fn async_copy(to: u32, from: *const u8, bytes: u32) {
    with(|block, thread| {
        aligned("the shared address of a cp.async", to.into(), bytes)?;
        block.memory.aligned("the source of a cp.async", from as usize, bytes)?;
        let own_copies = block.own_copies(thread);
        own_copies.under_way += 1;
        let batch = own_copies.batch;
        block.issue(thread, to, bytes, run(from, bytes), Signal::Own { thread, batch })
    });
}

/// `cp.async.commit_group`.
#[track_caller]
pub(crate) fn async_commit() {
    with(|block, thread| {
        let own_copies = block.own_copies(thread);
        own_copies.groups.push(own_copies.batch);
        own_copies.batch += 1;
        Ok(())
    });
}

/// `cp.async.wait_group`: all committed groups but the newest ones.
#[track_caller]
pub(crate) fn async_wait(newest: u32) {
    when(|block, thread| {
        let OwnCopies { agent, groups, .. } = block.own_copies(thread);
        let (agent, count) = (*agent, groups.len().saturating_sub(newest as usize));
        let last = groups[..count].last().copied().unwrap_or(0);
        block.wait_for_own_copies(thread, agent, last)
    });
}

/// `cp.async.mbarrier.arrive.noinc`.
#[track_caller]
pub fn async_arrive(barrier: u32) {
    with(|block, thread| {
        let phase = block.barrier(thread, barrier)?.phase;
        let site = block.site(thread);
        let own_copies = block.own_copies(thread);
        let OwnCopies { agent, batch, under_way: left, .. } = *own_copies;
        own_copies.batch += 1;
        block.arrivals.push(Arrival { site, at: barrier, phase, thread, agent, batch, left });
        Ok(())
    });
}

/// `cp.async.wait_all`.
#[track_caller]
pub fn async_wait_all() {
    when(|block, thread| {
        let OwnCopies { agent, batch, .. } = *block.own_copies(thread);
        let ended = block.wait_for_own_copies(thread, agent, batch)?;
        if ended.is_some() {
            block.own_copies(thread).batch += 1;
        }
        Ok(ended)
    });
}

/// `cp.async.bulk.shared::cluster.global.mbarrier`.
#[track_caller]
pub fn bulk(to: u32, from: *const u8, bytes: u32, barrier: u32) {
    with(|block, thread| {
        block.needs_sm_90("cp.async.bulk")?;
        aligned("the shared address of a bulk copy", to.into(), 16)?;
        block.memory.aligned("the source of a bulk copy", from as usize, 16)?;
        aligned("the size of a bulk copy", bytes.into(), 16)?;
        let phase = block.barrier_of_copy(thread, barrier)?.phase;
        block.issue(thread, to, bytes, run(from, bytes), Signal::Barrier { at: barrier, phase })
    });
}

/// `cp.async.bulk.tensor.2d`.
#[track_caller]
pub fn tensor_2d(to: u32, map: *const u8, x: i32, y: i32, barrier: u32) {
    tensor(to, map, &[x, y], barrier);
}

/// A box of a tensor map of any number of dimensions, innermost coordinate first.
#[track_caller]
fn tensor(to: u32, map: *const u8, at: &[i32], barrier: u32) {
    with(|block, thread| {
        block.needs_sm_90("cp.async.bulk.tensor")?;
        aligned("the shared address of a TMA box", to.into(), 128)?;
        let phase = block.barrier_of_copy(thread, barrier)?.phase;
        let map = block.memory.map_at(map as usize)?;
        if map.dims.len() != at.len() {
            let (map, copy) = (map.dims.len(), at.len());
            return Err(FaultKind::Dimensions { map, copy });
        }
        let inner = i64::from(at[0]) * i64::from(map.element_bytes);
        aligned("a TMA box's inner coordinate times the element size", inner, 16)?;
        let swizzle = map.swizzle;
        if swizzle != Swizzle::None {
            let pattern = 8 * swizzle.row_bytes();
            aligned("the shared address of a swizzled TMA box", to.into(), pattern)?;
        }
        let (bytes, runs) = (map.box_bytes(), swizzled(map.runs(at), to, swizzle));
        block.issue(thread, to, bytes, runs, Signal::Barrier { at: barrier, phase })
    });
}
