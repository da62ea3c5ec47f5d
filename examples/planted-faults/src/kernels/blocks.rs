// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads of a block, which exchange numbers through shared memory. Blocks have 128 threads.

use cuda_std::{kernel, shared, shared_array, thread};

/// A block's numbers in reverse, without a barrier between writing and reading.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_13(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let (i, thread) = (thread::index_1d(), thread::thread_idx_x() as usize);
    let tile = shared_array![f32; 128];
    // SAFETY: a place for each thread; the barrier, if it is there.
    unsafe {
        *tile.add(thread) = *input.add((i % n) as usize); // fault 13
        if wrong == 0 {
            thread::sync_threads();
        }
        let other = *tile.add(127 - thread); // fault 13
        if i < n {
            *output.add(i as usize) = other;
        }
    }
}

/// A tile that is used twice, without a barrier before it is written again.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_14(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let (i, thread) = (thread::index_1d(), thread::thread_idx_x() as usize);
    let tile = shared_array![f32; 128];
    let mut sum = 0.0;
    // SAFETY: a place for each thread; the barriers, if they are there.
    unsafe {
        for round in 0..2 {
            *tile.add(thread) = *input.add(((i + round) % n) as usize); // fault 14
            thread::sync_threads();
            sum += *tile.add((thread + 1) % 128); // fault 14
            if wrong == 0 {
                thread::sync_threads();
            }
        }
        if i < n {
            *output.add(i as usize) = sum;
        }
    }
}

/// A store beyond an array of shared memory.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_15(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let (i, thread) = (thread::index_1d(), thread::thread_idx_x() as usize);
    let tile = shared_array![f32; 128];
    // SAFETY: a place for each thread, if nothing is wrong.
    unsafe {
        let at = if wrong != 0 { thread + 16384 } else { thread };
        *tile.add(at) = *input.add((i % n) as usize); // fault 15
        thread::sync_threads();
        if i < n {
            *output.add(i as usize) = *tile.add(thread);
        }
    }
}

/// A read that leads from one array of shared memory to the one after it.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_16(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let (i, thread) = (thread::index_1d(), thread::thread_idx_x() as usize);
    let (tile, weights) = (shared_array![f32; 129], shared_array![f32; 129]);
    // SAFETY: a place for each thread, if nothing is wrong.
    unsafe {
        *tile.add(thread) = *input.add((i % n) as usize);
        *weights.add(thread) = 0.5;
        if thread == 0 {
            *tile.add(128) = 0.0;
            *weights.add(128) = 0.0;
        }
        thread::sync_threads();
        let right = if wrong != 0 { thread + 2 } else { thread + 1 };
        let sum = *weights.add(thread) * *tile.add(right); // fault 16
        if i < n {
            *output.add(i as usize) = sum;
        }
    }
}

/// A number of shared memory that nobody writes.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_17(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let (i, thread) = (thread::index_1d(), thread::thread_idx_x() as usize);
    let tile = shared_array![f32; 129];
    // SAFETY: places in the array.
    unsafe {
        *tile.add(thread) = *input.add((i % n) as usize);
        if thread == 0 && wrong == 0 {
            *tile.add(128) = 0.0;
        }
        thread::sync_threads();
        let right = *tile.add(thread + 1); // fault 17
        if i < n {
            *output.add(i as usize) = right;
        }
    }
}

/// A barrier in a branch that only half of the block takes.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_18(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let (i, thread) = (thread::index_1d(), thread::thread_idx_x());
    // SAFETY: a place for each thread.
    unsafe {
        if i < n {
            *output.add(i as usize) = *input.add(i as usize);
        }
        if wrong == 0 || thread < 64 {
            thread::sync_threads(); // fault 18
        }
    }
}

/// Threads without work return before a barrier.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_19(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let i = thread::index_1d();
    if wrong != 0 && i >= n {
        return;
    }
    // SAFETY: a place for each thread.
    unsafe {
        if i < n {
            *output.add(i as usize) = *input.add(i as usize);
        }
    }
    thread::sync_threads(); // fault 19
}

/// A histogram whose bins several threads change at once.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_20(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let (i, thread) = (thread::index_1d(), thread::thread_idx_x());
    let at = shared_array![u32; 128];
    // SAFETY: places in the array; only one thread at a time, if nothing is wrong.
    unsafe {
        *at.add(thread as usize) = 0;
        thread::sync_threads();
        let bin = if wrong != 0 { thread / 4 } else { thread } as usize;
        *at.add(bin) += 1; // fault 20
        thread::sync_threads();
        if i < n {
            let count = *at.add(thread as usize) as f32;
            *output.add(i as usize) = count + *input.add(i as usize);
        }
    }
}

/// Dynamic shared memory, of which the launch gives less than the kernel takes.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses. The launch has 512 bytes of dynamic shared memory.
#[kernel]
pub unsafe fn fault_21(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let (i, thread) = (thread::index_1d(), thread::thread_idx_x());
    // SAFETY: a place for each thread, if nothing is wrong.
    unsafe {
        let stride = if wrong != 0 { 1024 } else { 4 };
        let at = shared::dynamic().offset(thread * stride);
        shared::store(at, (*input.add((i % n) as usize)).to_bits()); // fault 21
        thread::sync_threads();
        if i < n {
            *output.add(i as usize) = f32::from_bits(shared::load(at));
        }
    }
}
