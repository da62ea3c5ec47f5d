// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asynchronous copies from shared to global memory. Rules are checked when a copy is issued; its
//! data is read and written when it completes, at a random time.

use crate::block::{Block, State};
use crate::clock::Space;
use crate::fault::{Access, aligned};
use crate::lane::{when, with};
use crate::pending::{LATENCY, Store};
use crate::shadow::{Event, Proxy};
use crate::{Chip, OnChip as _};
use rand::RngExt;

impl Block<'_> {
    /// Completes the copies whose time has come.
    pub fn run_stores(&mut self) {
        while let Some(next) = self.stores.iter().position(|store| store.due <= self.time) {
            let store = self.stores.swap_remove(next);
            let data = self.shared.copy_out(store.from, store.bytes);
            self.memory.fill(store.to, &data);
            if let State::OwnStores(last) = self.threads[store.thread].state
                && !self.storing(store.thread, last)
            {
                self.set_state(store.thread, State::Ready);
            }
        }
    }

    /// Whether copies of a thread's groups up to `last` are under way.
    fn storing(&self, thread: usize, last: u32) -> bool {
        self.stores.iter().any(|store| store.thread == thread && store.group <= last)
    }

    /// A thread's copies as an agent, and the groups that it has committed.
    fn own_stores(&mut self, thread: usize) -> (u32, u32) {
        match self.threads[thread].own_stores {
            Some(own_stores) => own_stores,
            None => {
                let own_stores = (self.new_agent(), 0);
                self.threads[thread].own_stores = Some(own_stores);
                own_stores
            }
        }
    }
}

/// `cp.async.bulk.global.shared::cta.bulk_group`.
#[track_caller]
pub fn bulk_store(to: *mut u8, from: u32, bytes: u32) {
    with(|block, thread| {
        block.needs_sm_90("cp.async.bulk")?;
        block.memory.aligned("the target of a bulk copy", to as usize, 16)?;
        aligned("the shared address of a bulk copy", from.into(), 16)?;
        aligned("the size of a bulk copy", bytes.into(), 16)?;
        block.check_previous(thread, to as usize, bytes as usize, Access::Write)?;
        let (agent, committed) = block.own_stores(thread);
        let (site, group) = (block.site(thread), committed + 1);
        let proxy = Proxy::Async;
        let event = Event { site, agent, epoch: group, asynchronous: true, atomic: None, proxy };
        let clock = &block.threads[thread].clock;
        block.shared.check_read(from, bytes, event, clock)?;
        block.memory.reserve(to as usize, bytes as usize, event, clock)?;
        let due = block.time + block.random.random_range(1..=LATENCY);
        block.stores.push(Store { due, site, to: to as usize, from, bytes, thread, group });
        Ok(())
    });
}

/// `cp.async.bulk.commit_group`.
#[track_caller]
pub fn commit_stores() {
    with(|block, thread| {
        block.needs_sm_90("cp.async.bulk.commit_group")?;
        let (agent, committed) = block.own_stores(thread);
        block.threads[thread].own_stores = Some((agent, committed + 1));
        Ok(())
    });
}

/// `cp.async.bulk.wait_group.read`: all committed groups but the newest ones.
#[track_caller]
pub fn wait_stores_read(newest: u32) {
    when(|block, thread| {
        block.needs_sm_90("cp.async.bulk.wait_group")?;
        let (agent, committed) = block.own_stores(thread);
        let last = committed.saturating_sub(newest);
        if block.storing(thread, last) {
            block.set_state(thread, State::OwnStores(last));
            return Ok(None);
        }
        block.threads[thread].clock.raise(agent, last);
        Ok(Some(()))
    });
}

/// `fence.proxy.async.global`; nothing on chips that do not have it.
#[track_caller]
pub fn fence_global() {
    with(|block, thread| {
        if Chip::current() >= Chip::Sm90 {
            block.fence_proxy(thread, Space::Global);
        }
        Ok(())
    });
}

/// `fence.proxy.async.shared::cta`.
#[track_caller]
pub fn fence_shared() {
    with(|block, thread| {
        block.needs_sm_90("fence.proxy.async")?;
        block.fence_proxy(thread, Space::Shared);
        Ok(())
    });
}
