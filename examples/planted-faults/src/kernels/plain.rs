// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ordinary Rust: pointers, slices, references.

use cuda_std::{kernel, thread};

/// Stores beyond the output.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_01(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let i = thread::index_1d();
    // SAFETY: a place for each thread, if nothing is wrong.
    unsafe {
        if i < n || wrong != 0 {
            *output.add(i as usize) = 2.0 * *input.add((i % n) as usize); // fault 1
        }
    }
}

/// Reads beyond the input: the neighbour of the last number.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_02(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let i = thread::index_1d();
    // SAFETY: a place for each thread, if nothing is wrong.
    unsafe {
        if i < n {
            let right = if i + 1 < n || wrong != 0 { i + 1 } else { i };
            let sum = *input.add(i as usize) + *input.add(right as usize); // fault 2
            *output.add(i as usize) = sum;
        }
    }
}

/// Stores before the start of the output.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_03(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let i = thread::index_1d() as i32;
    // SAFETY: a place for each thread, if nothing is wrong.
    unsafe {
        if i < n as i32 {
            let at = if wrong != 0 { i - 4 } else { i };
            *output.offset(at as isize) = *input.add(i as usize); // fault 3
        }
    }
}

/// An index beyond a slice.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_04(input: &[f32], output: &mut [f32], n: u32, wrong: u32) {
    let i = thread::index_1d();
    if i < n || wrong != 0 {
        output[i as usize] = input[(i % n) as usize]; // fault 4
    }
}

/// A store at an address that is no multiple of four.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_05(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let i = thread::index_1d();
    // SAFETY: a place for each thread, if nothing is wrong.
    unsafe {
        if i < n - 1 {
            let to = output.byte_add(if wrong != 0 { 2 } else { 0 }).add(i as usize);
            *to = *input.add(i as usize); // fault 5
        } else if i < n {
            *output.add(i as usize) = 0.0;
        }
    }
}

/// A load from nowhere.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_06(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let i = thread::index_1d();
    // SAFETY: a place for each thread, if nothing is wrong.
    unsafe {
        if i < n {
            let from = core::hint::black_box(if wrong != 0 { 64 as *const f32 } else { input });
            *output.add(i as usize) = *from.add(i as usize); // fault 6
        }
    }
}

/// Adds to an output that nothing has written.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_07(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let i = thread::index_1d() as usize;
    // SAFETY: a place for each thread.
    unsafe {
        if i < n as usize {
            if wrong == 0 {
                *output.add(i) = 0.0;
            }
            let sum = output.add(i).read_volatile(); // fault 7
            *output.add(i) = sum + *input.add(i);
        }
    }
}

/// Leaves the last number unwritten, which the host reads.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_08(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let i = thread::index_1d();
    let end = if wrong != 0 { n - 1 } else { n };
    // SAFETY: a place for each thread.
    unsafe {
        if i < end {
            *output.add(i as usize) = *input.add(i as usize);
        }
    }
}

/// Threads of different blocks write the same number.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_09(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let (i, thread) = (thread::index_1d(), thread::thread_idx_x());
    // SAFETY: a place for each thread, if nothing is wrong.
    unsafe {
        if i < n {
            let at = if wrong != 0 { thread } else { i };
            *output.add(at as usize) = *input.add(i as usize); // fault 9
        }
        if wrong != 0 && i < n {
            // So that all are written, and only the race is left.
            *output.add(i as usize) = 1.0; // fault 9
        }
    }
}

/// Neighbours are updated in place, in no order.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_10(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let i = thread::index_1d();
    // SAFETY: a place for each thread, if nothing is wrong.
    unsafe {
        if i < n {
            *output.add(i as usize) = *input.add(i as usize); // fault 10
            if wrong != 0 && i > 0 {
                let left = *output.add(i as usize - 1); // fault 10
                *output.add(i as usize) = left; // fault 10
            }
        }
    }
}

/// An array of the thread's own, indexed without a check.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_11(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let i = thread::index_1d();
    // SAFETY: a place for each thread, and in the array, if nothing is wrong.
    unsafe {
        if i < n {
            let mut own = [0.0f32; 8];
            for (at, own) in own.iter_mut().enumerate() {
                *own = *input.add((i as usize + at) % n as usize);
            }
            let at = if wrong != 0 { 4096 + i } else { i % 8 };
            let own = core::hint::black_box(&mut own);
            *output.add(i as usize) = *own.as_ptr().add(at as usize); // fault 11
        }
    }
}

/// A step that is 0: the loop has no end.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_12(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let step = if wrong != 0 { 0 } else { thread::block_dim_x() * thread::grid_dim_x() };
    let mut i = thread::index_1d();
    // SAFETY: places that no other thread has.
    unsafe {
        while i < n {
            let value = input.add(i as usize).read_volatile(); // fault 12
            output.add(i as usize).write_volatile(value); // fault 12
            i += step; // fault 12
        }
    }
}
