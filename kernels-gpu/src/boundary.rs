// SPDX-License-Identifier: MIT OR Apache-2.0
//! A grid and what lies around it, as kernels take them: what `stencil::Boundary` says, in words.
//!
//! A point that is outside along several axes follows the rule of x first, then of y, then of z; what slopes add, adds
//! up.

use core::ops::{Add, Mul};

/// Kind of a side: one value everywhere.
pub const CONSTANT: u32 = 0;
/// Kind of a side: the grid again, from its other side on; of an axis both sides or none.
pub const PERIODIC: u32 = 1;
/// Kind of a side: the mirror image, about where [`Axis::low_mirror`] or [`Axis::high_mirror`] says.
pub const REFLECT: u32 = 2;
/// Kind of a side: the last point again.
pub const EDGE: u32 = 3;
/// Kind of a side: the last point, and so much more with each point outwards; its value is the slope.
pub const SLOPE: u32 = 6;

/// The bit of kinds whose points follow those of the grid, copies of it left out; and of those that add something.
const FOLLOWS: u32 = REFLECT & EDGE & SLOPE;
const RISES: u32 = SLOPE & !REFLECT;

/// A type of sums: what a slope adds is computed in it.
pub trait SumType: Copy + From<i8> + Add<Output = Self> + Mul<Output = Self> {}

impl<V: Copy + From<i8> + Add<Output = V> + Mul<Output = V>> SumType for V {}

/// One axis of a grid. `V` is the type of sums.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq)]
pub struct Axis<V> {
    /// Points of the grid.
    pub extent: i32,
    /// Radius of the stencil.
    pub radius: i32,
    /// Kind of the side before the first point.
    pub low: u32,
    /// Kind of the side after the last point.
    pub high: u32,
    /// Value before the first point, if that side is constant, or slope.
    pub low_value: V,
    /// Value after the last point, if that side is constant, or slope.
    pub high_value: V,
    /// The sum of a coordinate before the first point and that of its mirror image.
    pub low_mirror: i32,
    /// The sum of a coordinate after the last point and that of its mirror image.
    pub high_mirror: i32,
}

/// A grid in its halo of zeros ([`crate::layout`]) and what a stencil reads around it.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq)]
pub struct Domain<V> {
    /// The slowest axis.
    pub z: Axis<V>,
    /// The middle axis.
    pub y: Axis<V>,
    /// The fastest axis.
    pub x: Axis<V>,
    /// Elements from one row to the next.
    pub pitch: i64,
    /// Elements from one plane to the next.
    pub plane: i64,
}

/// Coordinates from `low` to before `high`.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first.
    pub low: i32,
    /// One past the last.
    pub high: i32,
}

impl Range {
    /// How many.
    #[inline(always)]
    #[must_use]
    pub const fn len(self) -> i32 {
        self.high - self.low
    }

    /// Whether there are none.
    #[inline(always)]
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.high <= self.low
    }
}

impl<V: Copy> Axis<V> {
    /// With its values in another type.
    #[must_use]
    pub fn map<W>(&self, to: impl Fn(V) -> W) -> Axis<W> {
        let &Self { extent, radius, low, high, low_value, high_value, low_mirror, high_mirror } =
            self;
        let (low_value, high_value) = (to(low_value), to(high_value));
        Axis { extent, radius, low, high, low_value, high_value, low_mirror, high_mirror }
    }

    /// Whether a coordinate is one of the grid.
    #[inline(always)]
    pub fn holds(&self, at: i32) -> bool {
        (at as u32) < self.extent as u32
    }

    /// The coordinate of the grid that a coordinate of a copy of it stands for.
    #[inline(always)]
    #[must_use]
    pub fn wrap(&self, at: i32) -> i32 {
        let mut at = at;
        while at < 0 {
            at += self.extent;
        }
        while at >= self.extent {
            at -= self.extent;
        }
        at
    }

    /// Whether all that a stencil reads of a coordinate is of the grid.
    #[inline(always)]
    #[must_use]
    pub const fn is_deep(&self, at: i32) -> bool {
        at >= self.radius && at + self.radius < self.extent
    }

    /// What a range depends on so many steps before: points of the grid, of its copies along a
    /// periodic axis, and along others up to the radius outside.
    #[inline(always)]
    #[must_use]
    pub fn reach(&self, range: Range, steps: i32) -> Range {
        let (low, high) = (range.low - steps * self.radius, range.high + steps * self.radius);
        if self.low == PERIODIC {
            return Range { low, high };
        }
        let (least, most) = (-self.radius, self.extent + self.radius);
        Range {
            low: if low > least { low } else { least },
            high: if high < most { high } else { most },
        }
    }

    /// The part of a range that follows from neighbours, not from the rule of a side.
    #[inline(always)]
    #[must_use]
    pub fn computed(&self, range: Range) -> Range {
        if self.low == PERIODIC {
            return range;
        }
        Range {
            low: if range.low > 0 { range.low } else { 0 },
            high: if range.high < self.extent { range.high } else { self.extent },
        }
    }
}

