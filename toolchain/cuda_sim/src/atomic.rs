// SPDX-License-Identifier: MIT OR Apache-2.0
//! Atomic numbers that lie in buffers, and fences, as the PTX memory model has them. Numbers that lie in no buffer, such as
//! static shared memory of a kernel that runs as its own code, are those of `std`: nothing is reported of them.

use crate::block::Block;
use crate::fault::FaultKind;
use crate::lane::{give_way, is_running, with};
use crate::strong::{Strength, Word};
use bytemuck::{Pod, bytes_of, bytes_of_mut};
use ptx_sim::MemoryOrder;
pub use ptx_sim::Scope;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// An order of the GPU. Fences of `SeqCst` order what those of `AcqRel` do.
fn order(order: Ordering) -> MemoryOrder {
    match order {
        Ordering::Relaxed => MemoryOrder::Relaxed,
        Ordering::Acquire => MemoryOrder::Acquire,
        Ordering::Release => MemoryOrder::Release,
        _ => MemoryOrder::AcquireRelease,
    }
}

fn word<T: Pod>(value: T) -> u64 {
    let mut word = [0; 8];
    word[..size_of::<T>()].copy_from_slice(bytes_of(&value));
    u64::from_le_bytes(word)
}

fn value<T: Pod>(word: u64) -> T {
    let mut value = T::zeroed();
    bytes_of_mut(&mut value).copy_from_slice(&word.to_le_bytes()[..size_of::<T>()]);
    value
}

/// Does something to a number of a buffer as the running lane; nothing where there is none at the address.
#[track_caller]
fn checked<T>(
    at: usize,
    mut act: impl FnMut(&mut Block<'_>, usize, Word) -> Result<T, FaultKind>,
) -> Option<T> {
    if !is_running() {
        return None;
    }
    let done = with(|block, thread| {
        let is_known = block.memory.allocation(at).is_some();
        is_known.then(|| act(block, thread, Word::Global(at))).transpose()
    });
    // Others must come on where this is what a loop waits for.
    give_way();
    done
}

/// `ld.relaxed` and `ld.acquire`, of 4 or 8 bytes.
///
/// # Safety
/// There is a number at the address, which others access by atomic operations only, or the address is that of a buffer.
#[must_use]
#[track_caller]
pub unsafe fn load<T: Pod>(at: *const T, ordering: Ordering, scope: Scope) -> T {
    let strength = Strength { order: order(ordering), scope };
    let mut read = T::zeroed();
    let done = checked(at as usize, |block, thread, word| {
        block.atomic_load(thread, word, bytes_of_mut(&mut read), strength)
    });
    if done.is_none() {
        // SAFETY: as the caller promises.
        return value(unsafe {
            match size_of::<T>() {
                4 => AtomicU32::from_ptr(at.cast_mut().cast()).load(ordering).into(),
                _ => AtomicU64::from_ptr(at.cast_mut().cast()).load(ordering),
            }
        });
    }
    read
}

/// `st.relaxed` and `st.release`, of 4 or 8 bytes.
///
/// # Safety
/// As [`load`].
#[track_caller]
pub unsafe fn store<T: Pod>(at: *mut T, new: T, ordering: Ordering, scope: Scope) {
    let strength = Strength { order: order(ordering), scope };
    let done = checked(at as usize, |block, thread, word| {
        block.atomic_store(thread, word, bytes_of(&new), strength)
    });
    if done.is_none() {
        // SAFETY: as the caller promises.
        unsafe {
            match size_of::<T>() {
                4 => AtomicU32::from_ptr(at.cast()).store(word(new) as u32, ordering),
                _ => AtomicU64::from_ptr(at.cast()).store(word(new), ordering),
            }
        }
    }
}

/// `atom`, of 4 or 8 bytes: sets the number to what the function makes of it, if it makes something, and gives the one
/// before.
///
/// # Safety
/// As [`load`].
#[track_caller]
pub unsafe fn update<T: Pod>(
    at: *mut T,
    ordering: Ordering,
    scope: Scope,
    new: impl Fn(T) -> Option<T>,
) -> T {
    let strength = Strength { order: order(ordering), scope };
    let new = |before: u64| new(value(before)).map(word);
    let before = checked(at as usize, |block, thread, word| {
        block.atomic_update(thread, word, size_of::<T>(), strength, &new)
    });
    let before = before.unwrap_or_else(|| {
        let read = match ordering {
            Ordering::Release => Ordering::Relaxed,
            Ordering::AcqRel => Ordering::Acquire,
            other => other,
        };
        // SAFETY: as the caller promises.
        unsafe {
            match size_of::<T>() {
                4 => {
                    let new = |before: u32| new(before.into()).map(|new| new as u32);
                    let done = AtomicU32::from_ptr(at.cast()).fetch_update(ordering, read, new);
                    done.unwrap_or_else(|before| before).into()
                }
                _ => {
                    let done = AtomicU64::from_ptr(at.cast()).fetch_update(ordering, read, new);
                    done.unwrap_or_else(|before| before)
                }
            }
        }
    });
    value(before)
}

/// `fence` and `membar`. It orders nothing where it is relaxed.
#[track_caller]
pub fn fence(ordering: Ordering, scope: Scope) {
    if ordering == Ordering::Relaxed {
        return;
    }
    if !is_running() {
        return std::sync::atomic::fence(ordering);
    }
    with(|block, thread| {
        block.fence(thread, Strength { order: order(ordering), scope });
        Ok(())
    });
}
