// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asynchronous copies from global to shared memory. Rules are checked when a copy is issued; its
//! data is read and written when it completes, at a random time.

use crate::block::{Block, State};
use crate::fault::{FaultKind, Site};
use crate::lane::{when, with};
use crate::shadow::Event;
use crate::shared::aligned;
pub use crate::store::{bulk_store, commit_stores, fence_shared, wait_stores_read};
use crate::tensor_map::Run;
use rand::RngExt;

/// The most turns of the scheduler that a copy takes.
pub(crate) const LATENCY: u64 = 64;

/// What completes with a copy.
#[derive(Clone, Copy)]
enum Signal {
    /// A phase of the barrier at an address.
    Barrier { at: u32, phase: u32 },
    /// A thread's own wait.
    Thread(usize),
}

/// A copy under way.
pub(crate) struct Copy {
    due: u64,
    site: Site,
    to: u32,
    bytes: u32,
    runs: Vec<Run>,
    signal: Signal,
}

impl Block<'_> {
    fn issue(
        &mut self,
        thread: usize,
        to: u32,
        bytes: u32,
        runs: Vec<Run>,
        signal: Signal,
    ) -> Result<(), FaultKind> {
        let (agent, epoch) = match signal {
            Signal::Barrier { at, phase } => (self.barriers[&at].agent, phase + 1),
            Signal::Thread(thread) => {
                let (agent, _) = self.threads[thread].own_copies.expect("set by the caller");
                (agent, self.threads[thread].clock.at(agent) + 1)
            }
        };
        for run in &runs {
            if let Some(source) = run.source {
                self.check_previous(thread, source)?;
            }
        }
        let site = self.site(thread);
        let event = Event { site, agent, epoch, asynchronous: true };
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
                Signal::Thread(thread) => {
                    let own_copies = self.threads[thread].own_copies.as_mut();
                    let (_, under_way) = own_copies.expect("set when the copy was issued");
                    *under_way -= 1;
                    if *under_way == 0 && matches!(self.threads[thread].state, State::OwnCopies) {
                        self.set_state(thread, State::Ready);
                    }
                }
            }
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
        if let Some(site) = self.copies.iter().map(|copy| copy.site).chain(stores).next() {
            self.fail_at(site, FaultKind::Unfinished);
        }
    }
}

fn run(from: *const u8, bytes: u32) -> Vec<Run> {
    vec![Run { bytes: 0..bytes as usize, source: Some(from as usize) }]
}

/// `cp.async.cg.shared.global 16`.
#[track_caller]
pub fn async_16(to: u32, from: *const u8) {
    with(|block, thread| {
        aligned("the shared address of a cp.async of 16 bytes", to.into(), 16)?;
        block.memory.aligned("the source of a cp.async of 16 bytes", from as usize, 16)?;
        let (agent, under_way) = match block.threads[thread].own_copies {
            Some(own_copies) => own_copies,
            None => (block.new_agent(), 0),
        };
        block.threads[thread].own_copies = Some((agent, under_way + 1));
        block.issue(thread, to, 16, run(from, 16), Signal::Thread(thread))
    });
}

/// `cp.async.wait_all`.
#[track_caller]
pub fn async_wait_all() {
    when(|block, thread| match block.threads[thread].own_copies {
        Some((_, 1..)) => {
            block.set_state(thread, State::OwnCopies);
            Ok(None)
        }
        Some((agent, 0)) => {
            block.threads[thread].clock.tick(agent);
            Ok(Some(()))
        }
        None => Ok(Some(())),
    });
}

/// `cp.async.bulk.shared::cluster.global.mbarrier`.
#[track_caller]
pub fn bulk(to: u32, from: *const u8, bytes: u32, barrier: u32) {
    with(|block, thread| {
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
        aligned("the shared address of a TMA box", to.into(), 128)?;
        let phase = block.barrier_of_copy(thread, barrier)?.phase;
        let map = block.memory.map_at(map as usize)?;
        if map.dims.len() != at.len() {
            let (map, copy) = (map.dims.len(), at.len());
            return Err(FaultKind::Dimensions { map, copy });
        }
        let inner = i64::from(at[0]) * i64::from(map.element_bytes);
        aligned("a TMA box's inner coordinate times the element size", inner, 16)?;
        let (bytes, runs) = (map.box_bytes(), map.runs(at));
        block.issue(thread, to, bytes, runs, Signal::Barrier { at: barrier, phase })
    });
}