impl<V: Copy> Axis<V> {
    /// The coordinate of the grid that a coordinate leads to, or the value there.
    ///
    /// # Errors
    /// The value.
    #[inline(always)]
    pub fn resolve(&self, at: i32) -> Result<i32, V> {
        if self.low == PERIODIC { Ok(self.wrap(at)) } else { self.mirror(at) }
    }

    /// As [`Self::resolve`], but coordinates of a periodic axis stay as they are.
    ///
    /// # Errors
    /// The value.
    #[inline(always)]
    pub fn mirror(&self, at: i32) -> Result<i32, V> {
        if self.low == PERIODIC {
            return Ok(at);
        }
        let mut at = at;
        while !self.holds(at) {
            let (kind, value, mirrored) = self.beyond(at);
            if kind != REFLECT {
                let edge = if at < 0 { 0 } else { self.extent - 1 };
                return if kind & FOLLOWS != 0 { Ok(edge) } else { Err(value) };
            }
            at = mirrored;
        }
        Ok(at)
    }

    /// Of the side beyond which a coordinate lies its kind, its value, and where the mirror image is.
    #[inline(always)]
    fn beyond(&self, at: i32) -> (u32, V, i32) {
        let (kind, value, sum) = if at < 0 {
            (self.low, self.low_value, self.low_mirror)
        } else {
            (self.high, self.high_value, self.high_mirror)
        };
        (kind, value, sum - at)
    }
}

impl<V: SumType> Axis<V> {
    /// What slopes add at a coordinate within the radius, and whether a value stands there.
    #[inline(always)]
    fn rise(&self, at: i32) -> (V, bool) {
        let mut at = at;
        while self.low != PERIODIC && !self.holds(at) {
            let (kind, value, mirrored) = self.beyond(at);
            if kind == SLOPE {
                let steps = if at < 0 { -at } else { at - (self.extent - 1) };
                return (value * V::from(steps as i8), false);
            }
            if kind != REFLECT {
                return (V::from(0), kind == CONSTANT);
            }
            at = mirrored;
        }
        (V::from(0), false)
    }
}

impl<V: Copy> Domain<V> {
    /// With its values in another type.
    #[must_use]
    pub fn map<W>(&self, to: impl Fn(V) -> W) -> Domain<W> {
        let &Self { z, y, x, pitch, plane } = self;
        Domain { z: z.map(&to), y: y.map(&to), x: x.map(&to), pitch, plane }
    }

    /// The position in memory, relative to point (0, 0, 0), of a point of the grid.
    #[inline(always)]
    #[must_use]
    pub fn position(&self, z: i32, y: i32, x: i32) -> isize {
        (i64::from(z) * self.plane + i64::from(y) * self.pitch + i64::from(x)) as isize
    }
}

impl<V: Copy> Domain<V> {
    /// The position in memory, relative to point (0, 0, 0), that a point leads to, or the value there. Where
    /// there are slopes, [`Self::rise`] comes on top of either.
    ///
    /// # Errors
    /// The value.
    #[inline(always)]
    pub fn resolve(&self, z: i32, y: i32, x: i32) -> Result<isize, V> {
        let x = self.x.resolve(x)?;
        let y = self.y.resolve(y)?;
        let z = self.z.resolve(z)?;
        Ok(self.position(z, y, x))
    }

    /// As [`Self::resolve`], but gives coordinates, and those of periodic axes stay as they are.
    ///
    /// # Errors
    /// The value.
    #[inline(always)]
    pub fn mirror(&self, z: i32, y: i32, x: i32) -> Result<[i32; 3], V> {
        let x = self.x.mirror(x)?;
        let y = self.y.mirror(y)?;
        let z = self.z.mirror(z)?;
        Ok([z, y, x])
    }

    /// Whether points beyond some side follow those of the grid.
    #[inline(always)]
    #[must_use]
    pub const fn follows(&self) -> bool {
        self.kinds() & FOLLOWS != 0
    }

    /// Whether something is added beyond some side.
    #[inline(always)]
    #[must_use]
    pub const fn rises(&self) -> bool {
        self.kinds() & RISES != 0
    }

    #[inline(always)]
    const fn kinds(&self) -> u32 {
        let Self { z, y, x, .. } = self;
        z.low | z.high | y.low | y.high | x.low | x.high
    }
}

impl<V: SumType> Domain<V> {
    /// What slopes add at a point within the radii: none after the axis that gives a value.
    #[inline(always)]
    #[must_use]
    pub fn rise(&self, z: i32, y: i32, x: i32) -> V {
        let (beside, ends) = self.x.rise(x);
        if ends {
            return beside;
        }
        let (down, ends) = self.y.rise(y);
        if ends {
            return beside + down;
        }
        beside + down + self.z.rise(z).0
    }
}
