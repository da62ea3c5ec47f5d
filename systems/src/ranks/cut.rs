// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the grid of a system is cut.

use crate::checked::System;
use crate::expression::{Array, Node};
use compute::plan::Sharing;
use compute::ranks::Partition;
use problem::Error;
use problem::boundary::Side;

/// The parts of ranks: across axes along which all arrays that are read around a point agree whether the ends meet.
///
/// # Errors
/// [`Error::Split`].
pub fn partition(system: &System, sharing: &Sharing) -> Result<Partition, Error> {
    let shape = system.shape;
    let rings: Vec<Option<bool>> = (0..3).map(|axis| ring(system, axis)).collect();
    // An axis that is one unit is not cut.
    let unit = |axis: usize| if rings[axis].is_some() { 1 } else { shape.extents()[axis] };
    let units = [0, 1, 2].map(unit);
    let partition = sharing.partition(shape, units);
    let mixed: Vec<&str> =
        (0..3).filter(|axis| rings[*axis].is_none()).map(|axis| ["z", "y", "x"][axis]).collect();
    partition.map_err(|error| match (error, mixed.as_slice()) {
        (Error::Split { reason }, [_, ..]) => Error::Split {
            reason: format!(
                "{reason}; along {} some fields are periodic and others are not, so that it is not cut there",
                mixed.join(", ")
            ),
        },
        (other, _) => other,
    })
}

/// Whether the ends of an axis meet, for all arrays that are read along it alike; nothing if it is not alike.
fn ring(system: &System, axis: usize) -> Option<bool> {
    let fields = system.fields.iter().enumerate();
    let fields = fields.map(|(number, field)| {
        (system.reads_around(|array| array.is_of_field(number)), &field.boundary)
    });
    let coefficients = system.coefficients.iter().enumerate();
    let coefficients = coefficients.map(|(number, coefficient)| {
        let own = Array::Coefficient(number);
        (system.reads_around(|array| array == own), &coefficient.boundary)
    });
    let works = system.works.iter().enumerate().map(|(number, work)| {
        (system.program.reach(|array| array == Array::Work(number)), &work.boundary)
    });
    let read = fields.chain(coefficients).chain(works).filter(|(reach, _)| reach[axis] > 0);
    let mut rings = read.map(|(_, boundary)| boundary.sides[axis][0] == Side::Periodic);
    let first = rings.next().unwrap_or(false);
    rings.all(|ring| ring == first).then_some(first)
}

/// Whether an axis is cut whose ends meet.
pub fn cuts_periodic_axis(system: &System, partition: &Partition) -> bool {
    (0..3).any(|axis| partition.counts()[axis] > 1 && ring(system, axis) == Some(true))
}

/// Of each axis whether the ends of what is cut there meet.
pub fn rings(system: &System) -> [bool; 3] {
    [0, 1, 2].map(|axis| ring(system, axis) == Some(true))
}

impl System {
    /// Whether an equation depends on where a point lies: by a coordinate, an index or a random number.
    pub(super) fn reads_coordinates(&self) -> bool {
        let mut found = false;
        let mut see = |part: &Node| found |= part.is_of_place();
        self.visit(&mut see);
        self.side_values.iter().for_each(|value| value.visit(&mut see));
        found
    }
}
