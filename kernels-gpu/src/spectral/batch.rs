// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loops of a block's threads over memory that is far away: each thread has several loads under way at once.

use crate::unroll::unroll;
use cuda_std::thread;

/// Loads of a thread that are under way at once: of 8 bytes by 512 threads they are what memory needs to be busy.
const UNDER_WAY: usize = 8;

/// Fetches values for all places below `count`, each by one thread of the block, and puts them where they belong.
///
/// # Safety
/// Only in a kernel; any thread may fetch and put a value.
#[inline(always)]
pub unsafe fn each<T: Copy>(count: u32, none: T, fetch: impl Fn(u32) -> T, put: impl Fn(u32, T)) {
    // SAFETY: as the caller promises.
    unsafe { each_of::<T, UNDER_WAY>(count, none, fetch, put) };
}

/// Fetches values for all places below `count`, each by one thread of the block, and puts them where they belong.
/// A thread has `UNDER_WAY` loads under way at once: larger values need fewer.
///
/// # Safety
/// Only in a kernel; any thread may fetch and put a value.
#[inline(always)]
pub unsafe fn each_of<T: Copy, const UNDER_WAY: usize>(
    count: u32,
    none: T,
    fetch: impl Fn(u32) -> T,
    put: impl Fn(u32, T),
) {
    let (mut first, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    let last = (UNDER_WAY as u32 - 1) * threads;
    while first + last < count {
        let mut values = [none; UNDER_WAY];
        unroll!(i < UNDER_WAY => values[i] = fetch(first + i as u32 * threads));
        unroll!(i < UNDER_WAY => put(first + i as u32 * threads, values[i]));
        first += last + threads;
    }
    if first < count {
        let mut values = [none; UNDER_WAY];
        unroll!(i < UNDER_WAY => {
            let place = first + i as u32 * threads;
            if place < count {
                values[i] = fetch(place);
            }
        });
        unroll!(i < UNDER_WAY => {
            let place = first + i as u32 * threads;
            if place < count {
                put(place, values[i]);
            }
        });
    }
}

/// Quotient and remainder. A check of the divisor would be an exit in the middle of a kernel, beside which barriers are
/// not for all threads any more.
///
/// # Safety
/// The divisor is not 0.
#[inline(always)]
pub unsafe fn divide(value: u32, by: u32) -> (u32, u32) {
    if by == 0 {
        // SAFETY: as the caller promises.
        unsafe { core::hint::unreachable_unchecked() };
    }
    (value / by, value % by)
}
