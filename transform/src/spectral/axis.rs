// SPDX-License-Identifier: MIT OR Apache-2.0
//! An axis of a torus that imitates an axis of a grid and what lies around it.
//!
//! Mirror images do: where a stencil is symmetric in an axis, a field that is even about the grid's last point
//! stays so, which is the boundary `reflect`; one that is odd about the first point outside stays so and is 0
//! there, which is all of a boundary of zeros that a stencil of radius 1 reads; and one that is even about the middle
//! between the last point and the first one outside is the boundary `symmetric`, and repeats the last point there, which is
//! all of the boundary `edge` that a stencil of radius 1 reads. Of such images the torus holds a whole period, or as many as the steps reach. Any
//! other end is open: points nearer to it than the steps reach come out wrong, and somebody has to compute them
//! otherwise.

use crate::Stencil;
use crate::spectral::smooth::{is_smooth, next_smooth};

/// What lies beyond an end of an axis of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The grid again.
    Periodic,
    /// Its mirror image about its last point.
    Reflect,
    /// Its mirror image about the middle between its last point and the first one outside.
    Symmetric,
    /// The value of its last point.
    Edge,
    /// Values that follow it in another way.
    Other,
    /// Values that do not depend on it. Here they are zeros: constants are a source besides.
    Fixed,
    /// Anything: what depends on it is not wanted.
    Unwanted,
}

/// What the torus has beyond an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Nothing that the stencil reads, or whose readers are wanted.
    Unread,
    /// The other end of the grid.
    Wrap,
    /// A mirror image about the last point.
    Even,
    /// A mirror image about the middle between the last point and the first one outside, so that the last one is
    /// repeated.
    Half,
    /// A negative mirror image about the first point outside.
    Odd,
    /// Something else than the boundary.
    Open,
}

impl End {
    /// Whether the torus imitates the boundary exactly.
    #[must_use]
    pub fn is_exact(self) -> bool {
        self != Self::Open
    }
}

/// What the torus has beyond both ends of an axis (0, 1, 2 for z, y, x) of a grid.
#[must_use]
pub fn ends(stencil: &Stencil, axis: usize, sides: [Side; 2]) -> [End; 2] {
    let reach = reach(stencil, axis);
    if reach == [0; 2] {
        return [End::Unread; 2];
    }
    let symmetric = is_symmetric_in(stencil, axis);
    let exact = |end: usize| match sides[end] {
        Side::Periodic => End::Wrap,
        Side::Unwanted => End::Unread,
        _ if reach[end] == 0 => End::Unread,
        Side::Reflect if symmetric => End::Even,
        Side::Symmetric if symmetric => End::Half,
        Side::Edge if symmetric && reach == [1; 2] => End::Half,
        Side::Fixed if symmetric && reach == [1; 2] => End::Odd,
        _ => End::Open,
    };
    [exact(0), exact(1)]
}

/// How far a stencil reads towards the beginning and the end of an axis.
#[must_use]
pub fn reach(stencil: &Stencil, axis: usize) -> [usize; 2] {
    let offsets = || stencil.taps().iter().map(|tap| tap.offset[axis]);
    [offsets().map(|offset| -offset).max(), offsets().max()]
        .map(|far| far.unwrap_or(0).max(0) as usize)
}

/// Whether weights are the same at both sides of an axis: `w(−i, j) = w(i, j)`.
#[must_use]
pub fn is_symmetric_in(stencil: &Stencil, axis: usize) -> bool {
    stencil.taps().iter().all(|tap| {
        let mut mirrored = tap.offset;
        mirrored[axis] = -mirrored[axis];
        stencil.weight(mirrored) == tap.weight
    })
}

/// Whether weights at opposite offsets are the same: then the symbol is real for all waves.
#[must_use]
pub fn is_symmetric(stencil: &Stencil) -> bool {
    let opposite = |offset: [i32; 3]| stencil.weight(offset.map(|along| -along));
    stencil.taps().iter().all(|tap| opposite(tap.offset) == tap.weight)
}

/// Where a point of the torus has its value from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TorusSource {
    /// A point of the grid.
    pub point: u32,
    /// The factor: 1, -1 for a negative image, 0 for a point that needs no value or is 0.
    pub sign: f32,
}

/// An axis of a torus. Its first points are those of the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// Points of the grid.
    pub points: usize,
    /// Points of the torus.
    pub length: usize,
    /// What it has beyond the ends.
    pub ends: [End; 2],
    /// How far the steps read towards each end.
    pub far: [usize; 2],
    /// Points at each end of the grid that come out wrong.
    pub rim: [usize; 2],
}

/// Which lengths a torus may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// Any: transforms are there for all, though some are slower.
    Any,
    /// Products of 2, 3, 5 and 7, multiples of one more number, up to a largest one.
    Smooth {
        /// What they are multiples of.
        multiple: usize,
        /// The largest one.
        most: usize,
    },
}

