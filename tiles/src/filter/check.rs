// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sums that are cut to whole numbers, and are computed in another order than that of scipy: where one is so near to a whole number
//! that the order may decide, it is computed again in that order.

use fearless_simd::{Level, Simd};

use super::number::Float;
use super::ordered::{COLUMNS, Ordered, PlacedProduct, PointPlace, sums as ordered_sums};
use super::sums::NeighbourSums;
use crate::at_level;
use crate::window::Window;

/// Columns that are looked at together.
const WIDE: usize = 128;

/// Sums that are checked, so that any may be cut.
pub struct Checked<C: Float> {
    level: Level,
    window: Window<C>,
    ordered: Ordered,
    /// The most that a sum is off that in the order of scipy.
    bound: C,
    /// How far the sum reaches.
    reach: [usize; 3],
}

impl<C: Float> NeighbourSums<C> for Checked<C> {
    fn rows(
        &self,
        planes: &[&[C]],
        pitch: usize,
        origin: usize,
        ahead: usize,
        to: &mut [&mut [C]],
    ) {
        self.window.rows(planes, pitch, origin, ahead, to);
        let place = PointPlace { planes, pitch, origin };
        at_level!(self.level, simd => self.settle(simd, place, to));
    }
}

impl<C: Float> Checked<C> {
    /// Of sums that are off those in order by no more than the bound.
    pub fn new(window: Window<C>, ordered: Ordered, reach: [usize; 3], bound: f64) -> Self {
        // Rounded, it is not below the bound.
        let bound = C::cut(bound * (1.0 + 1e-6));
        Self { level: window.level(), window, ordered, bound, reach }
    }

    /// Cuts those sums whose order may decide.
    #[inline(always)]
    fn settle<S: Simd>(&self, simd: S, place: PointPlace<C>, rows: &mut [&mut [C]]) {
        let (count, width) = (rows.len(), rows.first().map_or(0, |row| row.len()));
        // Of a value that all points around have, and the sum that belongs to it.
        let mut flat: Option<(f64, C)> = None;
        let mut products = None;
        for start in (0..width).step_by(WIDE) {
            // The last columns may be some of those before, which stay what they are.
            let start = start.min(width.saturating_sub(WIDE));
            let columns = start..(start + WIDE).min(width);
            let mut alike = None;
            for (number, row) in rows.iter_mut().enumerate() {
                let sums = &mut row[columns.clone()];
                if !self.may_decide(sums) {
                    continue;
                }
                let value = *alike
                    .get_or_insert_with(|| self.alike(place.moved(0, start), count, sums.len()));
                if let Some(value) = value {
                    let sum = match flat {
                        Some((known, sum)) if known == value => sum,
                        _ => C::cut(self.ordered.sum_of_flat(value).trunc()),
                    };
                    flat = Some((value, sum));
                    sums.fill(sum);
                } else {
                    let products = products.get_or_insert_with(|| self.ordered.placed(place.pitch));
                    self.settle_row(simd, products, place.moved(number, start), sums);
                }
            }
        }
    }

    #[inline(always)]
    fn settle_row<S: Simd>(
        &self,
        simd: S,
        products: &[PlacedProduct],
        place: PointPlace<C>,
        sums: &mut [C],
    ) {
        for start in (0..sums.len()).step_by(COLUMNS) {
            let start = start.min(sums.len().saturating_sub(COLUMNS));
            let end = (start + COLUMNS).min(sums.len());
            let sums = &mut sums[start..end];
            let decides = match sums.first_chunk::<COLUMNS>() {
                Some(sums) => sums.iter().fold(false, |any, sum| any | self.decides(*sum)),
                None => sums.iter().any(|sum| self.decides(*sum)),
            };
            if decides {
                let found = ordered_sums(simd, products, place.moved(0, start), sums.len());
                for (to, sum) in sums.iter_mut().zip(found) {
                    *to = C::cut(sum.trunc());
                }
            }
        }
    }

    /// Whether the order may decide to which number one of the sums is cut.
    #[inline(always)]
    fn may_decide(&self, sums: &[C]) -> bool {
        let is_near = |sum: &C| sum.nearest().1 <= self.bound;
        match sums.first_chunk::<WIDE>() {
            Some(sums) => sums.iter().fold(false, |any, sum| any | is_near(sum)),
            None => sums.iter().any(is_near),
        }
    }

    /// Whether the order decides: all sums between -1 and 1 are cut to 0.
    #[inline(always)]
    fn decides(&self, sum: C) -> bool {
        let (nearest, distance) = sum.nearest();
        (distance <= self.bound) & (nearest != C::zeroed())
    }

    /// The value of all points that so many rows and columns of sums read, if they have one.
    #[inline(always)]
    fn alike(&self, place: PointPlace<C>, rows: usize, columns: usize) -> Option<f64> {
        let [_, ry, rx] = self.reach;
        let first = place.origin - ry * place.pitch - rx;
        let value = place.planes[0][first];
        let differs = |values: &[C]| values.iter().fold(false, |any, it| any | (*it != value));
        let is_alike = |row: &[C]| {
            let (chunks, rest) = row.as_chunks::<16>();
            !chunks.iter().any(|values| differs(values)) && !differs(rest)
        };
        let in_plane = |plane: &&[C]| {
            let row = |row: usize| &plane[first + row * place.pitch..][..columns + 2 * rx];
            (0..rows + 2 * ry).all(|number| is_alike(row(number)))
        };
        place.planes.iter().all(in_plane).then(|| value.widen())
    }
}
