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
/// Kind of a side: the mirror image about the last point, which is not repeated.
pub const REFLECT: u32 = 2;
/// Kind of a side: the last point, and so much more with each point outwards; its value is the slope.
pub const EDGE: u32 = 3;

/// A type of sums: what a slope adds is computed in it.
pub trait Number: Copy + From<i8> + Add<Output = Self> + Mul<Output = Self> {}

impl<V: Copy + From<i8> + Add<Output = V> + Mul<Output = V>> Number for V {}

/// One axis of a grid. `V` is the type of sums.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
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
}

/// A grid in its halo of zeros ([`crate::layout`]) and what a stencil reads around it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
        let &Self { extent, radius, low, high, low_value, high_value } = self;
        let (low_value, high_value) = (to(low_value), to(high_value));
        Axis { extent, radius, low, high, low_value, high_value }
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

impl<V: Number> Axis<V> {
    /// The coordinate of the grid that a coordinate within the radius leads to, and what is added there; or the value
    /// there.
    ///
    /// # Errors
    /// The value.
    #[inline(always)]
    pub fn resolve(&self, at: i32) -> Result<(i32, V), V> {
        if self.low == PERIODIC { Ok((self.wrap(at), V::from(0))) } else { self.mirror(at) }
    }

    /// As [`Self::resolve`], but coordinates of a periodic axis stay as they are.
    ///
    /// # Errors
    /// The value.
    #[inline(always)]
    pub fn mirror(&self, at: i32) -> Result<(i32, V), V> {
        if self.low == PERIODIC {
            return Ok((at, V::from(0)));
        }
        let mut at = at;
        while !self.holds(at) {
            let (kind, value, edge, beyond) = if at < 0 {
                (self.low, self.low_value, 0, -at)
            } else {
                (self.high, self.high_value, self.extent - 1, at - (self.extent - 1))
            };
            if kind == EDGE {
                return Ok((edge, value * V::from(beyond as i8)));
            }
            if kind != REFLECT {
                return Err(value);
            }
            // Between two mirrors at the only point there is nothing else to be seen.
            let lone = self.extent == 1 && self.low == self.high;
            at = if lone {
                0
            } else if at < 0 {
                beyond
            } else {
                edge - beyond
            };
        }
        Ok((at, V::from(0)))
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

impl<V: Number> Domain<V> {
    /// The position in memory, relative to point (0, 0, 0), that a point within the radii leads to, and what is added
    /// to its value; or the value there.
    ///
    /// # Errors
    /// The value.
    #[inline(always)]
    pub fn resolve(&self, z: i32, y: i32, x: i32) -> Result<(isize, V), V> {
        let (x, beside) = self.x.resolve(x)?;
        let (y, down) = self.y.resolve(y).map_err(|value| value + beside)?;
        let (z, deep) = self.z.resolve(z).map_err(|value| value + (beside + down))?;
        Ok((self.position(z, y, x), beside + down + deep))
    }

    /// As [`Self::resolve`], but gives coordinates, and those of periodic axes stay as they are.
    ///
    /// # Errors
    /// The value.
    #[inline(always)]
    pub fn mirror(&self, z: i32, y: i32, x: i32) -> Result<([i32; 3], V), V> {
        let (x, beside) = self.x.mirror(x)?;
        let (y, down) = self.y.mirror(y).map_err(|value| value + beside)?;
        let (z, deep) = self.z.mirror(z).map_err(|value| value + (beside + down))?;
        Ok(([z, y, x], beside + down + deep))
    }
}