impl Lengths {
    /// Whether a torus may have a length.
    #[must_use]
    pub fn has(self, length: usize) -> bool {
        match self {
            Self::Any => true,
            Self::Smooth { multiple, most } => {
                length <= most && length.is_multiple_of(multiple) && is_smooth(length)
            }
        }
    }
}

impl Axis {
    /// For steps that read so far ([`spread`](super::spread())) on an axis of so many points.
    ///
    /// # Panics
    /// With more than 2^32 points.
    #[must_use]
    pub fn new(points: usize, far: [usize; 2], ends: [End; 2]) -> Self {
        let any = Self::of(points, far, ends, Lengths::Any);
        any.expect("any length will do")
    }

    /// An axis of so many points for steps that read so far, with a length out of `lengths`; none if all of these are
    /// too short.
    ///
    /// # Panics
    /// With more than 2^32 points.
    #[must_use]
    pub fn of(points: usize, far: [usize; 2], ends: [End; 2], lengths: Lengths) -> Option<Self> {
        let rim = [0, 1].map(|end| if ends[end].is_exact() { 0 } else { far[end].min(points) });
        let length = length(points, far, ends, lengths)?;
        assert!(u32::try_from(points).is_ok(), "{points} points of an axis");
        Some(Self { points, length, ends, far, rim })
    }

    /// Where the torus has its points after those of the grid from: `length − points` of them.
    #[must_use]
    pub fn images(&self) -> Vec<TorusSource> {
        let &Self { points, length, ends, far, .. } = self;
        (points..length).map(|at| image(points, length, far, ends, at)).collect()
    }

    /// Where points beyond the ends have their values from, as far as the steps read: first those after the last point
    /// of the grid, then those before the first one.
    #[must_use]
    pub fn beyond(&self) -> Vec<TorusSource> {
        let &Self { points, ends, far, .. } = self;
        let length = points + far[0] + far[1];
        (points..length).map(|at| image(points, length, far, ends, at)).collect()
    }
}

/// The period of the images, where both ends have some.
fn period(points: usize, ends: [End; 2]) -> Option<usize> {
    match ends {
        [End::Unread | End::Wrap, End::Unread | End::Wrap] => Some(points),
        [End::Even, End::Even] => Some((2 * (points - 1)).max(1)),
        [End::Half, End::Half] => Some(2 * points),
        [End::Even, End::Half] | [End::Half, End::Even] => Some(2 * points - 1),
        [End::Odd, End::Odd] => Some(2 * (points + 1)),
        // Twice as many: after one period everything is negative.
        [End::Even, End::Odd] | [End::Odd, End::Even] => Some(4 * points),
        [End::Half, End::Odd] | [End::Odd, End::Half] => Some(4 * points + 2),
        _ => None,
    }
}

/// The cheapest length: a whole period, or the points that the steps reach beyond ends with images. What wraps
/// around at open ends reaches no farther into the images than they are not needed.
fn length(points: usize, far: [usize; 2], ends: [End; 2], lengths: Lengths) -> Option<usize> {
    /// By how much a transform of a length with large prime factors takes longer.
    const ROUGH: usize = 3;
    let cost = |length: usize| if is_smooth(length) { length } else { ROUGH * length };
    let images = |end: usize| match ends[end] {
        End::Even | End::Half | End::Odd => far[end],
        End::Wrap if lengths != Lengths::Any => far[end],
        _ => 0,
    };
    let extended = points + images(0) + images(1);
    let period = period(points, ends);
    if let Lengths::Smooth { multiple, most } = lengths {
        let extended = (extended.div_ceil(multiple)..=most / multiple)
            .map(|times| times * multiple)
            .find(|&length| lengths.has(length));
        // As many periods as it takes.
        let period = period.map(|period| period * (multiple / gcd(period, multiple)));
        return period.filter(|&period| lengths.has(period)).into_iter().chain(extended).min();
    }
    Some(match period {
        Some(period) if period <= points || extended >= ROUGH * period => period,
        Some(period) => {
            [period, next_smooth(extended)].into_iter().min_by_key(|&of| cost(of)).unwrap()
        }
        None => next_smooth(extended),
    })
}

