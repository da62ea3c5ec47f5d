// SPDX-License-Identifier: MIT OR Apache-2.0
//! Global memory: checked for bounds, alignment, unwritten bytes and races, also between blocks.

use crate::clock::{Agent, Clock};
use crate::lane::with;
use crate::shadow::Event;

/// `ld.global.nc.b32`: no thread may write the word in this launch, ordered or not.
#[must_use]
#[track_caller]
pub fn load_constant(at: *const u32) -> u32 {
    with(|block, thread| {
        block.memory.aligned("the address of a 4-byte load", at as usize, 4)?;
        block.check_previous(thread, at as usize)?;
        // An agent that nobody ever hears of, and a clock that knows nothing: any write conflicts.
        let event = Event { agent: Agent::MAX, epoch: 1, ..block.event(thread) };
        let mut bytes = [0; 4];
        block.memory.load(at as usize, &mut bytes, event, &Clock::default())?;
        Ok(u32::from_ne_bytes(bytes))
    })
}

/// `st.global.b32`.
#[track_caller]
pub fn store(at: *mut u32, word: u32) {
    with(|block, thread| {
        block.memory.aligned("the address of a 4-byte store", at as usize, 4)?;
        block.check_previous(thread, at as usize)?;
        let event = block.event(thread);
        let clock = &block.threads[thread].clock;
        block.memory.store(at as usize, &word.to_ne_bytes(), event, clock)
    });
}
