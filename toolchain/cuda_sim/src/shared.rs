// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads and stores of shared memory: checked for bounds, alignment, unwritten bytes and races.

use crate::fault::aligned;
use crate::lane::with;
use crate::statics::Static;
use std::alloc::Layout;

/// Start of the dynamic shared memory.
#[must_use]
#[track_caller]
pub fn dynamic() -> u32 {
    with(|_, _| Ok(0))
}

/// `ld.shared.b32`.
#[must_use]
#[track_caller]
pub fn load(at: u32) -> u32 {
    with(|block, thread| {
        aligned("the shared address of a 4-byte load", at.into(), 4)?;
        let event = block.event(thread);
        let bytes: [u8; 4] = block.shared.read(at, event, &block.threads[thread].clock)?;
        Ok(u32::from_ne_bytes(bytes))
    })
}

/// `ld.shared.v2.b32`.
#[must_use]
#[track_caller]
pub fn load_v2(at: u32) -> [u32; 2] {
    with(|block, thread| {
        aligned("the shared address of an 8-byte load", at.into(), 8)?;
        let event = block.event(thread);
        let bytes: [u8; 8] = block.shared.read(at, event, &block.threads[thread].clock)?;
        Ok(bytemuck::cast(bytes))
    })
}

/// `ld.shared.v4.b32`.
#[must_use]
#[track_caller]
pub fn load_v4(at: u32) -> [u32; 4] {
    with(|block, thread| {
        aligned("the shared address of a 16-byte load", at.into(), 16)?;
        let event = block.event(thread);
        let bytes: [u8; 16] = block.shared.read(at, event, &block.threads[thread].clock)?;
        Ok(bytemuck::cast(bytes))
    })
}

/// `ld.shared.v4.b32` under a predicate.
#[must_use]
#[track_caller]
pub fn load_v4_if(wanted: u32, at: u32) -> [u32; 4] {
    if wanted == 0 { [0; 4] } else { load_v4(at) }
}

/// `st.shared.v4.b32`.
#[track_caller]
pub fn store_v4(at: u32, words: [u32; 4]) {
    with(|block, thread| {
        aligned("the shared address of a 16-byte store", at.into(), 16)?;
        let event = block.event(thread);
        block.check_sums(thread, bytemuck::bytes_of(&words))?;
        let clock = &block.threads[thread].clock;
        block.shared.write(at, bytemuck::bytes_of(&words), event, clock)
    });
}

/// `st.shared.v2.b32`.
#[track_caller]
pub fn store_v2(at: u32, words: [u32; 2]) {
    with(|block, thread| {
        aligned("the shared address of an 8-byte store", at.into(), 8)?;
        let event = block.event(thread);
        block.check_sums(thread, bytemuck::bytes_of(&words))?;
        let clock = &block.threads[thread].clock;
        block.shared.write(at, bytemuck::bytes_of(&words), event, clock)
    });
}

/// `st.shared.b32`.
#[track_caller]
pub fn store(at: u32, word: u32) {
    with(|block, thread| {
        aligned("the shared address of a 4-byte store", at.into(), 4)?;
        let event = block.event(thread);
        block.check_sums(thread, &word.to_ne_bytes())?;
        block.shared.write(at, &word.to_ne_bytes(), event, &block.threads[thread].clock)
    });
}

/// Where the running block has the static of this symbol.
#[must_use]
#[track_caller]
pub fn static_shared(symbol: &'static str, layout: Layout) -> *mut u8 {
    with(|block, _| {
        if !block.statics.contains_key(symbol) {
            let before: usize = block.statics.values().map(Static::bytes).sum();
            block.check_static_shared(before + layout.size())?;
            block.statics.insert(symbol, Static::new(layout));
        }
        Ok(block.statics[symbol].start())
    })
}
