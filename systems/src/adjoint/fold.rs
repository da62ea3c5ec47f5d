// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is read beyond sides, seen from the points of the grid that it leads to.
//!
//! What a stencil finds at a place y outside is `f u(m(y))`, of a point m(y) of the grid and a number f, along each axis by itself. So the
//! adjoint of u at a point is what the adjoint would be at the point and, `f` times, at all places that lead to it: of those there are a
//! few, and only at points near sides. Values and slopes that sides add count nothing here.

use std::collections::BTreeMap;

use problem::Boundary;
use problem::boundary::NeighbourPlace;

/// The distance (z, y, x) of a place from a point.
pub type Offset = [i32; 3];

/// Of each axis (z, y, x) the coordinate of points, or all.
pub type AxisCoordinates = [Option<usize>; 3];

/// A place outside that leads to points of the grid.
#[derive(Clone, Copy, Debug)]
struct Ghost {
    /// Along an axis: how far away from the point it is, where that is, and what its value is multiplied by.
    along: [Option<(i32, usize, f64)>; 3],
}

impl Ghost {
    fn at(&self) -> AxisCoordinates {
        self.along.map(|it| it.map(|(_, at, _)| at))
    }

    fn factor(&self) -> f64 {
        self.along.iter().flatten().map(|(_, _, factor)| factor).product()
    }
}

/// Places outside of a grid with these extents that stencils reach by these offsets, and that lead to points of it. Axes that are left out
/// have no outside.
fn ghosts(
    boundary: &Boundary,
    extents: [usize; 3],
    taps: &[Offset],
    left_out: [bool; 3],
) -> Vec<Ghost> {
    let along = |axis: usize| -> Vec<Option<(i32, usize, f64)>> {
        let mut all = vec![None];
        if left_out[axis] {
            return all;
        }
        let low = taps.iter().map(|tap| -tap[axis]).max().unwrap_or(0).max(0) as isize;
        let high = taps.iter().map(|tap| tap[axis]).max().unwrap_or(0).max(0) as isize;
        let extent = extents[axis] as isize;
        for place in (-low..0).chain(extent..extent + high) {
            if let NeighbourPlace::Inside(at, image) = boundary.resolve(axis, place, extents[axis])
                && image.factor != 0.0
            {
                all.push(Some(((place - at as isize) as i32, at, image.factor)));
            }
        }
        all
    };
    let axes = [0, 1, 2].map(along);
    let mut found = Vec::new();
    for z in &axes[0] {
        for y in &axes[1] {
            for x in &axes[2] {
                let along = [*z, *y, *x];
                if along.iter().any(Option::is_some) {
                    found.push(Ghost { along });
                }
            }
        }
    }
    found
}

/// Of points near sides what a stencil with these weights around a point adds: so that the transposed stencil, of values that are 0 beyond
/// sides, becomes the transpose of the stencil with its sides.
pub fn of_stencil(
    boundary: &Boundary,
    extents: [usize; 3],
    stencil: &[(Offset, f64)],
    left_out: [bool; 3],
) -> BTreeMap<AxisCoordinates, Vec<(Offset, f64)>> {
    let taps: Vec<Offset> = stencil.iter().map(|(tap, _)| *tap).collect();
    let mut all: BTreeMap<AxisCoordinates, BTreeMap<Offset, f64>> = BTreeMap::new();
    for ghost in ghosts(boundary, extents, &taps, left_out) {
        let factor = ghost.factor();
        for (tap, weight) in stencil {
            let mut is_read = true;
            let from: Offset = std::array::from_fn(|axis| match ghost.along[axis] {
                None => -tap[axis],
                Some((away, at, _)) => {
                    let reader = at as isize + (away - tap[axis]) as isize;
                    is_read &= (0..extents[axis] as isize).contains(&reader);
                    away - tap[axis]
                }
            });
            if is_read {
                *all.entry(ghost.at()).or_default().entry(from).or_default() += factor * weight;
            }
        }
    }
    without_zeros(all)
}

/// Of points near sides the places outside that lead to them, as a stencil: of what is read by these offsets.
pub fn of_places(
    boundary: &Boundary,
    extents: [usize; 3],
    taps: &[Offset],
    left_out: [bool; 3],
) -> BTreeMap<AxisCoordinates, Vec<(Offset, f64)>> {
    let mut all: BTreeMap<AxisCoordinates, BTreeMap<Offset, f64>> = BTreeMap::new();
    for ghost in ghosts(boundary, extents, taps, left_out) {
        // Whether anything reaches it from a point of the grid.
        let reached = taps.iter().any(|tap| {
            (0..3).all(|axis| match ghost.along[axis] {
                None => true,
                Some((away, at, _)) => {
                    let reader = at as isize + (away - tap[axis]) as isize;
                    (0..extents[axis] as isize).contains(&reader)
                }
            })
        });
        if reached {
            let away = ghost.along.map(|it| it.map_or(0, |(away, _, _)| away));
            *all.entry(ghost.at()).or_default().entry(away).or_default() += ghost.factor();
        }
    }
    without_zeros(all)
}

fn without_zeros(
    all: BTreeMap<AxisCoordinates, BTreeMap<Offset, f64>>,
) -> BTreeMap<AxisCoordinates, Vec<(Offset, f64)>> {
    let taps = |(at, taps): (AxisCoordinates, BTreeMap<Offset, f64>)| {
        let taps: Vec<_> = taps.into_iter().filter(|(_, weight)| *weight != 0.0).collect();
        (!taps.is_empty()).then_some((at, taps))
    };
    all.into_iter().filter_map(taps).collect()
}
