// SPDX-License-Identifier: MIT OR Apache-2.0
//! Indices of a thread in its block and of the block in the grid, and the block's barrier.

use crate::block::{Block, State};
use crate::lane::{when, with};

/// An index along each dimension, of which x goes first.
fn split(index: u32, x: u32, y: u32) -> [u32; 3] {
    [index % x, index / x % y, index / x / y]
}

fn thread_idx(block: &Block<'_>, thread: usize) -> [u32; 3] {
    split(thread as u32, block.config.threads, block.config.threads_yz[0])
}

fn block_idx(block: &Block<'_>, _: usize) -> [u32; 3] {
    split(block.index, block.config.blocks, block.config.blocks_yz[0])
}

fn block_dim(block: &Block<'_>, _: usize) -> [u32; 3] {
    let [y, z] = block.config.threads_yz;
    [block.config.threads, y, z]
}

fn grid_dim(block: &Block<'_>, _: usize) -> [u32; 3] {
    let [y, z] = block.config.blocks_yz;
    [block.config.blocks, y, z]
}

/// `%tid`, `%ctaid`, `%ntid` and `%nctaid`.
pub(crate) fn indices(block: &Block<'_>, thread: usize) -> [[u32; 3]; 4] {
    [thread_idx, block_idx, block_dim, grid_dim].map(|of| of(block, thread))
}

macro_rules! registers {
    ($($register:literal $name:ident: $of:ident $dimension:literal;)*) => {$(
        #[doc = concat!("`%", $register, "`.")]
        #[must_use]
        #[track_caller]
        pub fn $name() -> u32 {
            with(|block, thread| Ok($of(block, thread)[$dimension]))
        }
    )*};
}
registers! {
    "tid.x" thread_idx_x: thread_idx 0;
    "tid.y" thread_idx_y: thread_idx 1;
    "tid.z" thread_idx_z: thread_idx 2;
    "ctaid.x" block_idx_x: block_idx 0;
    "ctaid.y" block_idx_y: block_idx 1;
    "ctaid.z" block_idx_z: block_idx 2;
    "ntid.x" block_dim_x: block_dim 0;
    "ntid.y" block_dim_y: block_dim 1;
    "ntid.z" block_dim_z: block_dim 2;
    "nctaid.x" grid_dim_x: grid_dim 0;
    "nctaid.y" grid_dim_y: grid_dim 1;
    "nctaid.z" grid_dim_z: grid_dim 2;
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
    arrive(0);
}

/// `bar.red.popc.u32`.
#[must_use]
#[track_caller]
pub fn sync_threads_count(predicate: u32) -> u32 {
    arrive(predicate)
}

/// `bar.red.and.pred`.
#[must_use]
#[track_caller]
pub fn sync_threads_and(predicate: u32) -> u32 {
    let threads = with(|block, _| Ok(block.threads.len() as u32));
    u32::from(arrive(predicate) == threads)
}

/// `bar.red.or.pred`.
#[must_use]
#[track_caller]
pub fn sync_threads_or(predicate: u32) -> u32 {
    u32::from(arrive(predicate) != 0)
}

/// Waits for the block; says how many of its threads came with a predicate that holds.
#[track_caller]
fn arrive(predicate: u32) -> u32 {
    let mut arrived = false;
    when(|block, thread| {
        if !arrived {
            arrived = true;
            block.threads[thread].operands[0] = u32::from(predicate != 0);
            block.set_state(thread, State::BlockBarrier);
            block.check_divergence(thread);
            open(block);
        }
        let thread = &block.threads[thread];
        Ok(matches!(thread.state, State::Ready).then_some(thread.results[0]))
    })
}

/// Lets all threads pass if all have arrived.
fn open(block: &mut Block<'_>) {
    let arrived = |state: &State| matches!(state, State::BlockBarrier);
    if block.threads.iter().all(|thread| arrived(&thread.state)) {
        let count = block.threads.iter().map(|thread| thread.operands[0]).sum();
        for thread in &mut block.threads {
            thread.results[0] = count;
        }
        block.synchronise(0..block.threads.len());
        block.wake(arrived);
    }
}
