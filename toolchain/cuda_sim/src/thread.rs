// SPDX-License-Identifier: MIT OR Apache-2.0
//! Indices of a thread in its block and of the block in the grid, and the block's barrier.

use crate::block::{Block, State};
use crate::lane::{when, with};

/// `%tid.x`.
#[must_use]
#[track_caller]
pub fn thread_idx_x() -> u32 {
    with(|_, thread| Ok(thread as u32))
}

/// `%ctaid.x`.
#[must_use]
#[track_caller]
pub fn block_idx_x() -> u32 {
    with(|block, _| Ok(block.index))
}

/// `%ntid.x`.
#[must_use]
#[track_caller]
pub fn block_dim_x() -> u32 {
    with(|block, _| Ok(block.config.threads))
}

/// `%nctaid.x`.
#[must_use]
#[track_caller]
pub fn grid_dim_x() -> u32 {
    with(|block, _| Ok(block.config.blocks))
}

/// `%clock64`: what the scheduler has counted so far, which takes no time for arithmetic.
#[must_use]
#[track_caller]
pub fn clock() -> u64 {
    with(|block, _| Ok(block.time))
}

/// `bar.sync 0`.
#[track_caller]
pub fn sync_threads() {
    let mut arrived = false;
    when(|block, thread| {
        if !arrived {
            arrived = true;
            block.set_state(thread, State::BlockBarrier);
            block.check_divergence(thread);
            open(block);
        }
        Ok(matches!(block.threads[thread].state, State::Ready).then_some(()))
    });
}

/// Lets all threads pass if all have arrived.
fn open(block: &mut Block<'_>) {
    let arrived = |state: &State| matches!(state, State::BlockBarrier);
    if block.threads.iter().all(|thread| arrived(&thread.state)) {
        block.synchronise(0..block.threads.len());
        block.wake(arrived);
    }
}
