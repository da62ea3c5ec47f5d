// SPDX-License-Identifier: MIT OR Apache-2.0
//! Atomic numbers, by which blocks and threads tell each other that something is there.

use core::sync::atomic::{AtomicU32, Ordering, fence};
use cuda_std::{kernel, shared_array, thread};

/// A flag that is set and read without an order: what it stands for need not be there.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_28(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let (i, thread) = (thread::index_1d(), thread::thread_idx_x());
    let (value, flag) = (shared_array![f32; 1], shared_array![u32; 1]);
    // SAFETY: atomic, and ordered if nothing is wrong.
    unsafe {
        let flag = AtomicU32::from_ptr(flag);
        if thread == 0 {
            flag.store(0, Ordering::Relaxed);
        }
        thread::sync_threads();
        if thread == 0 {
            *value = *input.add(i as usize); // fault 28
            flag.store(1, if wrong != 0 { Ordering::Relaxed } else { Ordering::Release });
        }
        if thread == 64 {
            while flag.load(Ordering::Relaxed) == 0 {}
            if wrong == 0 {
                fence(Ordering::Acquire);
            }
            *output.add(i as usize) = *value; // fault 28
        } else if i < n {
            *output.add(i as usize) = 0.0;
        }
    }
}

/// A wait for a flag that nobody sets.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_29(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let (i, thread) = (thread::index_1d(), thread::thread_idx_x());
    let flag = shared_array![u32; 1];
    // SAFETY: atomic, but for the first store, before the barrier.
    unsafe {
        if thread == 0 {
            *flag = if wrong != 0 { 0 } else { 1 };
        }
        thread::sync_threads();
        let flag = AtomicU32::from_ptr(flag);
        while flag.load(Ordering::Acquire) == 0 {} // fault 29
        if i < n {
            *output.add(i as usize) = *input.add(i as usize);
        }
    }
}

/// A counter that some threads change by atomic instructions, and others by ordinary ones.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_30(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let (i, thread) = (thread::index_1d(), thread::thread_idx_x());
    let count = shared_array![u32; 1];
    // SAFETY: atomic, if nothing is wrong.
    unsafe {
        if thread == 0 {
            *count = 0;
        }
        thread::sync_threads();
        if wrong != 0 && thread == 64 {
            count.write_volatile(count.read() + 1); // fault 30
        } else {
            AtomicU32::from_ptr(count).fetch_add(1, Ordering::Relaxed); // fault 30
        }
        thread::sync_threads();
        if i < n {
            *output.add(i as usize) = *input.add(i as usize) + *count as f32;
        }
    }
}

/// Numbers that other threads read after a counter says that they are there, without fences around it.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_31(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let (i, thread) = (thread::index_1d(), thread::thread_idx_x());
    let (parts, count) = (shared_array![f32; 128], shared_array![u32; 1]);
    // SAFETY: ordered by the counter and the fences, if nothing is wrong.
    unsafe {
        if thread == 0 {
            *count = 0;
        }
        thread::sync_threads();
        *parts.add(thread as usize) = *input.add((i % n) as usize); // fault 31
        if wrong == 0 {
            fence(Ordering::Release);
        }
        let before = AtomicU32::from_ptr(count).fetch_add(1, Ordering::Relaxed);
        if wrong == 0 {
            fence(Ordering::Acquire);
        }
        let mut sum = 0.0;
        if before == thread::block_dim_x() - 1 {
            for part in 0..128 {
                sum += *parts.add(part); // fault 31
            }
        }
        if i < n {
            *output.add(i as usize) = sum;
        }
    }
}
