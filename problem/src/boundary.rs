// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a stencil reads outside the grid.

use serde::{Deserialize, Serialize};
use std::fmt;

mod hint;
mod parse;

/// What lies beyond one side of the grid, at every time step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Side {
    /// Zeros.
    #[default]
    Zero,
    /// One value everywhere.
    Constant(f64),
    /// The grid again, from its other side on.
    Periodic,
    /// The grid's mirror image about its last point, which is not repeated (numpy's `reflect`).
    Reflect,
    /// The grid's mirror image about the middle between its last point and the first one outside, so that the last point is
    /// repeated: d c b a | a b c d (numpy's `symmetric`, scipy's `reflect`).
    Symmetric,
    /// The value of the nearest point of the grid (numpy's `edge`).
    Edge,
    /// The value of the nearest point of the grid, and so much more with each point outwards.
    Flux(f64),
    /// More of a larger grid, which somebody else holds (`compute::ranks`): what depends on it is not wanted, and zeros do
    /// as well as anything. Never of a whole grid.
    Open,
}

/// What lies around a grid.
///
/// A point that is outside along several axes follows the rule of x first, then of y, then of z: as
/// `numpy.pad` applied to one axis after the other, z first. What slopes add, adds up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Boundary {
    /// Of each axis (z, y, x) the side before the first point and the one after the last.
    pub sides: [[Side; 2]; 3],
}

/// Where a stencil finds a neighbour's coordinate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// At a coordinate of the grid; what is found there has so much added to it.
    Inside(usize, f64),
    /// Nowhere: it has this value.
    Value(f64),
}

const AXES: [&str; 3] = ["z", "y", "x"];

/// The axis of that name, in a grid of so many.
fn axis(name: &str, dims: usize) -> Option<usize> {
    (3 - dims..3).find(|&known| AXES[known] == name)
}

impl Boundary {
    /// Whether zeros lie all around.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        let zero = |side: &Side| matches!(side, Side::Zero | Side::Constant(0.0) | Side::Open);
        self.sides.iter().flatten().all(zero)
    }

    /// With every constant and every slope as a type stores it.
    #[must_use]
    pub fn map_constants(self, store: impl Fn(f64) -> f64) -> Self {
        let stored = |side| match side {
            Side::Constant(value) => Side::Constant(store(value)),
            Side::Flux(slope) => Side::Flux(store(slope)),
            other => other,
        };
        Self { sides: self.sides.map(|axis| axis.map(&stored)) }
    }

    /// The largest absolute constant.
    #[must_use]
    pub fn largest(&self) -> f64 {
        let constants = self.sides.iter().flatten();
        constants.fold(0.0, |most, side| match side {
            Side::Constant(value) => value.abs().max(most),
            _ => most,
        })
    }

    /// By how much a value that a stencil of these radii (z, y, x) reads beyond sides may exceed the largest of the
    /// grid and the constants: slopes over as many points as it reaches, those of all axes in a corner.
    #[must_use]
    pub fn rise(&self, radii: [usize; 3]) -> f64 {
        let steepest = |sides: &[Side; 2]| {
            sides.iter().fold(0.0, |most: f64, side| match side {
                Side::Flux(slope) => slope.abs().max(most),
                _ => most,
            })
        };
        self.sides.iter().zip(radii).map(|(sides, radius)| steepest(sides) * radius as f64).sum()
    }

    /// Axes along which values beyond a side are sums, which rounds them.
    #[must_use]
    pub fn sloped_axes(&self) -> usize {
        let sloped = |side: &Side| matches!(side, Side::Flux(slope) if *slope != 0.0);
        self.sides.iter().filter(|sides| sides.iter().any(sloped)).count()
    }

    /// Where a coordinate of an axis with `extent` points leads.
    #[must_use]
    pub fn resolve(&self, axis: usize, coordinate: isize, extent: usize) -> Place {
        let (sides, n) = (self.sides[axis], extent as isize);
        let mut at = coordinate;
        loop {
            let (side, edge, mirrored) = match at {
                _ if at < 0 => (sides[0], 0, -at),
                _ if at >= n => (sides[1], n - 1, 2 * (n - 1) - at),
                _ => return Place::Inside(at as usize, 0.0),
            };
            at = match side {
                Side::Zero | Side::Open => return Place::Value(0.0),
                Side::Constant(value) => return Place::Value(value),
                Side::Periodic => at.rem_euclid(n),
                // Between two mirrors at the only point there is nothing else to be seen.
                Side::Reflect if n == 1 && sides == [Side::Reflect; 2] => 0,
                Side::Reflect => mirrored,
                Side::Symmetric if at < 0 => mirrored - 1,
                Side::Symmetric => mirrored + 1,
                Side::Edge => return Place::Inside(edge as usize, 0.0),
                Side::Flux(slope) => {
                    return Place::Inside(edge as usize, slope * (at - edge).abs() as f64);
                }
            };
        }
    }

    /// The point (z, y, x) of a grid that a point leads to, and what is added to its value.
    ///
    /// # Errors
    /// The value that is there instead.
    pub fn find(&self, point: [isize; 3], extents: [usize; 3]) -> Result<([usize; 3], f64), f64> {
        let (mut found, mut more) = ([0; 3], 0.0);
        for axis in [2, 1, 0] {
            match self.resolve(axis, point[axis], extents[axis]) {
                Place::Inside(at, rise) => {
                    found[axis] = at;
                    more += rise;
                }
                Place::Value(value) => return Err(value + more),
            }
        }
        Ok((found, more))
    }

    /// That of a grid of `dims` axes, as it is read.
    #[must_use]
    pub fn describe(&self, dims: usize) -> String {
        let sides = &self.sides[3 - dims..];
        let usual = sides[0][0];
        if sides.iter().flatten().all(|side| *side == usual) {
            return usual.to_string();
        }
        let axes = AXES.iter().zip(self.sides).rev().take(dims);
        let axes = axes.map(|(axis, [low, high])| match low == high {
            true => format!("{axis}:{low}"),
            false => format!("{axis}-:{low},{axis}+:{high}"),
        });
        axes.collect::<Vec<_>>().join(",")
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Zero => f.write_str("zero"),
            Self::Constant(value) => write_number(f, "constant", *value),
            Self::Periodic => f.write_str("periodic"),
            Self::Reflect => f.write_str("reflect"),
            Self::Symmetric => f.write_str("symmetric"),
            Self::Edge => f.write_str("edge"),
            Self::Open => f.write_str("open"),
            Self::Flux(slope) => write_number(f, "flux", *slope),
        }
    }
}

