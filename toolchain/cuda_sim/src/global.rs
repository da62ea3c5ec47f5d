// SPDX-License-Identifier: MIT OR Apache-2.0
//! Global memory: checked for bounds, alignment, unwritten bytes and races, also between blocks.

use crate::block::{Block, State};
use crate::clock::{Agent, Clock};
use crate::counter::{Counter, has_come};
use crate::fault::{Access, FaultKind};
use crate::lane::{when, with};
use crate::memory::Memory;
use crate::shadow::Event;
use bytemuck::Pod;
use rand::RngExt;

/// `ld.global.nc.b32`: no thread may write the word in this launch, ordered or not.
#[must_use]
#[track_caller]
pub fn load_constant(at: *const u32) -> u32 {
    with(|block, thread| {
        block.memory.aligned("the address of a 4-byte load", at as usize, 4)?;
        block.check_previous(thread, at as usize, 4, Access::Read)?;
        // An agent that nobody ever hears of, and a clock that knows nothing: any write conflicts.
        let event = Event { agent: Agent::MAX, epoch: 1, ..block.event(thread) };
        let mut bytes = [0; 4];
        block.memory.load(at as usize, &mut bytes, event, &Clock::default())?;
        Ok(u32::from_ne_bytes(bytes))
    })
}

/// `ld.global.u8`.
#[must_use]
#[track_caller]
pub fn load_u8(at: *const u8) -> u8 {
    read("the address of a load of a byte", at)
}

/// `ld.global.b16`.
#[must_use]
#[track_caller]
pub fn load_u16(at: *const u16) -> u16 {
    read("the address of a 2-byte load", at)
}

/// `ld.global.b32`.
#[must_use]
#[track_caller]
pub fn load(at: *const u32) -> u32 {
    read("the address of a 4-byte load", at)
}

/// `ld.global.f32`.
#[must_use]
#[track_caller]
pub fn load_f32(at: *const f32) -> f32 {
    read("the address of a 4-byte load", at)
}

/// `ld.global.v2.b32`.
#[must_use]
#[track_caller]
pub fn load_v2(at: *const u32) -> [u32; 2] {
    read("the address of an 8-byte load", at.cast())
}

/// `ld.global.v4.b32`.
#[must_use]
#[track_caller]
pub fn load_v4(at: *const u32) -> [u32; 4] {
    read("the address of a 16-byte load", at.cast())
}

/// `st.global.u8`.
#[track_caller]
pub fn store_u8(at: *mut u8, byte: u8) {
    write("the address of a store of a byte", at, byte);
}

/// `st.global.b16`.
#[track_caller]
pub fn store_u16(at: *mut u16, element: u16) {
    write("the address of a 2-byte store", at, element);
}

/// `st.global.b32`.
#[track_caller]
pub fn store(at: *mut u32, word: u32) {
    write("the address of a 4-byte store", at, word);
}

/// `st.global.f32`.
#[track_caller]
pub fn store_f32(at: *mut f32, number: f32) {
    write("the address of a 4-byte store", at, number);
}

/// `st.global.v2.b32`.
#[track_caller]
pub fn store_v2(at: *mut u32, words: [u32; 2]) {
    write("the address of an 8-byte store", at.cast(), words);
}

/// `@wanted st.global.v2.b32`.
#[track_caller]
pub fn store_v2_if(wanted: bool, at: *mut u32, words: [u32; 2]) {
    if wanted {
        store_v2(at, words);
    }
}

/// `st.global.v4.b32`.
#[track_caller]
pub fn store_v4(at: *mut u32, words: [u32; 4]) {
    write("the address of a 16-byte store", at.cast(), words);
}

/// A load of a value that is aligned to its size.
#[track_caller]
fn read<T: Pod>(what: &'static str, at: *const T) -> T {
    with(|block, thread| {
        block.memory.aligned(what, at as usize, size_of::<T>() as u32)?;
        block.check_previous(thread, at as usize, size_of::<T>(), Access::Read)?;
        let event = block.event(thread);
        let mut value = T::zeroed();
        let bytes = bytemuck::bytes_of_mut(&mut value);
        block.memory.load(at as usize, bytes, event, &block.threads[thread].clock)?;
        Ok(value)
    })
}

/// A store of a value that is aligned to its size.
#[track_caller]
fn write<T: Pod>(what: &'static str, at: *mut T, value: T) {
    with(|block, thread| {
        block.check_sums(thread, bytemuck::bytes_of(&value))?;
        block.memory.aligned(what, at as usize, size_of::<T>() as u32)?;
        block.check_previous(thread, at as usize, size_of::<T>(), Access::Write)?;
        let event = block.event(thread);
        let clock = &block.threads[thread].clock;
        block.memory.store(at as usize, bytemuck::bytes_of(&value), event, clock)
    });
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
        if block.config.blocks_of_grid() > 1 && !block.config.cooperative {
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
