// SPDX-License-Identifier: MIT OR Apache-2.0
//! How fast a multiprocessor's units go: loops of independent instructions, timed from outside and
//! by the multiprocessor's own clock.
//!
//! Each chain of instructions adds a term and takes it away again, so that its value does not depend
//! on the number of rounds, is exact, and can be checked: no rate without a right result.

use cuda_std::{global, kernel, math, mma, thread, warp};

/// Threads of a block, one block a multiprocessor: four warps for each of its partitions, so that
/// no latency shows.
pub const THREADS: u32 = 512;

/// Independent chains of a thread: products of tensor cores.
pub const PRODUCT_CHAINS: usize = 8;
/// Independent chains of a thread: multiply-adds of CUDA cores.
pub const ADD_CHAINS: usize = 16;

/// Additions of a round, each undone by the next, for one chain of multiply-adds.
const ADDS: usize = 8;

/// Sparse products of a warp in a round.
pub const PRODUCTS: u32 = 2 * PRODUCT_CHAINS as u32;
/// Multiply-adds of a thread in a round.
pub const MULTIPLY_ADDS: u32 = (ADDS * ADD_CHAINS) as u32;

/// Metadata of A: of four columns, the first two are kept, then the last two.
pub const METADATA: u32 = 0xe4e4_e4e4;

/// A word of A (`index` 0 to 3) or B (4 to 7): two f16 values from 0.5 to 0.9375 in steps of 1/16,
/// of either sign, so that sums are exact and the units work on numbers as they do in earnest.
#[inline(always)]
#[must_use]
pub const fn operand(lane: u32, index: u32) -> u32 {
    let mixed = (8 * lane + index + 1).wrapping_mul(0x9e37_79b9);
    0x3800_3800 | (mixed ^ mixed >> 15) & 0x8380_8380
}

/// Sparse products: for each chain i, i + A·B. `sums` takes each thread's sum over its chains and
/// elements, `cycles` the cycles of each block.
///
/// # Safety
/// Launch with [`THREADS`] threads. `sums` has a word for each thread of the grid, `cycles` one for
/// each block.
#[kernel]
pub unsafe fn rate_mma_sp_f16(rounds: u32, cycles: *mut u32, sums: *mut u32) {
    // SAFETY: reads special registers.
    let (lane, start) = unsafe { (warp::lane_id(), begin()) };
    let word = |index| operand(lane, index);
    let a = [word(0), word(1), word(2), word(3)];
    let minus_a = a.map(|word| word ^ 0x8000_8000);
    let b = [word(4), word(5), word(6), word(7)];
    let mut chains = [[0.0f32; 4]; PRODUCT_CHAINS];
    for (i, chain) in chains.iter_mut().enumerate() {
        *chain = [i as f32; 4];
    }
    // SAFETY: all lanes run the same rounds; the metadata is ordered.
    let add = |a, chain| unsafe { mma::sp_m16n8k32_f16_f32(a, METADATA, b, chain) };
    let mut round = 0;
    while round < rounds {
        for chain in &mut chains {
            *chain = add(a, *chain);
        }
        for chain in &mut chains {
            *chain = add(minus_a, *chain);
        }
        round += 1;
    }
    let mut sum = 0.0;
    for chain in chains {
        let chain = add(a, chain);
        sum += chain[0] + chain[1] + chain[2] + chain[3];
    }
    // SAFETY: as this function's contract says.
    unsafe { end(start, cycles, sums, sum) };
}

/// f32 multiply-adds: for each chain i, x·`factor` + `term`, an odd number of times, from
/// x = i + lane. `sums` and `cycles` as in [`rate_mma_sp_f16()`].
///
/// # Safety
/// Launch with [`THREADS`] threads. `sums` has a word for each thread of the grid, `cycles` one for
/// each block.
#[kernel]
pub unsafe fn rate_fma_f32(rounds: u32, factor: f32, term: f32, cycles: *mut u32, sums: *mut u32) {
    // SAFETY: reads special registers.
    let (lane, start) = unsafe { (warp::lane_id(), begin()) };
    // SAFETY: only in a kernel.
    let add = |x: f32| unsafe { math::fma_f32(x, factor, term) };
    let mut chains = [0.0f32; ADD_CHAINS];
    for (i, chain) in chains.iter_mut().enumerate() {
        *chain = (i as u32 + lane) as f32;
    }
    let mut round = 0;
    while round < rounds {
        for _ in 0..ADDS {
            for chain in &mut chains {
                *chain = add(*chain);
            }
        }
        round += 1;
    }
    let mut sum = 0.0;
    for chain in chains {
        sum += add(chain);
    }
    // SAFETY: as this function's contract says.
    unsafe { end(start, cycles, sums, sum) };
}

/// The clock when all threads are there.
#[inline(always)]
#[track_caller]
unsafe fn begin() -> u64 {
    // SAFETY: every thread of the block starts here.
    unsafe {
        thread::sync_threads();
        thread::clock()
    }
}

/// Stores what a thread has computed, and the cycles that its block took.
#[inline(always)]
#[track_caller]
unsafe fn end(start: u64, cycles: *mut u32, sums: *mut u32, sum: f32) {
    // SAFETY: every thread of the block ends here; each has a word of its own in `sums`, each block
    // one in `cycles`.
    unsafe {
        thread::sync_threads();
        let taken = (thread::clock() - start) as u32;
        let (thread, block) = (thread::thread_idx_x(), thread::block_idx_x());
        let index = block * thread::block_dim_x() + thread;
        global::store(sums.wrapping_add(index as usize), sum.to_bits());
        if thread == 0 {
            global::store(cycles.wrapping_add(block as usize), taken);
        }
    }
}
