// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a stencil reads outside the grid.

use serde::{Deserialize, Serialize};
use std::fmt;

mod hint;
mod image;
mod kinds;
mod parse;

pub use image::Image;

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
    /// The grid's mirror image about the middle between its last point and the first one outside, with the sign changed, so that
    /// 0 lies in that middle: -b -a | a b.
    Odd,
    /// The grid's mirror image about its last point with the sign changed; the last point itself counts as it is: -c -b | a b c.
    OddReflect,
    /// Of `[a, b, c]` what makes a u + b du/dn = c in the middle between the last point and the first one outside, where n goes
    /// outwards and counts points: see [`Side::image`].
    Robin([f64; 3]),
    /// A value that an expression of the problem says, by its number. Whoever takes equations adds it to the 0 that is found here.
    Varying(usize),
    /// A slope that an expression of the problem says, by its number. Whoever takes equations adds it to the value of the nearest
    /// point, which is found here.
    VaryingFlux(usize),
    /// More of a larger grid, which somebody else holds (`compute::ranks`): what depends on it is not wanted, and zeros do
    /// as well as anything. Never of a whole grid.
    Open,
}

/// From where in the grid a side takes the value at a place beyond it; [`Side::image`] says what becomes of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SideSource {
    /// From no point of the grid.
    Nowhere,
    /// The point that lies as far inside of the other end as the place lies outside of this one.
    OtherEnd,
    /// The mirror image about the last point.
    Mirror,
    /// The mirror image about the middle between the last point and the first one outside.
    HalfMirror,
    /// The last point.
    Nearest,
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

