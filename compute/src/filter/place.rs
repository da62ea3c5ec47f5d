// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the planes, rows and columns that blocks read lie in the array.

use kernels_gpu::filter::OUTSIDE;
use problem::boundary::Side;
use tiles::filter::Axis;

/// Entries of a table for an axis, whose first is for the coordinate `first`: of so many. Beyond what a sum that reaches from
/// `first` over so many points more reads there is nothing.
pub fn table(
    (extent, step): (usize, usize),
    side: Side,
    (first, span): (i32, usize),
    entries: usize,
) -> Vec<u32> {
    let before = usize::try_from(-first).unwrap_or(0);
    let last = first as isize + span as isize - 1;
    let behind = usize::try_from(last).unwrap_or(0);
    let axis = Axis::new(extent, step, side, [before, behind]);
    let end = (extent + behind) as isize;
    (0..entries as isize)
        .map(|entry| match entry + first as isize {
            at if at < end => axis.place(at).map_or(OUTSIDE, |place| place as u32),
            _ => OUTSIDE,
        })
        .collect()
}

/// The constant of sides, or 0.
///
/// # Panics
/// If there are several.
pub fn constant(sides: &[Side; 3]) -> f64 {
    let mut found = None;
    for side in sides {
        let value = match *side {
            Side::Constant(value) => value,
            Side::Zero => 0.0,
            _ => continue,
        };
        assert!(found.is_none_or(|it: f64| it.to_bits() == value.to_bits()), "one constant");
        found = Some(value);
    }
    found.unwrap_or(0.0)
}
