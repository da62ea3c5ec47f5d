// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asynchronous copies. Blocks have 128 threads and 1,024 bytes of dynamic shared memory.

use cuda_std::shared::Shared;
use cuda_std::{barrier, copy, kernel, shared, thread};

/// Where a block's numbers begin, so that all of them are there.
fn first(n: u32) -> u32 {
    (thread::block_idx_x() * 128).min(n - 128) / 4 * 4
}

/// Writes what a thread has at its place.
///
/// # Safety
/// The place is there.
unsafe fn store(output: *mut f32, n: u32, bits: u32) {
    let i = thread::index_1d();
    if i < n {
        // SAFETY: as the caller promises.
        unsafe { *output.add(i as usize) = f32::from_bits(bits) };
    }
}

/// A barrier at `at` that one arrival completes, which all threads know.
///
/// # Safety
/// All threads of the block, at 8 free bytes.
unsafe fn one_arrival(at: Shared, fenced: bool) {
    // SAFETY: as the caller promises.
    unsafe {
        if thread::thread_idx_x() == 0 {
            barrier::init(at, 1);
            if fenced {
                barrier::fence_init();
            }
        }
        thread::sync_threads();
    }
}

/// Copies of each thread that nobody waits for.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_32(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let thread = thread::thread_idx_x();
    // SAFETY: places for all; waited for, if nothing is wrong.
    unsafe {
        let tile = shared::dynamic();
        if thread < 32 {
            let from = input.add((first(n) + 4 * thread) as usize).cast();
            copy::async_16(tile.offset(16 * thread), from); // fault 32
            if wrong == 0 {
                copy::async_wait_all();
            }
        }
        thread::sync_threads();
        let bits = shared::load(tile.offset(4 * thread)); // fault 32
        if wrong != 0 && thread < 32 {
            copy::async_wait_all();
        }
        store(output, n, bits);
    }
}

/// A copy from an address that is no multiple of 16.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_33(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let thread = thread::thread_idx_x();
    // SAFETY: places for all; aligned, if nothing is wrong.
    unsafe {
        let tile = shared::dynamic();
        if thread < 32 {
            let shift = if wrong != 0 { 1 } else { 0 };
            let from =
                input.add((first(n) + 4 * thread) as usize - shift * (thread.min(1) as usize));
            copy::async_16(tile.offset(16 * thread), from.cast()); // fault 33
            copy::async_wait_all();
        }
        thread::sync_threads();
        store(output, n, shared::load(tile.offset(4 * thread)));
    }
}

/// A bulk copy whose bytes nobody has announced to its barrier.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_34(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let thread = thread::thread_idx_x();
    // SAFETY: places for all; announced, if nothing is wrong.
    unsafe {
        let (tile, full) = (shared::dynamic(), shared::dynamic().offset(512));
        one_arrival(full, true);
        if thread == 0 {
            copy::bulk(tile, input.add(first(n) as usize).cast(), 512, full); // fault 34
            if wrong != 0 {
                barrier::arrive(full);
            } else {
                barrier::arrive_expect(full, 512);
            }
        }
        barrier::wait(full, 0); // fault 34
        store(output, n, shared::load(tile.offset(4 * thread))); // fault 34
    }
}

/// A barrier that the copy engine may not see.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_35(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let thread = thread::thread_idx_x();
    // SAFETY: places for all; fenced, if nothing is wrong.
    unsafe {
        let (tile, full) = (shared::dynamic(), shared::dynamic().offset(512));
        one_arrival(full, wrong == 0);
        if thread == 0 {
            barrier::arrive_expect(full, 512);
            copy::bulk(tile, input.add(first(n) as usize).cast(), 512, full); // fault 35
        }
        barrier::wait(full, 0);
        store(output, n, shared::load(tile.offset(4 * thread)));
    }
}

/// Numbers that ordinary stores wrote, and that the copy engine need not see.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_36(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let (i, thread) = (thread::index_1d(), thread::thread_idx_x());
    // SAFETY: places for all; fenced, if nothing is wrong.
    unsafe {
        let tile = shared::dynamic();
        shared::store(tile.offset(4 * thread), (*input.add((i % n) as usize)).to_bits()); // fault 36
        if wrong == 0 {
            copy::fence_shared();
        }
        thread::sync_threads();
        if thread == 0 {
            let bytes = (4 * (n - i)).min(512);
            copy::bulk_store(output.add(i as usize).cast(), tile, bytes); // fault 36
            copy::commit_stores();
            copy::wait_stores_read::<0>();
        }
    }
}

/// A tile that is written again while it is still being copied.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_37(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let (i, thread) = (thread::index_1d(), thread::thread_idx_x());
    // SAFETY: places for all; waited for, if nothing is wrong.
    unsafe {
        let tile = shared::dynamic();
        shared::store(tile.offset(4 * thread), (*input.add((i % n) as usize)).to_bits());
        copy::fence_shared();
        thread::sync_threads();
        if thread == 0 {
            let bytes = (4 * (n - i)).min(512);
            copy::bulk_store(output.add(i as usize).cast(), tile, bytes); // fault 37
            copy::commit_stores();
            if wrong == 0 {
                copy::wait_stores_read::<0>();
            }
            shared::store(tile, 0); // fault 37
            copy::wait_stores_read::<0>();
        }
    }
}

/// A wait for a phase that never completes.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_38(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let thread = thread::thread_idx_x();
    // SAFETY: places for all; the phase that the copy completes, if nothing is wrong.
    unsafe {
        let (tile, full) = (shared::dynamic(), shared::dynamic().offset(512));
        one_arrival(full, true);
        if thread == 0 {
            // Half of it is never copied.
            let bytes = if wrong != 0 { 1024 } else { 512 };
            barrier::arrive_expect(full, bytes);
            copy::bulk(tile, input.add(first(n) as usize).cast(), 512, full);
        }
        barrier::wait(full, 0); // fault 38
        store(output, n, shared::load(tile.offset(4 * thread)));
    }
}
