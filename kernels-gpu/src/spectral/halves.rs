// SPDX-License-Identifier: MIT OR Apache-2.0
//! Real values of a torus row, two as one complex value: the pairs of waves of their transform.

use super::batch::each_of;
use super::complex::{Complex, ComplexPart};
use super::{Halves, of_table, pair_of};

/// A pair of waves k and M − k.
#[derive(Clone, Copy)]
pub struct WavePair<P> {
    /// Which one.
    pub number: u32,
    /// Their places.
    pub places: [u32; 2],
    /// `e^{−πik / M}`.
    pub turn: Complex<P>,
    /// Whether it is that of waves 0 and M, of which only the first has a value that is transformed.
    pub own: bool,
}

/// Fetches what belongs to each of the first so many pairs, by one thread, and calls with both; of each thread so many loads are under way at
/// once.
///
/// # Safety
/// Only in a kernel; the tables have as many pairs. Any thread may fetch and put.
#[inline(always)]
#[track_caller]
pub unsafe fn each_pair<P: ComplexPart, T: Copy, const UNDER_WAY: usize>(
    halves: &Halves,
    count: u32,
    none: T,
    fetch: impl Fn(u32, [u32; 2]) -> T,
    put: impl Fn(WavePair<P>, T),
) {
    // SAFETY: as the caller promises.
    unsafe {
        let fetch = |pair: u32| {
            let places = pair_of(halves, pair);
            (places, of_table(halves.turns, pair), fetch(pair, places))
        };
        let put = |pair: u32, (places, turn, fetched)| {
            put(WavePair { number: pair, places, turn, own: pair == 0 }, fetched);
        };
        each_of::<_, UNDER_WAY>(count, ([0; 2], Complex::ZERO, none), fetch, put);
    }
}
