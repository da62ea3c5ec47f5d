// SPDX-License-Identifier: MIT OR Apache-2.0
//! Boxes of grid points.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Shape;

/// A box of points, from `low` to before `high`, as (z, y, x). Its points lie in the grid or, along
/// periodic axes, in the copies of it on either side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// Its first point.
    pub low: [isize; 3],
    /// One past its last point on each axis.
    pub high: [isize; 3],
}

impl Region {
    /// The whole grid.
    #[must_use]
    pub fn whole(shape: Shape) -> Self {
        Self { low: [0; 3], high: shape.extents().map(|extent| extent as isize) }
    }

    /// The region moved by so many points.
    #[must_use]
    pub fn shifted(self, by: [isize; 3]) -> Self {
        let moved = |from: [isize; 3]| std::array::from_fn(|axis| from[axis] + by[axis]);
        Self { low: moved(self.low), high: moved(self.high) }
    }

    /// The points that it has in common with another one, if any.
    #[must_use]
    pub fn common(self, other: Self) -> Option<Self> {
        let low: [isize; 3] = std::array::from_fn(|axis| self.low[axis].max(other.low[axis]));
        let high: [isize; 3] = std::array::from_fn(|axis| self.high[axis].min(other.high[axis]));
        (0..3).all(|axis| low[axis] < high[axis]).then_some(Self { low, high })
    }

    /// Extents (z, y, x).
    #[must_use]
    pub fn extents(&self) -> [usize; 3] {
        std::array::from_fn(|axis| (self.high[axis] - self.low[axis]) as usize)
    }

    /// Number of points.
    #[must_use]
    pub fn points(&self) -> usize {
        self.extents().iter().product()
    }

    /// Where the points of its row `row` lie in an array of `shape`: the place of the first. For a
    /// region in the grid.
    #[must_use]
    pub fn row_in(&self, row: usize, shape: Shape) -> usize {
        let [_, ny, nx] = shape.extents();
        let rows = self.extents()[1];
        let [z, y, x] = self.low.map(|low| low as usize);
        ((z + row / rows) * ny + y + row % rows) * nx + x
    }

    /// Its values out of those of a whole grid in C order. For a region in the grid.
    #[must_use]
    pub fn of<T: Copy>(&self, values: &[T], shape: Shape) -> Vec<T> {
        let [planes, rows, columns] = self.extents();
        let rows = (0..planes * rows).map(|row| self.row_in(row, shape));
        rows.flat_map(|start| &values[start..start + columns]).copied().collect()
    }

    /// Where its points lie in an array of `shape`, as places of the first points of runs that are contiguous there, and the
    /// points of each run. For a region in the grid.
    pub fn runs(&self, shape: Shape) -> (impl Iterator<Item = usize> + use<>, usize) {
        let ([nz, ny, nx], whole) = (self.extents(), shape.extents());
        // Several whole rows are one run, and so are several whole planes.
        let [planes, rows] = match (nx == whole[2], nx == whole[2] && ny == whole[1]) {
            (_, true) => [nz, ny],
            (true, _) => [1, ny],
            _ => [1, 1],
        };
        let (own, step) = (*self, planes * rows);
        ((0..nz * ny).step_by(step).map(move |row| own.row_in(row, shape)), step * nx)
    }

    /// Cuts the region along an axis into pieces of so many points of it, the last one shorter.
    pub fn cut(self, axis: usize, size: usize) -> impl Iterator<Item = Self> {
        let end = self.high[axis];
        (self.low[axis]..end).step_by(size.max(1)).map(move |low| {
            let mut piece = self;
            piece.low[axis] = low;
            piece.high[axis] = end.min(low.saturating_add_unsigned(size.max(1)));
            piece
        })
    }

    /// The grid in pieces that follow each other in C order, each of at most so many points, or of one.
    pub fn pieces(shape: Shape, most: usize) -> impl Iterator<Item = Self> {
        Self::whole(shape).in_pieces(most)
    }

    /// The region in pieces that follow each other in its C order, each of at most so many points, or of one.
    pub fn in_pieces(self, most: usize) -> impl Iterator<Item = Self> {
        let [_, ny, nx] = self.extents();
        // Whole planes; or whole rows of one plane; or parts of one row.
        let depth = most / (ny * nx);
        let height = if depth > 0 { ny } else { most / nx };
        let width = if height > 0 { nx } else { most };
        self.cut(0, depth)
            .flat_map(move |planes| planes.cut(1, height))
            .flat_map(move |rows| rows.cut(2, width))
    }
}

/// How many points lie in at least one of the regions.
#[must_use]
pub fn distinct_points(regions: &[Region]) -> usize {
    let mut rows: BTreeMap<(isize, isize), Vec<(isize, isize)>> = BTreeMap::new();
    for region in regions {
        for z in region.low[0]..region.high[0] {
            for y in region.low[1]..region.high[1] {
                rows.entry((z, y)).or_default().push((region.low[2], region.high[2]));
            }
        }
    }
    let in_row = |mut spans: Vec<(isize, isize)>| {
        spans.sort_unstable();
        let (count, _) = spans.into_iter().fold((0, isize::MIN), |(count, end), (low, high)| {
            (count + (high - low.max(end)).max(0), end.max(high))
        });
        count as usize
    };
    rows.into_values().map(in_row).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_follow_each_other_and_cover_the_grid() {
        for size in ["7", "5x4", "3x4x5", "1x6", "6x1", "2x1x3"] {
            let shape: Shape = size.parse().unwrap();
            for most in [1, 2, 3, 5, 7, 20, 59, 60, 1000] {
                let mut next = 0;
                for piece in Region::pieces(shape, most) {
                    assert_eq!(piece.row_in(0, shape), next, "{size} {most}");
                    assert!(piece.points() <= most, "{size} {most}: {piece:?}");
                    next += piece.points();
                }
                assert_eq!(next, shape.points(), "{size} {most}");
            }
        }
    }

    #[test]
    fn runs_are_the_rows_of_a_region_joined() {
        let shape: Shape = "3x4x5".parse().unwrap();
        let runs = |low, high| {
            let (starts, length) = Region { low, high }.runs(shape);
            (starts.collect::<Vec<_>>(), length)
        };
        assert_eq!(runs([0; 3], [3, 4, 5]), (vec![0], 60));
        assert_eq!(runs([1, 0, 0], [2, 4, 5]), (vec![20], 20));
        assert_eq!(runs([0, 1, 0], [2, 3, 5]), (vec![5, 25], 10));
        assert_eq!(runs([1, 1, 1], [2, 3, 3]), (vec![26, 31], 2));
    }

    #[test]
    fn points_of_regions_that_overlap_are_counted_once() {
        let region = |low, high| Region { low, high };
        let one = region([0, 0, 0], [1, 4, 4]);
        assert_eq!(distinct_points(&[]), 0);
        assert_eq!(distinct_points(&[one]), 16);
        assert_eq!(distinct_points(&[one, one]), 16);
        assert_eq!(distinct_points(&[one, region([0, 3, 2], [1, 6, 5])]), 16 + 9 - 2);
        let inside = region([0, 1, 1], [1, 2, 2]);
        assert_eq!(distinct_points(&[inside, one, region([0, 0, 4], [2, 1, 5])]), 16 + 2);
    }
}
