// SPDX-License-Identifier: MIT OR Apache-2.0
//! Real values of a torus row in shared memory, two as one complex value, to half a spectrum and back.

use super::batch::each;
use super::complex::{Complex, Part};
use super::line::{Lines, Stages, load, place, store, transform, wait};
use super::{Halves, join, of_table, pair_of, split};

/// Puts a real value into its place.
///
/// # Safety
/// In bounds; nobody else accesses it at the same time.
#[inline(always)]
#[track_caller]
pub unsafe fn put<P: Part>(lines: Lines, x: u32, value: P) {
    // SAFETY: as the caller promises.
    unsafe { P::store_shared(place::<P>(lines, 0, x / 2).offset(x % 2 * P::BYTES), value) };
}

/// A real value.
///
/// # Safety
/// In bounds, written, waited for.
#[inline(always)]
#[track_caller]
pub unsafe fn get<P: Part>(lines: Lines, x: u32) -> P {
    // SAFETY: as the caller promises.
    unsafe { P::load_shared(place::<P>(lines, 0, x / 2).offset(x % 2 * P::BYTES)) }
}

/// Transforms M pairs of real values to M + 1 waves, the last in place M.
///
/// # Safety
/// All threads of the block come here; the values have been waited for, and the waves are.
#[inline(always)]
#[track_caller]
pub unsafe fn there<P: Part>(lines: Lines, stages: &Stages, halves: &Halves) {
    // SAFETY: as the caller promises; pairs have places of their own.
    unsafe {
        transform::<P, false>(lines, stages);
        each_pair::<P>(halves, |[first, second], turn, own| {
            let a = load::<P>(lines, 0, first);
            let b = if own { a } else { load(lines, 0, second) };
            let [a, b] = split(a, b, turn);
            store(lines, 0, first, a);
            store(lines, 0, second, b);
        });
        wait();
    }
}

/// Transforms M + 1 waves to M pairs of real values, M times as large.
///
/// # Safety
/// As [`there`].
#[inline(always)]
#[track_caller]
pub unsafe fn back<P: Part>(lines: Lines, stages: &Stages, halves: &Halves) {
    // SAFETY: as the caller promises; pairs have places of their own.
    unsafe {
        each_pair::<P>(halves, |[first, second], turn, own| {
            let (a, b) = (load::<P>(lines, 0, first), load::<P>(lines, 0, second));
            let [a, b] = join(a, b, turn);
            store(lines, 0, first, a);
            if !own {
                store(lines, 0, second, b);
            }
        });
        wait();
        transform::<P, true>(lines, stages);
    }
}

/// Calls for each pair of waves, by one thread: with its places, its turn, and whether it is that of waves 0 and M, of
/// which only the first has a value that is transformed.
///
/// # Safety
/// Only in a kernel; the tables have as many pairs.
#[inline(always)]
unsafe fn each_pair<P: Part>(halves: &Halves, put: impl Fn([u32; 2], Complex<P>, bool)) {
    // SAFETY: as the caller promises.
    unsafe {
        let fetch = |pair: u32| (pair_of(halves, pair), of_table(halves.turns, pair));
        let put = |pair: u32, (places, turn)| put(places, turn, pair == 0);
        each(halves.count, ([0; 2], Complex::ZERO), fetch, put);
    }
}
