// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shapes that are named by a rule: `star3d4r`, `box1d2r`, `diamond2d3r`, ….
//!
//! Default weights, with d dimensions and radius R:
//! - star: `2^-(3+k)` at distance k on each arm (radius 1 is the heat equation with
//!   α·Δt/Δx² = 1/16);
//! - box: the binomial filter, in each dimension row 2R of Pascal's triangle over `4^R`;
//! - diamond (|z| + |y| + |x| ≤ R): R steps of the star of radius 1 in one.
//!
//! Off the centre they are rounded to the nearest `f16` that is not 0, and the centre takes what
//! remains of 1. So all weights are positive and dyadic and sum to exactly 1: a step neither grows
//! nor shrinks a constant field, and no field outgrows its largest value. `f16` holds every weight
//! off the centre exactly, and up to radius 3 that of the centre too.

use crate::{
    fuse::fuse,
    stencil::{MAX_RADIUS, Stencil, Tap},
};
use half::f16;
use std::{fmt, str::FromStr};
use thiserror::Error;

/// Which neighbours within the radius take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Those on the axes.
    Star,
    /// All.
    Box,
    /// Those with |z| + |y| + |x| ≤ R.
    Diamond,
}

/// A shape: family, dimensions (1 to 3), radius (1 to [`MAX_RADIUS`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    family: Family,
    dims: usize,
    radius: usize,
}

/// Why a text names no shape.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ShapeError {
    /// It does not follow the rule.
    #[error(
        "'{0}' is no shape; shapes are star, box or diamond, dimensions and radius, as in star2d3r"
    )]
    Form(String),
    /// Dimensions other than 1, 2, 3.
    #[error("'{name}' has {dims} dimensions; 1, 2 or 3 are supported")]
    Dims {
        /// The text.
        name: String,
        /// Its dimensions.
        dims: usize,
    },
    /// A radius out of range.
    #[error("'{name}' has radius {radius}; 1 to {MAX_RADIUS} are supported")]
    Radius {
        /// The text.
        name: String,
        /// Its radius.
        radius: usize,
    },
}

impl Shape {
    /// A shape from its parts.
    ///
    /// # Errors
    /// Dimensions other than 1 to 3, or a radius other than 1 to [`MAX_RADIUS`].
    pub fn new(family: Family, dims: usize, radius: usize) -> Result<Self, ShapeError> {
        let shape = Self { family, dims, radius };
        let name = || shape.to_string();
        match (dims, radius) {
            (1..=3, 1..=MAX_RADIUS) => Ok(shape),
            (1..=3, _) => Err(ShapeError::Radius { name: name(), radius }),
            _ => Err(ShapeError::Dims { name: name(), dims }),
        }
    }

    /// Which neighbours take part.
    #[must_use]
    pub fn family(self) -> Family {
        self.family
    }

    /// Number of axes: 1, 2 or 3.
    #[must_use]
    pub fn dims(self) -> usize {
        self.dims
    }

    /// The largest distance on any axis.
    #[must_use]
    pub fn radius(self) -> usize {
        self.radius
    }

    /// The stencil of this shape with its default weights.
    #[must_use]
    pub fn stencil(self) -> Stencil {
        let taps = match self.family {
            Family::Star => self.star(),
            Family::Box => self.binomial(),
            Family::Diamond => self.diamond(),
        };
        let others = taps.into_iter().filter(|tap| tap.offset != [0; 3]);
        let mut taps: Vec<Tap> =
            others.map(|tap| Tap { weight: to_f16(tap.weight), ..tap }).collect();
        let sum: f64 = taps.iter().map(|tap| tap.weight).sum();
        taps.push(Tap { offset: [0; 3], weight: 1.0 - sum });
        Stencil::new(&self.to_string(), self.dims, taps).expect("shapes are valid stencils")
    }

    fn star(self) -> Vec<Tap> {
        let r = self.radius as i32;
        let arms = (-r..=r).filter(|&k| k != 0).flat_map(|k| {
            (3 - self.dims..3).map(move |axis| {
                let mut offset = [0; 3];
                offset[axis] = k;
                Tap { offset, weight: 0.5f64.powi(3 + k.abs()) }
            })
        });
        arms.collect()
    }

    fn binomial(self) -> Vec<Tap> {
        let r = self.radius as i32;
        let span = |axis: usize| if axis >= 3 - self.dims { -r..=r } else { 0..=0 };
        let row = |axis: usize, k: i32| if span(axis) == (0..=0) { 1.0 } else { pascal(r, k) };
        let plane = |z| span(1).flat_map(move |y| span(2).map(move |x| [z, y, x]));
        let taps = span(0).flat_map(plane).map(|offset| {
            let weight = (0..3).map(|axis| row(axis, offset[axis])).product();
            Tap { offset, weight }
        });
        taps.collect()
    }

    fn diamond(self) -> Vec<Tap> {
        let step = Shape { family: Family::Star, radius: 1, ..self }.stencil();
        let steps = fuse(&step, self.radius).expect("the radius is in range");
        steps.taps().to_vec()
    }
}

/// `C(2r, r + k) / 4^r`.
fn pascal(r: i32, k: i32) -> f64 {
    let choose = (1..=r + k).fold(1.0, |c, i| c * f64::from(2 * r + 1 - i) / f64::from(i));
    choose / 4f64.powi(r)
}

/// The nearest `f16`, but not 0, so that every neighbour stays one.
fn to_f16(weight: f64) -> f64 {
    f16::from_f64(weight).max(f16::MIN_POSITIVE_SUBNORMAL).to_f64()
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = match self.family {
            Family::Star => "star",
            Family::Box => "box",
            Family::Diamond => "diamond",
        };
        write!(f, "{family}{}d{}r", self.dims, self.radius)
    }
}

impl FromStr for Shape {
    type Err = ShapeError;

    /// Case, `-` and `_` make no difference.
    fn from_str(name: &str) -> Result<Self, ShapeError> {
        let form = || ShapeError::Form(name.to_owned());
        let plain = super::plain(name);
        let families = [("star", Family::Star), ("box", Family::Box), ("diamond", Family::Diamond)];
        let (rest, family) = families
            .iter()
            .find_map(|(word, family)| Some((plain.strip_prefix(word)?, *family)))
            .ok_or_else(form)?;
        let (dims, radius) =
            rest.strip_suffix('r').and_then(|rest| rest.split_once('d')).ok_or_else(form)?;
        let number = |digits: &str| match digits.bytes().all(|b| b.is_ascii_digit()) {
            true => digits.parse::<usize>().map_err(|_| form()),
            false => Err(form()),
        };
        Self::new(family, number(dims)?, number(radius)?)
    }
}
