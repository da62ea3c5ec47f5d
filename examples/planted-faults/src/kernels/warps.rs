// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lanes of a warp.

use cuda_std::{kernel, shared_array, thread, warp};

/// A shuffle whose mask leaves out lanes that execute it.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_22(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let i = thread::index_1d();
    // SAFETY: a place for each thread; all lanes, if nothing is wrong.
    unsafe {
        let value = *input.add((i % n) as usize);
        let mask = if wrong != 0 { 0x0000_ffff } else { 0xffff_ffff };
        let (other, _) = warp::warp_shuffle_xor(mask, value, 1, 32); // fault 22
        if i < n {
            *output.add(i as usize) = other;
        }
    }
}

/// A shuffle from a lane that no warp has.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_23(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let i = thread::index_1d();
    // SAFETY: a place for each thread; lanes that there are, if nothing is wrong.
    unsafe {
        let value = *input.add((i % n) as usize);
        let source = warp::lane_id() + if wrong != 0 { 1 } else { 0 };
        let other = warp::shuffle(value.to_bits(), source); // fault 23
        if i < n {
            *output.add(i as usize) = f32::from_bits(other);
        }
    }
}

/// A shuffle of all lanes in a branch that half of them take.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_24(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let i = thread::index_1d();
    // SAFETY: a place for each thread; all lanes, if nothing is wrong.
    unsafe {
        let mut value = (*input.add((i % n) as usize)).to_bits();
        if wrong == 0 || warp::lane_id() < 16 {
            value = warp::shuffle_xor(value, 1); // fault 24
        }
        if i < n {
            *output.add(i as usize) = f32::from_bits(value);
        }
    }
}

/// A shuffle that reads lanes which are not in its mask.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_25(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let i = thread::index_1d();
    // SAFETY: a place for each thread; lanes of the mask, if nothing is wrong.
    unsafe {
        let mut value = *input.add((i % n) as usize);
        if warp::lane_id() < 16 {
            let distance = if wrong != 0 { 16 } else { 8 };
            (value, _) = warp::warp_shuffle_xor(0x0000_ffff, value, distance, 32); // fault 25
        }
        if i < n {
            *output.add(i as usize) = value;
        }
    }
}

/// Lanes that exchange numbers through shared memory as if they went in step.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_26(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let (i, thread) = (thread::index_1d(), thread::thread_idx_x() as usize);
    let tile = shared_array![f32; 128];
    // SAFETY: a place for each thread; a barrier of the warp, if it is there.
    unsafe {
        *tile.add(thread) = *input.add((i % n) as usize); // fault 26
        if wrong == 0 {
            warp::sync();
        }
        let other = *tile.add(thread ^ 1); // fault 26
        if i < n {
            *output.add(i as usize) = other;
        }
    }
}

/// A vote of all lanes in a loop that some have left.
///
/// # Safety
/// `input` and `output` hold 1,000 numbers each, which nothing else uses.
#[kernel]
pub unsafe fn fault_27(input: *const f32, output: *mut f32, n: u32, wrong: u32) {
    let i = thread::index_1d();
    let turns = if wrong != 0 { warp::lane_id() % 4 + 1 } else { 4 };
    // SAFETY: a place for each thread; all lanes, if nothing is wrong.
    unsafe {
        let mut positive = 0;
        for turn in 0..turns {
            let value = *input.add(((i + turn) % n) as usize);
            positive += warp::warp_vote_ballot(0xffff_ffff, value > 0.0).count_ones(); // fault 27
        }
        if i < n {
            *output.add(i as usize) = positive as f32;
        }
    }
}
