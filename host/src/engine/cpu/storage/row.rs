// SPDX-License-Identifier: MIT OR Apache-2.0
//! A row of the next time step: every point from its neighbours.
//!
//! A row is computed in blocks whose sums stay in vector registers over all neighbours. Products
//! and sums are separate operations, in the order of the neighbours, so results are the same on every
//! machine.

use fearless_simd::Simd;
use prefetch_index::prefetch_index;

use super::super::padded::CACHE_LINE;
use super::Storage;

/// Points of a block near the end of a row, and near that of a short row.
const SMALL_BLOCK: usize = 32;
const TINY_BLOCK: usize = 8;

/// `to[i] = Σ weight · from[origin + i + distance]`.
pub struct Row<'a, T: Storage> {
    /// Distances to the neighbours, with their weights.
    pub taps: &'a [(isize, T::Sum)],
    /// Distances to what a later row reads first, to be brought into the caches by then.
    pub ahead: &'a [isize],
    pub from: &'a [T],
    pub origin: usize,
    pub to: &'a mut [T],
}

impl<T: Storage> Row<'_, T> {
    /// Blocks of `BLOCK` points, then smaller ones; of the last ones the first points may be those of
    /// the block before, which are computed again.
    #[inline(always)]
    pub fn compute<S: Simd, const BLOCK: usize>(mut self, simd: S) {
        let points = self.to.len();
        let mut done = 0;
        while done + BLOCK <= points {
            self.prefetch::<BLOCK>(done);
            self.block::<S, BLOCK>(simd, done);
            done += BLOCK;
        }
        if points >= SMALL_BLOCK {
            self.rest::<S, SMALL_BLOCK>(simd, done);
        } else if points >= TINY_BLOCK {
            self.rest::<S, TINY_BLOCK>(simd, done);
        } else {
            self.rest::<S, 1>(simd, done);
        }
    }

    #[inline(always)]
    fn rest<S: Simd, const N: usize>(&mut self, simd: S, mut done: usize) {
        while done < self.to.len() {
            let start = done.min(self.to.len() - N);
            self.block::<S, N>(simd, start);
            done = start + N;
        }
    }

    #[inline(always)]
    fn block<S: Simd, const N: usize>(&mut self, simd: S, at: usize) {
        let mut sums = [T::Sum::default(); N];
        for &(distance, weight) in self.taps {
            let start = (self.origin + at).wrapping_add_signed(distance);
            let stored: &[T; N] = self.from[start..start + N].try_into().expect("N values");
            let neighbours = T::widen(simd, stored);
            for (sum, neighbour) in sums.iter_mut().zip(neighbours) {
                *sum = *sum + weight * neighbour;
            }
        }
        self.to[at..at + N].copy_from_slice(&T::round(simd, sums));
    }

    /// A sweep by itself waits for one cache line after the other, since it has too much arithmetic
    /// to do in between.
    #[inline(always)]
    fn prefetch<const N: usize>(&self, at: usize) {
        for &distance in self.ahead {
            let start = (self.origin + at).wrapping_add_signed(distance);
            for line in (0..N).step_by(CACHE_LINE / size_of::<T>()) {
                prefetch_index(self.from, start.wrapping_add(line));
            }
        }
    }
}
