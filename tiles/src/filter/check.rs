// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sums that are cut to whole numbers, and are computed in another order than that of scipy: where one is so near to a whole number
//! that the order may decide, it is computed again in that order.

use fearless_simd::{Level, Simd};

use super::ordered::{COLUMNS, Ordered, Place};
use super::{Number, Term};
use crate::at_level;

/// How sums of a stage are checked.
pub struct Check<C> {
    level: Level,
    /// The most that a sum is off that in the order of scipy.
    bound: C,
    /// How far the sum reaches.
    reach: [usize; 3],
    ordered: Ordered,
}

impl<C: Number> Check<C> {
    /// Of a sum of these terms, which is off by no more than the bound.
    pub fn new(terms: &[Term], is_line: bool, reach: [usize; 3], bound: f64) -> Self {
        // Rounded, it is not below the bound.
        let bound = C::cut(bound * (1.0 + 1e-6));
        let ordered = Ordered::new(terms, is_line, reach[0]);
        Self { level: Level::new(), bound, reach, ordered }
    }

    /// Cuts those sums of rows whose order may decide; after it any may be cut.
    pub fn settle(&self, planes: &[&[C]], pitch: usize, origin: usize, rows: &mut [&mut [C]]) {
        let place = Place { planes, pitch, origin };
        at_level!(self.level, simd => self.settle_by(simd, place, rows));
    }

    #[inline(always)]
    fn settle_by<S: Simd>(&self, simd: S, place: Place<C>, rows: &mut [&mut [C]]) {
        let (count, width) = (rows.len(), rows.first().map_or(0, |row| row.len()));
        // Of a value that all points around have, and the sum that belongs to it.
        let mut flat: Option<(f64, C)> = None;
        for start in (0..width).step_by(COLUMNS) {
            // The last columns may be some of those before, which stay what they are.
            let start = start.min(width.saturating_sub(COLUMNS));
            let columns = start..(start + COLUMNS).min(width);
            let mut alike = None;
            for (number, row) in rows.iter_mut().enumerate() {
                let sums = &mut row[columns.clone()];
                if !self.is_near(sums) {
                    continue;
                }
                let value = *alike
                    .get_or_insert_with(|| self.alike(place.moved(0, start), count, sums.len()));
                if let Some(value) = value {
                    let sum = match flat {
                        Some((known, sum)) if known == value => sum,
                        _ => C::cut(self.ordered.sum_of(|_| value).trunc()),
                    };
                    flat = Some((value, sum));
                    sums.fill(sum);
                    continue;
                }
                let found = self.ordered.sums(simd, place.moved(number, start), sums.len());
                for (to, sum) in sums.iter_mut().zip(found) {
                    *to = C::cut(sum.trunc());
                }
            }
        }
    }

    /// Whether one of the sums may be cut to another number. All between -1 and 1 are cut to 0.
    #[inline(always)]
    fn is_near(&self, sums: &[C]) -> bool {
        let is_near = |sum: &C| {
            let (nearest, distance) = sum.nearest();
            (distance <= self.bound) & (nearest != C::default())
        };
        match sums.first_chunk::<COLUMNS>() {
            Some(sums) => sums.iter().fold(false, |any, sum| any | is_near(sum)),
            None => sums.iter().any(is_near),
        }
    }

    /// The value of all points that so many rows and columns of sums read, if they have one.
    #[inline(always)]
    fn alike(&self, place: Place<C>, rows: usize, columns: usize) -> Option<f64> {
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
