// SPDX-License-Identifier: MIT OR Apache-2.0
//! Points of the next time step, in blocks whose sums stay in vector registers over all neighbours.
//!
//! A block is a few rows high: a vector of neighbours that was loaded once counts in the sums of all rows that
//! reach it. The order of the neighbours in a sum is that of [`NeighbourRuns`], wherever the point lies in a block, so
//! results do not depend on how a grid is cut.

use fearless_simd::{Level, Simd, SimdBase, SimdFloat, SimdFrom};
use prefetch_index::prefetch_index;

use super::{MOST_LANES, Storage};
use crate::at_level;
use crate::padded::CACHE_LINE;
use crate::runs::NeighbourRuns;

/// Rows of a block.
pub const ROWS: usize = 4;
/// Bytes of a vector of which a processor has 32, enough for the sums of twice as many vectors.
const WIDE: usize = 64;

/// The body for each of these numbers: compilers leave longer loops as they are, and sums in memory.
macro_rules! unrolled {
    ($number:ident in $($value:literal)* $body:block) => {
        $({
            const $number: usize = $value;
            $body
        })*
    };
}

/// What points are computed from.
pub struct BlockInput<'a, T: Storage> {
    /// Neighbours and their weights.
    pub runs: &'a NeighbourRuns<T::Sum>,
    /// The planes that the stencil reaches, in their order.
    pub planes: &'a [&'a [T]],
    /// Distance between rows.
    pub pitch: usize,
    /// Where in its plane the first of the points lies.
    pub origin: usize,
    /// How far ahead of its use a value of the last plane is to be on its way to the caches; 0 if it is there.
    pub ahead: usize,
}

