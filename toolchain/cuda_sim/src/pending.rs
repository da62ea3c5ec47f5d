// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asynchronous copies under way, and what waits for them.

use crate::clock::Agent;
use crate::site::Site;
use crate::tensor_map::ByteRun;

/// The most turns of the scheduler that a copy takes.
pub(crate) const LATENCY: u64 = 64;

/// What completes with a copy.
#[derive(Clone, Copy)]
pub(crate) enum Signal {
    /// A phase of the barrier at an address.
    Barrier { at: u32, phase: u32 },
    /// The thread's own batch.
    Own { thread: usize, batch: u32 },
}

/// A thread's `cp.async` copies: in batches, each ended by a wait or an arrival.
pub(crate) struct OwnCopies {
    /// The agent that copies; the copies of a batch are in its epoch of the batch's number.
    pub agent: Agent,
    /// The batch of the next copy. A wait, an arrival or a commit ends one.
    pub batch: u32,
    pub under_way: u32,
    /// The last batch of each group that was committed.
    pub groups: Vec<u32>,
}

/// An arrival at a barrier that waits for a thread's copies up to a batch.
pub(crate) struct Arrival {
    pub site: Site,
    pub at: u32,
    pub phase: u32,
    pub thread: usize,
    pub agent: Agent,
    pub batch: u32,
    /// How many of the copies are under way.
    pub left: u32,
}

/// A copy from global to shared memory under way.
pub(crate) struct Copy {
    pub due: u64,
    pub site: Site,
    pub to: u32,
    pub bytes: u32,
    pub runs: Vec<ByteRun>,
    pub signal: Signal,
}

/// A copy from shared to global memory under way.
pub(crate) struct Store {
    pub due: u64,
    pub site: Site,
    pub to: usize,
    pub from: u32,
    pub bytes: u32,
    pub thread: usize,
    pub group: u32,
}
