// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asynchronous copies from shared to global memory. Rules are checked when a copy is issued; its
//! data is read and written when it completes, at a random time. That ordinary stores have been
//! fenced before (`fence.proxy.async`) is not checked.

use crate::block::{Block, State};
use crate::copy::LATENCY;
use crate::fault::Site;
use crate::lane::{when, with};
use crate::shadow::Event;
use crate::shared::aligned;
use rand::RngExt;

/// A copy under way.
pub(crate) struct Store {
    pub due: u64,
    pub site: Site,
    to: usize,
    from: u32,
    bytes: u32,
    thread: usize,
}

impl Block<'_> {
    /// Completes the copies whose time has come.
    pub fn run_stores(&mut self) {
        while let Some(next) = self.stores.iter().position(|store| store.due <= self.time) {
            let store = self.stores.swap_remove(next);
            let data = self.shared.copy_out(store.from, store.bytes);
            self.memory.fill(store.to, &data);
            let own_stores = self.threads[store.thread].own_stores.as_mut();
            let (_, under_way) = own_stores.expect("set when the copy was issued");
            *under_way -= 1;
            if *under_way == 0 && matches!(self.threads[store.thread].state, State::OwnStores) {
                self.set_state(store.thread, State::Ready);
            }
        }
    }
}

/// `cp.async.bulk.global.shared::cta.bulk_group`.
#[track_caller]
pub fn bulk_store(to: *mut u8, from: u32, bytes: u32) {
    with(|block, thread| {
        block.memory.aligned("the target of a bulk copy", to as usize, 16)?;
        aligned("the shared address of a bulk copy", from.into(), 16)?;
        aligned("the size of a bulk copy", bytes.into(), 16)?;
        let (agent, under_way) = match block.threads[thread].own_stores {
            Some(own_stores) => own_stores,
            None => (block.new_agent(), 0),
        };
        block.threads[thread].own_stores = Some((agent, under_way + 1));
        let site = block.site(thread);
        let clock = &block.threads[thread].clock;
        let event = Event { site, agent, epoch: clock.at(agent) + 1, asynchronous: true };
        block.shared.check_read(from, bytes, event, clock)?;
        block.memory.reserve(to as usize, bytes as usize, event, clock)?;
        let due = block.time + block.random.random_range(1..=LATENCY);
        block.stores.push(Store { due, site, to: to as usize, from, bytes, thread });
        Ok(())
    });
}

/// `cp.async.bulk.commit_group` and `cp.async.bulk.wait_group.read 0`.
#[track_caller]
pub fn wait_stored_read() {
    when(|block, thread| match block.threads[thread].own_stores {
        Some((_, 1..)) => {
            block.set_state(thread, State::OwnStores);
            Ok(None)
        }
        Some((agent, 0)) => {
            block.threads[thread].clock.tick(agent);
            Ok(Some(()))
        }
        None => Ok(Some(())),
    });
}

/// `fence.proxy.async.shared::cta`.
pub fn fence_shared() {}
