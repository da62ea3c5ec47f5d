// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a rank holds of the grid: its own points, and around them ghosts, copies of others' points that are as deep
//! as several time steps reach.

use super::partition::Partition;
use problem::boundary::Side;
use problem::region::Region;
use problem::{Boundary, Error, Shape};

/// A rank's own points with their ghosts. Regions are those of the whole grid; along periodic axes that are cut, ghosts
/// go on beyond its ends, into copies of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankPart {
    /// Whose it is.
    pub rank: usize,
    /// The points that it answers for.
    pub own: Region,
    /// The points that it answers for and all ghosts.
    pub held: Region,
    /// The whole grid.
    pub whole: Shape,
    /// Of each axis (z, y, x), whether it is cut and its ends meet.
    ring: [bool; 3],
}

impl RankPart {
    /// The part of a rank, with ghosts at least as deep as `reach` on each axis (z, y, x) that is cut. Ghosts end at
    /// multiples of the axis's unit, or with the grid.
    #[must_use]
    pub fn new(
        partition: &Partition,
        rank: usize,
        boundary: &Boundary,
        reach: [usize; 3],
        units: [usize; 3],
    ) -> Self {
        let (whole, own) = (partition.shape(), partition.own(rank));
        let (mut held, mut ring) = (Region::whole(whole), [false; 3]);
        for axis in (0..3).filter(|&axis| partition.counts()[axis] > 1) {
            ring[axis] = boundary.sides[axis][0] == Side::Periodic;
            let (reach, unit) = (reach[axis] as isize, units[axis] as isize);
            let low = (own.low[axis] - reach).div_euclid(unit) * unit;
            let high = -(-(own.high[axis] + reach)).div_euclid(unit) * unit;
            let end = whole.extents()[axis] as isize;
            let ends = if ring[axis] { [low, high] } else { [low.max(0), high.min(end)] };
            [held.low[axis], held.high[axis]] = ends;
        }
        Self { rank, own, held, whole, ring }
    }

    /// Extents of what it holds.
    ///
    /// # Errors
    /// More points than can be addressed.
    pub fn shape(&self) -> Result<Shape, Error> {
        Shape::new(&self.held.extents()[3 - self.whole.dims()..])
    }

    /// Whether others' points go on beyond this end of an axis.
    #[must_use]
    pub fn is_open(&self, axis: usize, end: usize) -> bool {
        let at_end = match end {
            0 => self.held.low[axis] == 0,
            _ => self.held.high[axis] == self.whole.extents()[axis] as isize,
        };
        self.ring[axis] || !at_end
    }

    /// What lies around it: what lies around the whole grid, and `open` where others' points do.
    #[must_use]
    pub fn boundary(&self, of_whole: &Boundary, open: Side) -> Boundary {
        let side = |axis: usize, end: usize| match self.is_open(axis, end) {
            true => open,
            false => of_whole.sides[axis][end],
        };
        Boundary { sides: std::array::from_fn(|axis| [side(axis, 0), side(axis, 1)]) }
    }

    /// On each axis (z, y, x) where in what it holds the ends of the whole grid meet, in its coordinates.
    #[must_use]
    pub fn seams(&self) -> [Vec<usize>; 3] {
        std::array::from_fn(|axis| {
            let extent = self.whole.extents()[axis] as isize;
            let (low, high) = (self.held.low[axis], self.held.high[axis]);
            let first = low.div_euclid(extent) * extent;
            let ends = (0..).map(|copy| first + copy * extent).take_while(|&at| at < high);
            let inside = ends.filter(|&at| self.ring[axis] && at > low);
            inside.map(|at| (at - low) as usize).collect()
        })
    }

    /// A region of the whole grid in the coordinates of what it holds.
    #[must_use]
    pub fn local(&self, region: Region) -> Region {
        shifted(region, self.held.low.map(|low| -low))
    }

    /// How far the copies of the whole grid lie apart that have points in what it holds: multiples of the extents, those of
    /// the grid itself first.
    pub fn copies(&self) -> impl Iterator<Item = [isize; 3]> + use<> {
        let along = |axis: usize| {
            let extent = self.whole.extents()[axis] as isize;
            let ends = match self.ring[axis] {
                true => {
                    [self.held.low[axis], self.held.high[axis] - 1].map(|at| at.div_euclid(extent))
                }
                false => [0, 0],
            };
            let mut copies: Vec<isize> = (ends[0]..=ends[1]).collect();
            copies.sort_by_key(|copy| (copy.abs(), *copy));
            copies.into_iter().map(move |copy| copy * extent).collect::<Vec<_>>()
        };
        let [z, y, x] = [0, 1, 2].map(along);
        z.into_iter().flat_map(move |z| {
            let x = x.clone();
            y.clone().into_iter().flat_map(move |y| x.clone().into_iter().map(move |x| [z, y, x]))
        })
    }
}

/// The region moved by so many points.
pub fn shifted(region: Region, by: [isize; 3]) -> Region {
    region.shifted(by)
}

/// The points that two regions have in common, if any.
#[must_use]
pub fn common(a: Region, b: Region) -> Option<Region> {
    a.common(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(
        size: &str,
        boundary: &str,
        counts: [usize; 3],
        rank: usize,
        reach: [usize; 3],
    ) -> RankPart {
        let shape: Shape = size.parse().unwrap();
        let partition = Partition::new(shape, counts, [1; 3]).unwrap();
        let boundary = Boundary::parse(boundary, shape.dims()).unwrap();
        RankPart::new(&partition, rank, &boundary, reach, [1; 3])
    }

    #[test]
    fn ghosts_end_with_the_grid_or_go_around_it() {
        let along_x = |part: &RankPart| [part.held.low[2], part.held.high[2]];
        let first = part("10", "zero", [1, 1, 2], 0, [0, 0, 3]);
        assert_eq!(along_x(&first), [0, 8]);
        assert_eq!([first.is_open(2, 0), first.is_open(2, 1)], [false, true]);
        let deep = part("10", "zero", [1, 1, 2], 0, [0, 0, 30]);
        assert_eq!(along_x(&deep), [0, 10]);
        assert!(!deep.is_open(2, 1));
        let ring = part("10", "periodic", [1, 1, 2], 1, [0, 0, 7]);
        assert_eq!(along_x(&ring), [-2, 17]);
        assert_eq!(ring.seams()[2], [2, 12]);
        assert_eq!(ring.copies().map(|copy| copy[2]).collect::<Vec<_>>(), [0, -10, 10]);
        let uncut = part("8x10", "periodic", [1, 2, 1], 0, [0, 1, 7]);
        assert_eq!(along_x(&uncut), [0, 10]);
        assert!(!uncut.is_open(2, 0));
    }

    #[test]
    fn ghosts_end_at_whole_tiles() {
        let shape: Shape = "100x64".parse().unwrap();
        let partition = Partition::new(shape, [1, 3, 1], [1, 8, 1]).unwrap();
        let part = RankPart::new(&partition, 1, &Boundary::default(), [0, 5, 5], [1, 8, 1]);
        assert_eq!([part.own.low[1], part.own.high[1]], [32, 64]);
        assert_eq!([part.held.low[1], part.held.high[1]], [24, 72]);
        assert_eq!(part.local(part.own).low, [0, 8, 0]);
    }
}
