// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tensor cores: products of one warp. Blocks have 128 threads.

use cuda_std::{kernel, matrix, mma, shared, thread, warp};

/// A product of which the upper half of D is not stored, and that the host reads.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_39(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let (i, lane) = (thread::index_1d(), warp::lane_id() as usize);
    // SAFETY: all lanes multiply; a place for each.
    unsafe {
        let words = [0x3c00_3c00; 4];
        let d = mma::m16n8k16_f16_f32(words, [0x3c00_3c00; 2], [0.0; 4]);
        if i < 32 {
            let stored = if wrong != 0 { 2 } else { 4 };
            for (word, sum) in d.iter().enumerate().take(stored) {
                let (row, column) = (lane / 4 + word / 2 * 8, lane % 4 * 2 + word % 2);
                *output.add(row * 8 + column) = *sum;
            }
        } else if i >= 128 && i < n {
            *output.add(i as usize) = *input.add(i as usize);
        }
    }
}

/// Rows of a matrix at addresses that are no multiples of 16.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses. The launch has 1,024 bytes of dynamic shared memory.
#[kernel]
pub unsafe fn fault_40(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let (i, thread) = (thread::index_1d(), thread::thread_idx_x());
    // SAFETY: places for all; aligned, if nothing is wrong.
    unsafe {
        let tile = shared::dynamic();
        shared::store(tile.offset(4 * thread), (*input.add((i % n) as usize)).to_bits());
        thread::sync_threads();
        let shift = if wrong != 0 { 4 } else { 0 };
        let row = tile.offset(16 * warp::lane_id() % 496 + shift);
        let [word, ..] = matrix::load_x4(row); // fault 40
        if i < n {
            *output.add(i as usize) = f32::from_bits(word);
        }
    }
}

/// Metadata of a sparse product whose indices do not increase.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_41(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let i = thread::index_1d();
    // SAFETY: all lanes multiply; ordered, if nothing is wrong.
    unsafe {
        let metadata = if wrong != 0 { 0x1111_1111 } else { 0x4444_4444 };
        let d = mma::sp_m16n8k32_f16_f32([0; 4], metadata, [0; 4], [1.0; 4]); // fault 41
        if i < n {
            *output.add(i as usize) = d[0] + *input.add(i as usize);
        }
    }
}

/// A product that half of a warp executes.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_42(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let i = thread::index_1d();
    // SAFETY: all lanes multiply, if nothing is wrong.
    unsafe {
        let mut d = [0.0; 4];
        if wrong == 0 || warp::lane_id() < 16 {
            d = mma::m16n8k16_f16_f32([0x3c00_3c00; 4], [0x3c00_3c00; 2], d); // fault 42
        }
        if i < n {
            *output.add(i as usize) = d[0] + *input.add(i as usize);
        }
    }
}
