// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a grid is cut among ranks: across its axes, into as many slices of each as are asked for.

use problem::region::Region;
use problem::{Error, Shape};

/// A grid cut into boxes, one for each rank. Ranks count along x first, then y, then z.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    shape: Shape,
    /// On each axis (z, y, x) where the slices begin, and where the last one ends.
    cuts: [Vec<usize>; 3],
}

impl Partition {
    /// Cuts each axis (z, y, x) into so many slices, which differ by no more than a unit of that axis: cuts lie at
    /// multiples of it.
    ///
    /// # Errors
    /// [`Error::Split`]: an axis has fewer units than slices are asked for.
    pub fn new(shape: Shape, counts: [usize; 3], units: [usize; 3]) -> Result<Self, Error> {
        let mut cuts = [const { Vec::new() }; 3];
        for axis in 0..3 {
            let (count, unit, points) = (counts[axis], units[axis], shape.extents()[axis]);
            let whole = points.div_ceil(unit);
            if count == 0 || count > whole {
                let name = ["z", "y", "x"][axis];
                let reason = match unit {
                    1 => format!("{points} points along {name} cannot be cut into {count} parts"),
                    _ => format!(
                        "{points} points along {name} cannot be cut into {count} parts of whole tiles ({unit} \
                         points)"
                    ),
                };
                return Err(Error::Split { reason });
            }
            cuts[axis] = (0..=count).map(|cut| (whole * cut / count * unit).min(points)).collect();
        }
        Ok(Self { shape, cuts })
    }

    /// Cuts for so many ranks where the parts have the least surface towards each other; of equal ones those across
    /// slower axes, along which neighbours' points are contiguous.
    ///
    /// # Errors
    /// [`Error::Split`]: the grid is too small for so many.
    pub fn for_ranks(shape: Shape, ranks: usize, units: [usize; 3]) -> Result<Self, Error> {
        let divisors = |of: usize| (1..=of).rev().filter(move |count| of.is_multiple_of(*count));
        let all = divisors(ranks)
            .flat_map(|z| divisors(ranks / z).map(move |y| [z, y, ranks / z / y]))
            .filter_map(|counts| Self::new(shape, counts, units).ok());
        let best = all.min_by(|a, b| a.surface().total_cmp(&b.surface()));
        best.ok_or_else(|| {
            let tiles = match units {
                [1, 1, 1] => String::new(),
                [z, y, x] => format!(" of whole tiles ({z}x{y}x{x} points)"),
            };
            Error::Split {
                reason: format!("a grid of {shape} cannot be cut into {ranks} parts{tiles}"),
            }
        })
    }

    /// Points on the faces between the parts of the grid; along x, where each lies in another row, as what moving them
    /// costs.
    fn surface(&self) -> f64 {
        /// A row's few bytes take as long as so many that are contiguous.
        const SCATTERED: f64 = 8.0;
        let points = self.shape.points() as f64;
        let faces = (0..3).map(|axis| {
            let between = (self.counts()[axis] - 1) as f64;
            let face = points / self.shape.extents()[axis] as f64;
            between * face * if axis == 2 && self.shape.dims() > 1 { SCATTERED } else { 1.0 }
        });
        faces.sum()
    }

    /// The grid.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Slices of each axis (z, y, x).
    #[must_use]
    pub fn counts(&self) -> [usize; 3] {
        self.cuts.each_ref().map(|cuts| cuts.len() - 1)
    }

    /// How many parts there are.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.counts().iter().product()
    }

    /// Where the slices of an axis begin, but for the first.
    #[must_use]
    pub fn inner_cuts(&self, axis: usize) -> &[usize] {
        let cuts = &self.cuts[axis];
        &cuts[1..cuts.len() - 1]
    }

    /// The points of a rank.
    #[must_use]
    pub fn own(&self, rank: usize) -> Region {
        let [_, ny, nx] = self.counts();
        let at = [rank / (ny * nx), rank / nx % ny, rank % nx];
        let end =
            |more: usize| std::array::from_fn(|axis| self.cuts[axis][at[axis] + more] as isize);
        Region { low: end(0), high: end(1) }
    }

    /// As the slices of the axes that the grid has, such as `4x2`.
    #[must_use]
    pub fn describe(&self) -> String {
        let counts = self.counts();
        let counts = counts[3 - self.shape.dims()..].iter().map(usize::to_string);
        counts.collect::<Vec<_>>().join("x")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Shape {
        text.parse().unwrap()
    }

    #[test]
    fn parts_cover_every_point_once_and_differ_by_a_unit() {
        for (size, counts, units) in [
            ("10", [1, 1, 3], [1; 3]),
            ("7x11", [1, 7, 2], [1; 3]),
            ("64x100", [1, 3, 2], [1, 16, 32]),
            ("5x6x7", [2, 3, 1], [1; 3]),
        ] {
            let partition = Partition::new(shape(size), counts, units).unwrap();
            let mut owned = vec![0; shape(size).points()];
            for rank in 0..partition.ranks() {
                let own = partition.own(rank);
                let rows = own.extents()[0] * own.extents()[1];
                for row in 0..rows {
                    let start = own.row_in(row, shape(size));
                    owned[start..start + own.extents()[2]].iter_mut().for_each(|count| *count += 1);
                }
            }
            assert!(owned.iter().all(|&count| count == 1), "{size}");
            for (cuts, unit) in partition.cuts.iter().zip(units) {
                let lengths: Vec<usize> = cuts.windows(2).map(|ends| ends[1] - ends[0]).collect();
                let (least, most) = (lengths.iter().min().unwrap(), lengths.iter().max().unwrap());
                assert!(most - least <= unit && *least > 0, "{size}: {lengths:?}");
            }
        }
    }

    #[test]
    fn cuts_have_the_least_surface_and_rows_stay_whole() {
        let counts = |size: &str, ranks| {
            let partition = Partition::for_ranks(shape(size), ranks, [1; 3]).unwrap();
            partition.describe()
        };
        assert_eq!(counts("10240x10240", 2), "2x1");
        assert_eq!(counts("10240x10240", 8), "8x1");
        assert_eq!(counts("10240x10240", 64), "32x2");
        assert_eq!(counts("1024x1024x1024", 2), "2x1x1");
        assert_eq!(counts("1024x1024x1024", 64), "8x8x1");
        assert_eq!(counts("100", 7), "7");
    }

    #[test]
    fn too_many_parts_are_refused_with_both_numbers() {
        let refused = |outcome: Result<Partition, Error>| outcome.unwrap_err().to_string();
        let error = refused(Partition::new(shape("3x100"), [1, 4, 1], [1; 3]));
        assert!(error.contains("3 points along y cannot be cut into 4 parts"), "{error}");
        let error = refused(Partition::new(shape("100x100"), [1, 8, 1], [1, 16, 1]));
        assert!(error.contains("whole tiles (16 points)"), "{error}");
        let error = refused(Partition::for_ranks(shape("3"), 5, [1; 3]));
        assert!(error.contains("a grid of 3 cannot be cut into 5 parts"), "{error}");
    }
}
