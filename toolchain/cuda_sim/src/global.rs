// SPDX-License-Identifier: MIT OR Apache-2.0
//! Global memory: checked for bounds, alignment, unwritten bytes and races, also between blocks.

use crate::clock::{Agent, Clock};
pub use crate::counter::{add_release, wait_at_least};
use crate::fault::Access;
use crate::lane::with;
use crate::shadow::Event;
use bytemuck::Pod;

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
        block.memory.aligned(what, at as usize, size_of::<T>() as u32)?;
        block.check_previous(thread, at as usize, size_of::<T>(), Access::Write)?;
        let event = block.event(thread);
        let clock = &block.threads[thread].clock;
        block.memory.store(at as usize, bytemuck::bytes_of(&value), event, clock)
    });
}