/// The place that a boundary maps a neighbour's coordinate to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NeighbourPlace {
    /// At a coordinate of the grid, and what becomes of the value there.
    Inside(usize, Image),
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
        let zero = |side: &Side| {
            matches!(side, Side::Zero | Side::Constant(0.0) | Side::Open | Side::Varying(_))
        };
        self.sides.iter().flatten().all(zero)
    }

    /// Whether all values beyond sides are 0, constants, or values of the grid with at most a slope added to them: kernels of
    /// sums know no others.
    ///
    /// # Errors
    /// The first side of another kind.
    pub fn check_plain(&self) -> Result<(), Side> {
        let is_other = |side: &&Side| match side {
            Side::Zero | Side::Constant(_) | Side::Periodic | Side::Open => false,
            Side::Reflect | Side::Symmetric | Side::Edge | Side::Flux(_) => false,
            Side::Odd | Side::OddReflect | Side::Robin(_) => true,
            Side::Varying(_) | Side::VaryingFlux(_) => true,
        };
        self.sides.iter().flatten().find(is_other).map_or(Ok(()), |side| Err(*side))
    }

    /// Whether an expression says what lies beyond some side.
    #[must_use]
    pub fn varies(&self) -> bool {
        let varies = |side: &Side| matches!(side, Side::Varying(_) | Side::VaryingFlux(_));
        self.sides.iter().flatten().any(varies)
    }

    /// With every constant and every slope as a type stores it. The numbers of Robin's condition are those that were given.
    #[must_use]
    pub fn map_constants(self, store: impl Fn(f64) -> f64) -> Self {
        let stored = |side| match side {
            Side::Constant(value) => Side::Constant(store(value)),
            Side::Flux(slope) => Side::Flux(store(slope)),
            other => other,
        };
        Self { sides: self.sides.map(|axis| axis.map(&stored)) }
    }

    /// With the sides that make of values of the grid what these do, and add nothing: of constants zeros, of slopes the nearest
    /// value.
    #[must_use]
    pub fn without_added(self) -> Self {
        let own = |side| match side {
            Side::Constant(_) | Side::Varying(_) => Side::Zero,
            Side::Flux(_) | Side::VaryingFlux(_) => Side::Edge,
            Side::Robin([a, b, _]) => Side::Robin([a, b, 0.0]),
            other => other,
        };
        Self { sides: self.sides.map(|axis| axis.map(own)) }
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
    /// grid and the constants: slopes over as many points as it reaches, and what each of as many images of images adds; those of
    /// all axes in a corner.
    #[must_use]
    pub fn rise(&self, radii: [usize; 3]) -> f64 {
        let most = |sides: &[Side; 2], radius: usize| {
            sides.iter().fold(0.0, |most: f64, side| match side {
                Side::Flux(slope) => slope.abs().max(most),
                Side::Robin(_) if radius > 0 => side.image(radius).added.abs().max(most),
                _ => most,
            })
        };
        let along = self.sides.iter().zip(radii);
        along.map(|(sides, radius)| most(sides, radius) * radius as f64).sum()
    }

    /// Axes along which values beyond a side are sums, which rounds them.
    #[must_use]
    pub fn sloped_axes(&self) -> usize {
        let sloped = |side: &Side| match side {
            Side::Flux(slope) => *slope != 0.0,
            Side::Robin(_) => true,
            _ => false,
        };
        self.sides.iter().filter(|sides| sides.iter().any(sloped)).count()
    }

    /// Where a coordinate of an axis with `extent` points leads.
    #[must_use]
    pub fn resolve(&self, axis: usize, coordinate: isize, extent: usize) -> NeighbourPlace {
        self.resolve_by(axis, coordinate, extent, &mut |_, _, _| ())
    }

    /// Where a coordinate of an axis with `extent` points leads; `passed` is told of each side on the way, how many points
    /// beyond it the way has come to, and what becomes of what is there.
    pub fn resolve_by(
        &self,
        axis: usize,
        coordinate: isize,
        extent: usize,
        passed: &mut dyn FnMut(Side, usize, Image),
    ) -> NeighbourPlace {
        let (sides, n) = (self.sides[axis], extent as isize);
        let (mut at, mut image) = (coordinate, Image::SAME);
        // Between two mirrors at the only point there is nothing else to be seen.
        let mirrors = n == 1 && sides.iter().all(|side| side.source() == SideSource::Mirror);
        loop {
            let (side, edge, mirrored) = match at {
                _ if at < 0 => (sides[0], 0, -at),
                _ if at >= n => (sides[1], n - 1, 2 * (n - 1) - at),
                _ => return NeighbourPlace::Inside(at as usize, image),
            };
            let distance = (at - edge).unsigned_abs();
            passed(side, distance, image);
            let next = match side.source() {
                SideSource::Nowhere => {
                    let value = if let Side::Constant(value) = side { value } else { 0.0 };
                    return NeighbourPlace::Value(image.of(value));
                }
                SideSource::OtherEnd => at.rem_euclid(n),
                SideSource::Mirror if mirrors => {
                    return match sides {
                        [Side::Reflect, Side::Reflect] => NeighbourPlace::Inside(0, image),
                        _ => NeighbourPlace::Value(image.of(0.0)),
                    };
                }
                SideSource::Mirror => mirrored,
                SideSource::HalfMirror if at < 0 => mirrored - 1,
                SideSource::HalfMirror => mirrored + 1,
                SideSource::Nearest => edge,
            };
            (at, image) = (next, image.after(side.image(distance)));
        }
    }

    /// The point (z, y, x) of a grid that a point leads to, and what becomes of its value.
    ///
    /// # Errors
    /// The value that is there instead.
    pub fn find(&self, point: [isize; 3], extents: [usize; 3]) -> Result<([usize; 3], Image), f64> {
        let (mut found, mut image) = ([0; 3], Image::SAME);
        for axis in [2, 1, 0] {
            match self.resolve(axis, point[axis], extents[axis]) {
                NeighbourPlace::Inside(at, own) => {
                    found[axis] = at;
                    image = image.after(own);
                }
                NeighbourPlace::Value(value) => return Err(image.of(value)),
            }
        }
        Ok((found, image))
    }

    /// With the numbers of Robin's condition for points that lie so far apart along z, y, x.
    #[must_use]
    pub fn with_spacing(mut self, spacing: [f64; 3]) -> Self {
        for (sides, spacing) in self.sides.iter_mut().zip(spacing) {
            for side in sides {
                if let Side::Robin([_, b, _]) = side {
                    *b /= spacing;
                }
            }
        }
        self
    }

    /// The boundary of a grid of `dims` axes as a text that can be read again.
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

impl Side {
    /// From where it takes the values beyond it.
    #[must_use]
    pub fn source(self) -> SideSource {
        match self {
            Self::Zero | Self::Constant(_) | Self::Varying(_) | Self::Open => SideSource::Nowhere,
            Self::Periodic => SideSource::OtherEnd,
            Self::Reflect | Self::OddReflect => SideSource::Mirror,
            Self::Symmetric | Self::Odd | Self::Robin(_) => SideSource::HalfMirror,
            Self::Edge | Self::Flux(_) | Self::VaryingFlux(_) => SideSource::Nearest,
        }
    }

    /// What becomes of the value of a point of the grid at the place, so many points outside, where this side has it again.
    ///
    /// Robin's condition a u + b du/dn = c is met at the mirror, with the mean and the difference of the two values, which lie
    /// 2k - 1 points apart: u' = ((b/(2k-1) - a/2) u + c) / (b/(2k-1) + a/2). Both are of second order in that distance.
    #[must_use]
    pub fn image(self, distance: usize) -> Image {
        match self {
            Self::Odd | Self::OddReflect => Image { factor: -1.0, added: 0.0 },
            Self::Flux(slope) => Image { factor: 1.0, added: slope * distance as f64 },
            Self::Robin([a, b, c]) => {
                let across = b / (2 * distance - 1) as f64;
                let whole = across + a / 2.0;
                Image { factor: (across - a / 2.0) / whole, added: c / whole }
            }
            Self::Zero | Self::Constant(_) | Self::Varying(_) | Self::Open => Image::SAME,
            Self::Periodic | Self::Reflect | Self::Symmetric => Image::SAME,
            Self::Edge | Self::VaryingFlux(_) => Image::SAME,
        }
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
            Self::Odd => f.write_str("odd"),
            Self::OddReflect => f.write_str("odd-reflect"),
            Self::Robin([a, b, c]) => write!(f, "robin={a},{b},{c}"),
            Self::Varying(_) => f.write_str("constant=(an expression)"),
            Self::VaryingFlux(_) => f.write_str("flux=(an expression)"),
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

    fn inside(at: usize, added: f64) -> NeighbourPlace {
        NeighbourPlace::Inside(at, Image { factor: 1.0, added })
    }

    /// The coordinates that -4 to 6 lead to on an axis of 3 points, by hand.
    #[test]
    fn coordinates_outside_lead_where_numpy_pad_says() {
        let map = |text: &str, n: usize| -> Vec<NeighbourPlace> {
            (-4..7).map(|at| boundary(text).resolve(2, at, n)).collect()
        };
        let inside =
            |places: [usize; 11]| places.map(|at| NeighbourPlace::Inside(at, Image::SAME)).to_vec();
        assert_eq!(map("reflect", 3), inside([0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2]));
        assert_eq!(map("periodic", 3), inside([2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0]));
        assert_eq!(map("edge", 3), inside([0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2]));
        assert_eq!(map("symmetric", 3), inside([2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0]));
        for kind in ["reflect", "symmetric", "periodic", "edge"] {
            assert_eq!(map(kind, 1), inside([0; 11]), "{kind}");
        }
        let one_sided = boundary("x-:reflect,x+:constant=7");
        assert_eq!(one_sided.resolve(2, -2, 3), NeighbourPlace::Inside(2, Image::SAME));
        assert_eq!(one_sided.resolve(2, -3, 3), NeighbourPlace::Value(7.0));
        assert_eq!(one_sided.resolve(2, -1, 1), NeighbourPlace::Value(7.0));
    }

    #[test]
    fn a_slope_adds_as_much_as_a_point_is_far_from_the_edge() {
        let sloped = boundary("x-:flux=0.5,x+:flux=-2");
        let found = |at: isize| sloped.resolve(2, at, 3);
        assert_eq!(found(-1), inside(0, 0.5));
        assert_eq!(found(-4), inside(0, 2.0));
        assert_eq!(found(2), inside(2, 0.0));
        assert_eq!(found(3), inside(2, -2.0));
        assert_eq!(found(6), inside(2, -8.0));
    }

    /// The image in a mirror of what lies behind another side.
    #[test]
    fn mirrors_show_edges_and_slopes_of_the_other_side() {
        let mixed = boundary("x-:reflect,x+:flux=1");
        assert_eq!(mixed.resolve(2, -2, 3), inside(2, 0.0));
        assert_eq!(mixed.resolve(2, -4, 3), inside(2, 2.0));
        assert_eq!(mixed.resolve(2, -1, 1), inside(0, 1.0));
        let mixed = boundary("x-:edge,x+:reflect");
        assert_eq!(mixed.resolve(2, 5, 3), inside(0, 0.0));
        assert_eq!(mixed.resolve(2, 1, 1), inside(0, 0.0));
    }

    /// As `numpy.pad` along z, then y, then x.
    #[test]
    fn in_corners_slopes_add_up_until_a_value_is_found() {
        let extents = [3, 3, 3];
        let rise = |added: f64| Image { factor: 1.0, added };
        let all = boundary("x:flux=1,y:flux=10,z:flux=100");
        assert_eq!(all.find([-1, 4, -3], extents), Ok(([0, 2, 0], rise(123.0))));
        assert_eq!(all.find([1, 1, 1], extents), Ok(([1, 1, 1], rise(0.0))));
        let held = boundary("x:flux=1,y:constant=7,z:flux=100");
        assert_eq!(held.find([-1, 4, -3], extents), Err(10.0));
        assert_eq!(held.find([-1, 1, -3], extents), Ok(([0, 1, 0], rise(103.0))));
        let held = boundary("x:constant=7,y:flux=10");
        assert_eq!(held.find([1, 4, -3], extents), Err(7.0));
        assert_eq!(all.rise([1, 0, 2]), 102.0);
        assert_eq!((all.sloped_axes(), held.sloped_axes()), (3, 1));
    }

    /// What -3 to 5 have on an axis with the values 10, 20, 30, by hand.
    #[test]
    fn odd_sides_show_the_grid_with_the_sign_changed() {
        let row = |text: &str| -> Vec<f64> {
            let of = |at| match boundary(text).resolve(2, at, 3) {
                NeighbourPlace::Inside(at, image) => image.of([10.0, 20.0, 30.0][at]),
                NeighbourPlace::Value(value) => value,
            };
            (-3..6).map(of).collect()
        };
        let odd = [-30.0, -20.0, -10.0, 10.0, 20.0, 30.0, -30.0, -20.0, -10.0];
        assert_eq!(row("odd"), odd);
        // Images of images: the far end's sign is changed, too.
        let reflected = [20.0, -30.0, -20.0, 10.0, 20.0, 30.0, -20.0, -10.0, 20.0];
        assert_eq!(row("odd-reflect"), reflected);
        let mixed = [-30.0, -20.0, -10.0, 10.0, 20.0, 30.0, 7.0, 7.0, 7.0];
        assert_eq!(row("x-:odd,x+:constant=7"), mixed);
        assert_eq!(boundary("x-:odd,x+:constant=7").resolve(2, -4, 3), NeighbourPlace::Value(-7.0));
        assert_eq!(boundary("x-:odd,x+:flux=1").resolve(2, -2, 1), inside_of(-1.0, -1.0));
        assert_eq!(boundary("odd-reflect").resolve(2, -1, 1), NeighbourPlace::Value(0.0));
        assert_eq!(boundary("odd").resolve(2, -2, 1), inside(0, 0.0));
    }

    fn inside_of(factor: f64, added: f64) -> NeighbourPlace {
        NeighbourPlace::Inside(0, Image { factor, added })
    }

    /// The outermost condition is that of x: what y and z make of a value has its image.
    #[test]
    fn in_corners_factors_multiply_and_what_is_added_has_its_image() {
        let both = boundary("x:odd,y:flux=10,z:odd");
        let found = both.find([1, 4, -1], [3; 3]);
        assert_eq!(found, Ok(([1, 2, 0], Image { factor: -1.0, added: -20.0 })));
        assert_eq!(both.find([-1, 1, -1], [3; 3]), Ok(([0, 1, 0], Image::SAME)));
        assert_eq!(boundary("x:odd,y:constant=7").find([1, -1, 3], [3; 3]), Err(-7.0));
    }

    #[test]
    fn the_condition_of_robin_holds_between_a_point_and_its_image() {
        let [a, b, c] = [2.0, 3.0, 5.0];
        let side = boundary("x:robin=2,3,5");
        for distance in 1..4 {
            let NeighbourPlace::Inside(at, image) = side.resolve(2, -distance, 9) else { panic!() };
            assert_eq!(at as isize, distance - 1);
            let [inside, outside] = [0.7, image.of(0.7)];
            let met =
                a * (inside + outside) / 2.0 + b * (outside - inside) / (2 * distance - 1) as f64;
            assert!((met - c).abs() < 1e-14, "{met}");
        }
        assert_eq!(boundary("robin=1,0,0").resolve(2, -1, 3), inside_of(-1.0, 0.0));
        assert_eq!(boundary("robin=0,1,2").resolve(2, -1, 3), inside(0, 2.0));
        let spaced = boundary("robin=1,4,0").with_spacing([1.0, 1.0, 2.0]).sides;
        assert_eq!(
            (spaced[1][0], spaced[2][0]),
            (Side::Robin([1.0, 4.0, 0.0]), Side::Robin([1.0, 2.0, 0.0]))
        );
        assert_eq!(boundary("x:robin=0,1,2").rise([0, 0, 2]), 12.0);
    }
}
