// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps of many arrays, of each of which few values are read: of lattice Boltzmann, where each of nineteen comes from one
//! neighbour.
//!
//! A thread takes one or two points beside each other, and loads what it reads of all arrays before it computes. Threads with
//! more would hardly read a value less, and the registers which they take would leave too few threads to wait for memory.
//! Where neighbours beyond sides are is computed from their coordinates, by two instructions for an axis and a distance: so no
//! point beside a side is looked up by others.

use std::collections::BTreeSet;

use crate::checked::System;
use problem::boundary::Side;

/// So many arrays are many.
const ARRAYS: usize = 8;
/// Values of an array that are read for a point, on average, at most.
const READS: usize = 4;
/// Bytes that a thread stores at once.
const WORD: usize = 8;
/// Registers of a multiprocessor.
const REGISTERS: usize = 1 << 16;
/// Registers of a thread beside the values that it reads.
const BESIDE: usize = 40;
/// Blocks of a multiprocessor that are enough: of f32 four to eight are as fast, of f16 four and eight take 1.07 and 1.01 times
/// as long.
const RESIDENT: usize = 6;

/// Whether a system has many arrays, and reads few values of each.
pub fn suits(system: &System) -> bool {
    let arrays = system.program.arrays().len();
    arrays >= ARRAYS && reads(system) <= READS * arrays
}

/// Points of a thread beside each other: two of 16 bits, as of 32. A row of an odd length has no last pair; single values are
/// hardly slower.
pub fn columns(system: &System) -> usize {
    let columns = WORD / system.dtype.bytes().max(4);
    if system.shape.extents()[2].is_multiple_of(columns) { columns } else { 1 }
}

/// How deep the points lie along z, y and x, from the first and from the last ones on, beside which others look their
/// neighbours up.
pub fn depth(system: &System) -> [[usize; 3]; 2] {
    let reach = system.program.reach(|_| true);
    [0, 1].map(|end| {
        let depth = |axis: usize| if are_found(system, axis, end) { 0 } else { reach[axis] };
        [0, 1, 2].map(depth)
    })
}

/// Blocks of a multiprocessor at least, so that threads with so many points have no more registers than their values need.
pub fn resident(system: &System, columns: usize, threads: usize) -> usize {
    let words = system.dtype.bytes().div_ceil(4);
    let registers = BESIDE + reads(system) * columns * words;
    (REGISTERS / (threads * registers)).clamp(1, RESIDENT)
}

/// How many values are read for a point.
fn reads(system: &System) -> usize {
    system.program.reads().collect::<BTreeSet<_>>().len()
}

/// Whether all that is read beyond a side is found from its coordinate.
fn are_found(system: &System, axis: usize, end: usize) -> bool {
    let extent = system.shape.extents()[axis];
    system.program.reads().all(|(array, offset)| {
        let distance = offset[axis].unsigned_abs() as usize;
        if (offset[axis] < 0) != (end == 0) {
            return true;
        }
        match system.boundary_of(array).sides[axis][end] {
            // Twice as much is computed with in 32 bits.
            _ if extent > 1 << 30 => distance == 0,
            Side::Zero | Side::Open | Side::Constant(_) | Side::Varying(_) => true,
            Side::Edge | Side::VaryingFlux(_) => true,
            Side::Periodic | Side::Symmetric => distance <= extent,
            Side::Reflect => distance < extent,
            Side::Flux(_) | Side::Odd | Side::OddReflect | Side::Robin(_) => distance == 0,
        }
    })
}