/// The greatest common divisor.
fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Where point `at` of the torus, behind those of the grid, has its value from.
fn image(points: usize, length: usize, far: [usize; 2], ends: [End; 2], at: usize) -> TorusSource {
    let nothing = TorusSource { point: 0, sign: 0.0 };
    let (n, after, before) = (points as i64, at as i64, at as i64 - length as i64);
    let has = |end: usize| matches!(ends[end], End::Even | End::Half | End::Odd | End::Wrap);
    // Of a whole period either way round leads to the same value.
    let (end, place) = match (has(0), has(1)) {
        (false, false) => return nothing,
        (true, false) => (0, before),
        (false, true) => (1, after),
        (true, true) if after - n < far[1] as i64 => (1, after),
        (true, true) => (0, before),
    };
    let distance = if end == 0 { -place } else { place - n + 1 };
    let whole = period(points, ends).is_some_and(|period| length.is_multiple_of(period));
    if distance > far[end] as i64 && !whole {
        return nothing;
    }
    let (mut place, mut sign) = (place, 1.0);
    while !(0..n).contains(&place) {
        let end = usize::from(place >= n);
        // How far outside the last point the mirror is, in halves of the distance of points.
        let outside = match ends[end] {
            End::Even => 0,
            End::Half => 1,
            End::Odd => 2,
            End::Wrap => {
                place = place.rem_euclid(n);
                break;
            }
            // Beyond the other, open end.
            _ => return nothing,
        };
        let twice_mirror = if end == 0 { -outside } else { 2 * (n - 1) + outside };
        if ends[end] == End::Odd {
            if 2 * place == twice_mirror {
                return nothing;
            }
            sign = -sign;
        } else if n == 1 && ends == [End::Even; 2] {
            return TorusSource { point: 0, sign };
        }
        place = twice_mirror - place;
    }
    TorusSource { point: place as u32, sign }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    fn values(points: usize, reach: usize, ends: [End; 2], steps: usize) -> Vec<i32> {
        let axis = Axis::new(points, [reach * steps; 2], ends);
        let image = |source: TorusSource| source.sign as i32 * (source.point as i32 + 1);
        (1..=points as i32).chain(axis.images().into_iter().map(image)).collect()
    }

    #[test]
    fn whole_periods_of_images() {
        let (even, odd) = (End::Even, End::Odd);
        assert_eq!(values(3, 1, [End::Wrap; 2], 100), [1, 2, 3]);
        assert_eq!(values(3, 1, [even; 2], 100), [1, 2, 3, 2]);
        assert_eq!(values(1, 1, [even; 2], 100), [1]);
        assert_eq!(values(3, 1, [odd; 2], 100), [1, 2, 3, 0, -3, -2, -1, 0]);
        assert_eq!(values(2, 1, [even, odd], 100), [1, 2, 0, -2, -1, -2, 0, 2]);
        assert_eq!(values(2, 1, [odd, even], 100), [1, 2, 1, 0, -1, -2, -1, 0]);
        let half = End::Half;
        assert_eq!(values(3, 1, [half; 2], 100), [1, 2, 3, 3, 2, 1]);
        assert_eq!(values(1, 1, [half; 2], 100), [1, 1]);
        assert_eq!(values(3, 1, [half, even], 100), [1, 2, 3, 2, 1]);
        assert_eq!(values(3, 1, [even, half], 100), [1, 2, 3, 3, 2]);
        assert_eq!(values(1, 1, [half, even], 100), [1]);
        assert_eq!(values(2, 1, [half, odd], 100), [1, 2, 0, -2, -1, -1, -2, 0, 2, 1]);
        assert_eq!(values(2, 1, [odd, half], 100), [1, 2, 2, 1, 0, -1, -2, -2, -1, 0]);
    }

    #[test]
    fn as_many_images_as_the_steps_reach() {
        let tall = values(100, 2, [End::Even; 2], 3);
        assert_eq!(tall.len(), 112);
        assert_eq!(tall[100..106], [99, 98, 97, 96, 95, 94]);
        assert_eq!(tall[106..], [7, 6, 5, 4, 3, 2]);
        let half = values(100, 1, [End::Half; 2], 3);
        assert_eq!(half[100..103], [100, 99, 98]);
        assert_eq!(half[half.len() - 3..], [3, 2, 1]);
        let odd = values(100, 1, [End::Odd; 2], 3);
        assert_eq!(odd[100..103], [0, -100, -99]);
        assert_eq!(odd[odd.len() - 3..], [-2, -1, 0]);
    }

    #[test]
    fn ends_are_exact_where_mirrors_are() {
        let of = |name: &str, side| ends(&catalogue::find(name).unwrap(), 2, [side; 2]);
        assert_eq!(of("star2d1r", Side::Fixed), [End::Odd; 2]);
        assert_eq!(of("box2d3r", Side::Fixed), [End::Open; 2]);
        assert_eq!(of("star2d3r", Side::Reflect), [End::Even; 2]);
        assert_eq!(of("box2d1r", Side::Edge), [End::Half; 2]);
        assert_eq!(of("star2d3r", Side::Symmetric), [End::Half; 2]);
        assert_eq!(of("star2d3r", Side::Edge), [End::Open; 2]);
        assert_eq!(of("star2d1r", Side::Other), [End::Open; 2]);
        assert_eq!(of("box2d3r", Side::Unwanted), [End::Unread; 2]);
        let upwind = Stencil::dense("upwind", &[3], &[0.5, 0.5, 0.0]).unwrap();
        assert_eq!(ends(&upwind, 2, [Side::Reflect; 2]), [End::Open, End::Unread]);
        assert_eq!(ends(&upwind, 2, [Side::Edge; 2]), [End::Open, End::Unread]);
        assert_eq!(ends(&upwind, 1, [Side::Fixed; 2]), [End::Unread; 2]);
        let rim = Axis::new(100, [7, 0], [End::Open, End::Unread]).rim;
        assert_eq!(rim, [7, 0]);
    }
}
