// SPDX-License-Identifier: MIT OR Apache-2.0
//! Places between points: what is added there is shared among points around, and what is recorded there is made of them.
//!
//! - `linear`: of the two points of each axis between which the place lies.
//! - `sinc`: Hicks, "Arbitrary source and receiver positioning in finite-difference schemes using Kaiser windowed sinc
//!   functions" (2002): of the eight points of each axis around it. Waves that the scheme resolves see a point source there.
//!
//! Shares that would lie beyond the grid are left out.

use problem::Shape;
use problem::names::{self, UnknownName};
use strum::{EnumString, VariantArray};

/// How values at a place between points follow from those at points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumString, VariantArray, strum::Display)]
#[strum(parse_err_ty = UnknownName, parse_err_fn = names::unknown::<Interpolation>, serialize_all = "lowercase")]
pub enum Interpolation {
    /// Straight lines along each axis.
    #[default]
    Linear,
    /// A windowed sinc along each axis.
    Sinc,
}

/// What a place is measured in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumString, VariantArray, strum::Display)]
#[strum(parse_err_ty = UnknownName, parse_err_fn = names::unknown::<Units>, serialize_all = "lowercase")]
pub enum Units {
    /// Points from the first one on.
    #[default]
    Points,
    /// Coordinates, which the first point has 0 of.
    Coordinates,
}

/// Points of an axis to either side that a sinc takes.
const HALF: f64 = 4.0;
/// The shape of Kaiser's window: that of Hicks for waves of at least four points.
const SHAPE: f64 = 6.31;

impl Interpolation {
    /// The points with the weights of a place (z, y, x), in distances of points from the first one on.
    #[must_use]
    pub fn weights(self, place: [f64; 3], shape: Shape) -> Vec<([usize; 3], f64)> {
        let axes: [Vec<(usize, f64)>; 3] =
            std::array::from_fn(|axis| self.along(place[axis], shape.extents()[axis]));
        let [along_z, along_y, along_x] = &axes;
        let mut all = Vec::new();
        for (z, of_z) in along_z {
            for (y, of_y) in along_y {
                all.extend(along_x.iter().map(|(x, of_x)| ([*z, *y, *x], of_z * of_y * of_x)));
            }
        }
        all
    }

    /// The points of an axis of so many with their weights.
    fn along(self, place: f64, extent: usize) -> Vec<(usize, f64)> {
        let first = place.floor();
        // A place that is a point needs no other one.
        if place == first {
            return vec![(place as usize, 1.0)];
        }
        let (before, behind) = match self {
            Self::Linear => (0.0, 1.0),
            Self::Sinc => (HALF - 1.0, HALF),
        };
        let weight = |far: f64| match self {
            Self::Linear => 1.0 - far.abs(),
            Self::Sinc => sinc(far) * window(far / HALF),
        };
        let points = (-before as i32..=behind as i32).map(|at| first + f64::from(at));
        let points = points.filter(|point| (0.0..extent as f64).contains(point));
        points.map(|point| (point as usize, weight(place - point))).collect()
    }
}

/// sin(πx) / πx
fn sinc(x: f64) -> f64 {
    let angle = std::f64::consts::PI * x;
    angle.sin() / angle
}

/// Kaiser's window at a part of its half width.
fn window(part: f64) -> f64 {
    bessel(SHAPE * (1.0 - part * part).max(0.0).sqrt()) / bessel(SHAPE)
}

/// The modified Bessel function of the first kind of order 0, by its series.
fn bessel(x: f64) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    for n in 1..40 {
        term *= (x / (2.0 * f64::from(n))).powi(2);
        sum += term;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_is_a_point_is_that_point() {
        let shape = Shape::new(&[5, 6]).unwrap();
        for how in [Interpolation::Linear, Interpolation::Sinc] {
            assert_eq!(how.weights([0.0, 4.0, 2.0], shape), [([0, 4, 2], 1.0)]);
        }
        let linear = Interpolation::Linear.weights([0.0, 1.25, 2.0], shape);
        assert_eq!(linear, [([0, 1, 2], 0.75), ([0, 2, 2], 0.25)]);
    }

    /// What waves of at least four points have between points.
    #[test]
    fn waves_are_interpolated() {
        let shape = Shape::new(&[40]).unwrap();
        let found = |how: Interpolation, place: f64, length: f64| {
            let value = |at: f64| (2.0 * std::f64::consts::PI * at / length).cos();
            let weights = how.weights([0.0, 0.0, place], shape);
            let sum: f64 = weights.iter().map(|([.., x], weight)| weight * value(*x as f64)).sum();
            (sum - value(place)).abs()
        };
        for place in [20.1, 20.5, 20.77] {
            for (length, most) in [(4.0, 0.004), (5.0, 0.002), (10.0, 0.002), (40.0, 0.002)] {
                let sinc = found(Interpolation::Sinc, place, length);
                assert!(sinc < most, "{place} of {length}: {sinc}");
            }
            let linear = found(Interpolation::Linear, place, 100.0);
            assert!(linear < 0.001, "{place}: {linear}");
        }
    }

    #[test]
    fn what_lies_beyond_the_grid_is_left_out() {
        let shape = Shape::new(&[3]).unwrap();
        let weights = Interpolation::Sinc.weights([0.0, 0.0, 1.5], shape);
        assert_eq!(weights.iter().map(|([.., x], _)| *x).collect::<Vec<_>>(), [0, 1, 2]);
    }
}