impl<T: Storage> BlockInput<'_, T> {
    /// Computes rows of equal length, from the origin on. Its loops are compiled here, for all that call it.
    pub fn compute(&self, level: Level, rows: &mut [&mut [T]]) {
        at_level!(level, simd => self.compute_by(simd, rows));
    }

    #[inline(always)]
    fn compute_by<S: Simd>(&self, simd: S, rows: &mut [&mut [T]]) {
        // Of a constant block the compiler leaves out what is not taken before it optimises.
        if const { T::Sums::<S>::LEN * size_of::<T::Sum>() == WIDE } {
            self.all::<S, 4, 8>(simd, rows);
        } else {
            self.all::<S, 2, 4>(simd, rows);
        }
    }

    /// Computes rows in blocks of so many vectors of a row, and of a single row.
    #[inline(always)]
    fn all<S: Simd, const VECTORS: usize, const LONE: usize>(
        &self,
        simd: S,
        rows: &mut [&mut [T]],
    ) {
        let count = rows.len();
        if count < ROWS {
            for (number, row) in rows.iter_mut().enumerate() {
                self.rows::<S, 1, LONE>(simd, number, std::slice::from_mut(row));
            }
            return;
        }
        let mut done = 0;
        while done < count {
            // The last rows may be some of the block before, which are computed again.
            let first = done.min(count - ROWS);
            self.rows::<S, ROWS, VECTORS>(simd, first, &mut rows[first..]);
            done = first + ROWS;
        }
    }

    /// Computes `R` rows from one on: in blocks of `V` vectors, then of one; of the last one the first points
    /// may be those of the block before.
    #[inline(always)]
    fn rows<S: Simd, const R: usize, const V: usize>(
        &self,
        simd: S,
        first: usize,
        rows: &mut [&mut [T]],
    ) {
        let (rows, later) = rows.split_first_chunk_mut::<R>().expect("as many rows as asked for");
        let (lanes, width) = (T::Sums::<S>::LEN, rows[0].len());
        let origin = self.origin + first * self.pitch;
        let mut done = 0;
        while done + V * lanes <= width {
            if self.ahead > 0 {
                self.prefetch::<R>(origin + done, V * lanes);
                prefetch_rows(later, R, done, V * lanes);
            }
            self.block::<S, R, V>(simd, origin, done, rows);
            done += V * lanes;
        }
        if width < lanes {
            return self.narrow(simd, origin, rows);
        }
        while done < width {
            let start = done.min(width - lanes);
            self.block::<S, R, 1>(simd, origin, start, rows);
            done = start + lanes;
        }
    }

    /// The processor does not foresee short rows.
    #[inline(always)]
    fn prefetch<const R: usize>(&self, at: usize, count: usize) {
        let plane = self.planes[self.planes.len() - 1];
        for row in 0..R {
            for line in (0..count).step_by(CACHE_LINE / size_of::<T>()) {
                prefetch_index(plane, at + self.ahead + row * self.pitch + line);
            }
        }
    }

    #[inline(always)]
    fn block<S: Simd, const R: usize, const V: usize>(
        &self,
        simd: S,
        origin: usize,
        at: usize,
        rows: &mut [&mut [T]; R],
    ) {
        let mut sums = [[zero::<T, S>(simd); V]; R];
        for run in &self.runs.all {
            let start = (origin + at).wrapping_add_signed(run.distance(self.pitch));
            let (plane, weights) = (self.planes[run.plane], &self.runs.weights[run.first..]);
            let plane = &plane[start..];
            match run.len {
                1 => self.add::<S, R, V, 1>(simd, plane, weights, &mut sums),
                2 => self.add::<S, R, V, 2>(simd, plane, weights, &mut sums),
                3 => self.add::<S, R, V, 3>(simd, plane, weights, &mut sums),
                5 => self.add::<S, R, V, 5>(simd, plane, weights, &mut sums),
                7 => self.add::<S, R, V, 7>(simd, plane, weights, &mut sums),
                _ => unreachable!("runs have these lengths"),
            }
        }
        let lanes = T::Sums::<S>::LEN;
        for number in 0..R {
            let row = &mut rows[number][at..at + V * lanes];
            for vector in 0..V {
                T::round(simd, sums[number][vector], &mut row[vector * lanes..][..lanes]);
            }
        }
    }

    /// Adds the products with `L` neighbours, one above the other, of which the first one's begin a plane.
    #[inline(always)]
    fn add<S: Simd, const R: usize, const V: usize, const L: usize>(
        &self,
        simd: S,
        plane: &[T],
        weights: &[T::Sum],
        sums: &mut [[T::Sums<S>; V]; R],
    ) {
        let lanes = T::Sums::<S>::LEN;
        let weights: &[T::Sum; L] = weights.first_chunk().expect("a weight for each neighbour");
        let mut factors = [zero::<T, S>(simd); L];
        for number in 0..L {
            factors[number] = SimdFrom::simd_from(simd, weights[number]);
        }
        unrolled!(ROW in 0 1 2 3 4 5 6 7 8 9 {
            if const { ROW < R + L - 1 } {
                let values = &plane[ROW * self.pitch..][..V * lanes];
                for vector in 0..V {
                    let value = T::widen(simd, &values[vector * lanes..][..lanes]);
                    // A row counts as this neighbour in the sums of row `TO`, if it is one.
                    unrolled!(TO in 0 1 2 3 {
                        if const { TO < R && ROW.wrapping_sub(TO) < L } {
                            let number = ROW.wrapping_sub(TO);
                            let sum = &mut sums[TO][vector];
                            *sum = value.mul_add(factors[number], *sum);
                        }
                    });
                }
            }
        });
    }

    /// Computes rows that are narrower than a vector, with zeros behind what there is.
    #[inline(always)]
    fn narrow<S: Simd>(&self, simd: S, origin: usize, rows: &mut [&mut [T]]) {
        let lanes = T::Sums::<S>::LEN;
        for (number, row) in rows.iter_mut().enumerate() {
            let width = row.len();
            let mut sums = zero::<T, S>(simd);
            for run in &self.runs.all {
                for (above, weight) in self.runs.weights_of(run).iter().enumerate() {
                    let start = origin.wrapping_add_signed(run.distance(self.pitch));
                    let start = start + (number + above) * self.pitch;
                    let mut values = [T::default(); MOST_LANES];
                    values[..width].copy_from_slice(&self.planes[run.plane][start..][..width]);
                    let weights = T::Sums::<S>::simd_from(simd, *weight);
                    sums = T::widen(simd, &values[..lanes]).mul_add(weights, sums);
                }
            }
            let mut values = [T::default(); MOST_LANES];
            T::round(simd, sums, &mut values[..lanes]);
            row.copy_from_slice(&values[..width]);
        }
    }
}

/// Rows that are written next: memory is read before it is written.
#[inline(always)]
fn prefetch_rows<T>(later: &[&mut [T]], count: usize, at: usize, width: usize) {
    for row in later.iter().take(count) {
        for line in (0..width).step_by(CACHE_LINE / size_of::<T>()) {
            prefetch_index(row, at + line);
        }
    }
}

#[inline(always)]
fn zero<T: Storage, S: Simd>(simd: S) -> T::Sums<S> {
    SimdFrom::simd_from(simd, T::Sum::default())
}
