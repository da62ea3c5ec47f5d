// SPDX-License-Identifier: MIT OR Apache-2.0
//! The toruses on which a system is stepped: fields that depend on each other share one.

use transform::spectral::coupled::Coupling;
use transform::spectral::{Axis, End};
use transform::{Stencil, Tap};

use super::linear::LinearSum;
use crate::checked::System;
use compute::engine::fft::torus::ends_of;
use problem::boundary::Side;
use problem::{Boundary, Job};

const AXES: [&str; 3] = ["z", "y", "x"];

/// Fields that depend on each other, and the torus that imitates what lies around them.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The fields, in their order.
    pub fields: Vec<usize>,
    /// Of (z, y, x).
    pub axes: [Axis; 3],
    /// Their equations; fields are numbered within the group.
    pub couplings: Vec<Coupling>,
}

impl Group {
    /// The points of the torus over those of the grid.
    pub fn copies(&self) -> f64 {
        self.axes.iter().map(|axis| axis.length as f64 / axis.points as f64).product()
    }

    /// Points of the torus along (z, y, x).
    pub fn lengths(&self) -> [usize; 3] {
        self.axes.each_ref().map(|axis| axis.length)
    }

    /// Along which axes its fields are negative mirror images, so that they have no constant part.
    pub fn odd(&self) -> [bool; 3] {
        self.axes.each_ref().map(|axis| axis.ends.contains(&End::Odd))
    }
}

/// All groups of a system with these equations.
///
/// # Errors
/// What no torus imitates.
pub fn groups(system: &System, sums: &[LinearSum]) -> Result<Vec<Group>, String> {
    members(sums).into_iter().map(|fields| group(system, sums, fields)).collect()
}

/// Which fields depend on each other.
fn members(sums: &[LinearSum]) -> Vec<Vec<usize>> {
    let mut group: Vec<usize> = (0..sums.len()).collect();
    for (to, sum) in sums.iter().enumerate() {
        for (from, ..) in sum.taps.keys() {
            let [one, other] = [group[to], group[*from]];
            group.iter_mut().filter(|of| **of == other).for_each(|of| *of = one);
        }
    }
    let of = |number: usize| (0..sums.len()).filter(|&field| group[field] == number).collect();
    let groups: Vec<Vec<usize>> = (0..sums.len()).map(of).collect();
    groups.into_iter().filter(|fields| !fields.is_empty()).collect()
}

fn group(system: &System, sums: &[LinearSum], fields: Vec<usize>) -> Result<Group, String> {
    let (shape, name) = (system.shape, |field: usize| &system.fields[field].name);
    let mut ends = [[End::Unread; 2]; 3];
    // Who said so.
    let mut read = [[None; 2]; 3];
    for &to in &fields {
        for &from in &fields {
            for level in 0..system.fields[from].levels {
                let own = sums[to].taps.iter().filter(|((f, l, _), _)| (*f, *l) == (from, level));
                let taps: Vec<Tap> = own
                    .map(|((.., offset), weight)| Tap { offset: *offset, weight: weight.value() })
                    .collect();
                if taps.is_empty() {
                    continue;
                }
                let stencil = Stencil::new("", shape.dims(), taps).map_err(|why| {
                    format!("the equation of '{}' has no weights: {why}", name(to))
                })?;
                let boundary = system.fields[from].boundary;
                let job = Job { boundary, ..Job::new(stencil, shape, system.dtype, 0) };
                let of_job = ends_of(&job);
                for axis in 0..3 {
                    for end in 0..2 {
                        let (side, found) = (AXES[axis], of_job[axis][end]);
                        if found == End::Unread {
                            continue;
                        }
                        let sign = ["-", "+"][end];
                        if found == End::Open {
                            let kind = boundary.sides[axis][end];
                            return Err(format!(
                                "'{}' is read beyond {side}{sign}, where transforms cannot imitate {kind}: weights must be symmetric, and beside a constant or an edge read one point far",
                                name(from),
                            ));
                        }
                        if let Some(other) = read[axis][end]
                            && ends[axis][end] != found
                        {
                            return Err(format!(
                                "'{}' and '{}' depend on each other and have different boundaries at \
                                 {side}{sign}",
                                name(other),
                                name(from)
                            ));
                        }
                        (ends[axis][end], read[axis][end]) = (found, Some(from));
                    }
                }
            }
        }
    }
    // Whole periods of images: any number of steps is exact.
    let far = [1 << 40; 2];
    let axes = [0, 1, 2].map(|axis| Axis::new(shape.extents()[axis], far, ends[axis]));
    let place = |field: usize| fields.iter().position(|own| *own == field).expect("of this group");
    let of_field = |to: usize| {
        let taps = sums[to].taps.iter();
        taps.map(move |((from, level, offset), weight)| (to, *from, *level, *offset, *weight))
    };
    let couplings = fields.iter().flat_map(|&to| of_field(to));
    let couplings = couplings.map(|(to, from, level, offset, weight)| {
        let (to, from) = (place(to), (place(from), level));
        Coupling { to, from, offset, weight }
    });
    let couplings = couplings.collect();
    Ok(Group { fields, axes, couplings })
}

/// The constants around a field where it is a negative mirror image; none where they differ.
pub fn lift(boundary: &Boundary, axes: &[Axis; 3]) -> f64 {
    let mut values = Vec::new();
    for (axis, Axis { ends, .. }) in axes.iter().enumerate() {
        for end in (0..2).filter(|&end| ends[end] == End::Odd) {
            values.push(match boundary.sides[axis][end] {
                Side::Constant(value) => value,
                _ => 0.0,
            });
        }
    }
    match values.as_slice() {
        [first, rest @ ..] if rest.iter().all(|value| value == first) => *first,
        _ => 0.0,
    }
}
