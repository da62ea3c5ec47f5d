// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a stencil reads outside the grid.

use std::fmt;

mod hint;
mod parse;

/// What lies beyond one side of the grid, at every time step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
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
}

/// What lies around a grid.
///
/// A point that is outside along several axes follows the rule of x first, then of y, then of z: as
/// `numpy.pad` applied to one axis after the other, z first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Boundary {
    /// Of each axis (z, y, x) the side before the first point and the one after the last.
    pub sides: [[Side; 2]; 3],
}

/// Where a stencil finds a neighbour's coordinate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// At a coordinate of the grid.
    Inside(usize),
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
        let zero = |side: &Side| matches!(side, Side::Zero | Side::Constant(0.0));
        self.sides.iter().flatten().all(zero)
    }

    /// With every constant as a type stores it.
    #[must_use]
    pub fn map_constants(self, store: impl Fn(f64) -> f64) -> Self {
        let stored =
            |side| if let Side::Constant(v) = side { Side::Constant(store(v)) } else { side };
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

    /// Where a coordinate of an axis with `extent` points leads.
    #[must_use]
    pub fn resolve(&self, axis: usize, coordinate: isize, extent: usize) -> Place {
        let (sides, n) = (self.sides[axis], extent as isize);
        let mut at = coordinate;
        loop {
            let (side, mirrored) = match at {
                _ if at < 0 => (sides[0], -at),
                _ if at >= n => (sides[1], 2 * (n - 1) - at),
                _ => return Place::Inside(at as usize),
            };
            at = match side {
                Side::Zero => return Place::Value(0.0),
                Side::Constant(value) => return Place::Value(value),
                Side::Periodic => at.rem_euclid(n),
                // Between two mirrors at the only point there is nothing else to be seen.
                Side::Reflect if n == 1 && sides == [Side::Reflect; 2] => 0,
                Side::Reflect => mirrored,
            };
        }
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
            // Without hundreds of zeros.
            Self::Constant(value) if value.abs() >= 1e16 => write!(f, "constant={value:e}"),
            Self::Constant(value) => write!(f, "constant={value}"),
            Self::Periodic => f.write_str("periodic"),
            Self::Reflect => f.write_str("reflect"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boundary(text: &str) -> Boundary {
        Boundary::parse(text, 3).unwrap()
    }

    /// The coordinates that -7 to 9 lead to on an axis of 3 points, by hand.
    #[test]
    fn coordinates_outside_lead_where_numpy_pad_says() {
        let map = |text: &str, n: usize| -> Vec<Place> {
            (-4..7).map(|at| boundary(text).resolve(2, at, n)).collect()
        };
        let inside = |places: [usize; 11]| places.map(Place::Inside).to_vec();
        assert_eq!(map("reflect", 3), inside([0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2]));
        assert_eq!(map("periodic", 3), inside([2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0]));
        assert_eq!(map("reflect", 1), inside([0; 11]));
        assert_eq!(map("periodic", 1), inside([0; 11]));
        let one_sided = boundary("x-:reflect,x+:constant=7");
        assert_eq!(one_sided.resolve(2, -2, 3), Place::Inside(2));
        assert_eq!(one_sided.resolve(2, -3, 3), Place::Value(7.0));
        assert_eq!(one_sided.resolve(2, -1, 1), Place::Value(7.0));
    }
}
