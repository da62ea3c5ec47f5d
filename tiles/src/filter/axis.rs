// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a filter finds what lies outside an array, along one axis.

use problem::Boundary;
use problem::boundary::{NeighbourPlace, Side};

/// An axis of an array, of which so many points belong together: they are the values at one place.
pub struct Axis {
    extent: usize,
    /// Of each coordinate before the first, the furthest first, and of each behind the last: where its value is in the array,
    /// or else what it is.
    before: Vec<Result<usize, f64>>,
    behind: Vec<Result<usize, f64>>,
}

impl Axis {
    /// An axis whose coordinates from `reached[0]` before the first to `reached[1]` behind the last are asked for. Of
    /// `extent` points `step` belong together.
    pub fn new(extent: usize, step: usize, side: Side, reached: [usize; 2]) -> Self {
        let boundary = Boundary { sides: [[side; 2]; 3] };
        let places = extent / step;
        let resolve = |coordinate: isize| {
            let (place, part) =
                (coordinate.div_euclid(step as isize), coordinate.rem_euclid(step as isize));
            match boundary.resolve(0, place, places) {
                NeighbourPlace::Inside(place, _) => Ok(place * step + part as usize),
                NeighbourPlace::Value(value) => Err(value),
            }
        };
        let [before, behind] = reached.map(|it| it as isize);
        Self {
            extent,
            before: (-before..0).map(resolve).collect(),
            behind: (extent as isize..extent as isize + behind).map(resolve).collect(),
        }
    }

    /// Where the value of a coordinate is in the array, or else what it is.
    pub fn place(&self, coordinate: isize) -> Result<usize, f64> {
        match usize::try_from(coordinate) {
            Err(_) => self.before[self.before.len().strict_add_signed(coordinate)],
            Ok(inside) if inside < self.extent => Ok(inside),
            Ok(behind) => self.behind[behind - self.extent],
        }
    }
}
