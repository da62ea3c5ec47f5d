// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counters in global memory, by which blocks wait for each other. A wait acquires what the first
//! additions released that it could have gone on after, however many more there have been.

use crate::block::{Block, State};
use crate::clock::{Knowledge, learn};
use crate::fault::{Access, FaultKind};
use crate::lane::{when, with};
use crate::memory::Memory;
use rand::RngExt;

/// A counter since the launch began.
#[derive(Debug)]
pub(crate) struct Counter {
    start: u32,
    /// The value after each addition, and what all additions up to it released.
    additions: Vec<(u32, Knowledge)>,
}

/// Whether a counter, which wraps around, has come to `value`.
fn has_come(found: u32, value: u32) -> bool {
    found.wrapping_sub(value) as i32 >= 0
}

impl Counter {
    pub fn new(start: u32) -> Self {
        Self { start, additions: Vec::new() }
    }

    fn value(&self) -> u32 {
        self.additions.last().map_or(self.start, |(value, _)| *value)
    }

    fn add(&mut self, value: u32, mut knowledge: Knowledge) -> u32 {
        if let Some((_, before)) = self.additions.last() {
            learn(&mut knowledge, before);
        }
        let sum = self.value().wrapping_add(value);
        self.additions.push((sum, knowledge));
        sum
    }

    /// What one acquires who waits until the counter has come to `value`; none if it has not.
    fn acquired(&self, value: u32) -> Option<Knowledge> {
        if has_come(self.start, value) {
            return Some(Knowledge::default());
        }
        let first = self.additions.iter().find(|(sum, _)| has_come(*sum, value));
        first.map(|(_, knowledge)| knowledge.clone())
    }
}

impl Memory {
    fn has_come(&self, at: usize, value: u32) -> bool {
        self.counters.get(&at).is_some_and(|counter| has_come(counter.value(), value))
    }
}

impl Block<'_> {
    /// The counter at an address.
    fn counter(&mut self, thread: usize, at: usize) -> Result<&mut Counter, FaultKind> {
        self.memory.aligned("the address of a counter", at, 4)?;
        self.check_previous(thread, at, 4, Access::Write)?;
        // Others may go on where blocks meet.
        self.preempted |= self.random.random_ratio(1, 4);
        self.memory.counter(at)
    }

    /// Lets threads go on whose counters have come far enough.
    pub fn wake_counting(&mut self) {
        for thread in 0..self.threads.len() {
            if let State::Counter { at, value } = self.threads[thread].state
                && self.memory.has_come(at, value)
            {
                self.set_state(thread, State::Ready);
            }
        }
    }

    /// What one who waits for a counter waits for.
    pub fn describe_counter(&mut self, at: usize, value: u32) -> String {
        let place = self.memory.writable_place(at).expect("checked when the wait began");
        let found = self.memory.counters[&at].value();
        format!("the counter at {place} to come to {value}; it is {found}")
    }
}

/// `red.release.gpu.global.add.u32`.
#[track_caller]
pub fn add_release(at: *mut u32, value: u32) {
    with(|block, thread| {
        let knowledge = block.threads[thread].clock.knowledge(block.index);
        let sum = block.counter(thread, at as usize)?.add(value, knowledge);
        block.memory.fill(at as usize, &sum.to_ne_bytes());
        block.tick(thread);
        block.wake_counting();
        Ok(())
    });
}

/// `ld.acquire.gpu.global.u32` until the counter has come to `value`.
#[track_caller]
pub fn wait_at_least(at: *const u32, value: u32) {
    when(|block, thread| {
        if block.config.blocks > 1 && !block.config.cooperative {
            return Err(FaultKind::NotCooperative);
        }
        let at = at as usize;
        let Some(knowledge) = block.counter(thread, at)?.acquired(value) else {
            block.set_state(thread, State::Counter { at, value });
            return Ok(None);
        };
        let index = block.index;
        block.threads[thread].clock.acquire(index, &knowledge);
        Ok(Some(()))
    });
}