fn write_number(f: &mut fmt::Formatter, kind: &str, value: f64) -> fmt::Result {
    // Without hundreds of zeros.
    if value.abs() >= 1e16 { write!(f, "{kind}={value:e}") } else { write!(f, "{kind}={value}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boundary(text: &str) -> Boundary {
        Boundary::parse(text, 3).unwrap()
    }

    /// The coordinates that -4 to 6 lead to on an axis of 3 points, by hand.
    #[test]
    fn coordinates_outside_lead_where_numpy_pad_says() {
        let map = |text: &str, n: usize| -> Vec<Place> {
            (-4..7).map(|at| boundary(text).resolve(2, at, n)).collect()
        };
        let inside = |places: [usize; 11]| places.map(|at| Place::Inside(at, 0.0)).to_vec();
        assert_eq!(map("reflect", 3), inside([0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2]));
        assert_eq!(map("periodic", 3), inside([2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0]));
        assert_eq!(map("edge", 3), inside([0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2]));
        assert_eq!(map("symmetric", 3), inside([2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0]));
        for kind in ["reflect", "symmetric", "periodic", "edge"] {
            assert_eq!(map(kind, 1), inside([0; 11]), "{kind}");
        }
        let one_sided = boundary("x-:reflect,x+:constant=7");
        assert_eq!(one_sided.resolve(2, -2, 3), Place::Inside(2, 0.0));
        assert_eq!(one_sided.resolve(2, -3, 3), Place::Value(7.0));
        assert_eq!(one_sided.resolve(2, -1, 1), Place::Value(7.0));
    }

    #[test]
    fn a_slope_adds_as_much_as_a_point_is_far_from_the_edge() {
        let sloped = boundary("x-:flux=0.5,x+:flux=-2");
        let found = |at: isize| sloped.resolve(2, at, 3);
        assert_eq!(found(-1), Place::Inside(0, 0.5));
        assert_eq!(found(-4), Place::Inside(0, 2.0));
        assert_eq!(found(2), Place::Inside(2, 0.0));
        assert_eq!(found(3), Place::Inside(2, -2.0));
        assert_eq!(found(6), Place::Inside(2, -8.0));
    }

    /// The image in a mirror of what lies behind another side.
    #[test]
    fn mirrors_show_edges_and_slopes_of_the_other_side() {
        let mixed = boundary("x-:reflect,x+:flux=1");
        assert_eq!(mixed.resolve(2, -2, 3), Place::Inside(2, 0.0));
        assert_eq!(mixed.resolve(2, -4, 3), Place::Inside(2, 2.0));
        assert_eq!(mixed.resolve(2, -1, 1), Place::Inside(0, 1.0));
        let mixed = boundary("x-:edge,x+:reflect");
        assert_eq!(mixed.resolve(2, 5, 3), Place::Inside(0, 0.0));
        assert_eq!(mixed.resolve(2, 1, 1), Place::Inside(0, 0.0));
    }

    /// As `numpy.pad` along z, then y, then x.
    #[test]
    fn in_corners_slopes_add_up_until_a_value_is_found() {
        let extents = [3, 3, 3];
        let all = boundary("x:flux=1,y:flux=10,z:flux=100");
        assert_eq!(all.find([-1, 4, -3], extents), Ok(([0, 2, 0], 123.0)));
        assert_eq!(all.find([1, 1, 1], extents), Ok(([1, 1, 1], 0.0)));
        let held = boundary("x:flux=1,y:constant=7,z:flux=100");
        assert_eq!(held.find([-1, 4, -3], extents), Err(10.0));
        assert_eq!(held.find([-1, 1, -3], extents), Ok(([0, 1, 0], 103.0)));
        let held = boundary("x:constant=7,y:flux=10");
        assert_eq!(held.find([1, 4, -3], extents), Err(7.0));
        assert_eq!(all.rise([1, 0, 2]), 102.0);
        assert_eq!((all.sloped_axes(), held.sloped_axes()), (3, 1));
    }
}
