// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a block that takes several steps, or all stages of one, holds of a system: which arrays its threads have in
//! registers, and which of them lie in shared memory, too, at which places.
//!
//! Arrays of which neighbours are read in different stages of a step take turns at a place:
//!
//! ```text
//! rk4          u      stage 2   stage 3   stage 4
//! stage 1    is read  is put                            u: place 0     stage 2: place 1
//! stage 2             is read   is put                                 stage 3: place 0
//! stage 3                       is read   is put                       stage 4: place 1
//! stage 4    is put                       is read
//! ```

use std::collections::BTreeSet;

use crate::checked::System;
use crate::expression::Array;
use crate::program::{Offset, Program};
use problem::boundary::Side;

/// What the kernel has to hold of a system.
#[derive(Clone, Debug, PartialEq)]
pub struct TileState {
    /// Fields with their earlier levels, then the coefficients that are read: in registers.
    pub states: Vec<Array>,
    /// What a stage computes for later ones, and new values that wait for the end of the step: in registers from then on.
    pub computed: Vec<Array>,
    /// Arrays that are in shared memory, too: those whose neighbours are read, and the present level of their fields. With the
    /// place of each.
    shared: Vec<(Array, usize)>,
    /// Along which axes the grid goes on from its other side.
    pub periodic: [bool; 3],
    /// Values that a thread has in registers for a point while a stage is computed, at most.
    pub registers: usize,
    /// With those that the stage computes.
    pub with_results: usize,
}

impl TileState {
    /// What a block holds of a system.
    ///
    /// # Errors
    /// Why its steps cannot be taken several at a time.
    pub fn new(system: &System) -> Result<Self, String> {
        system.check_solves_nothing()?;
        system.check_waits_for_no_total()?;
        system.check_keeps_no_estimate()?;
        system.check_holds_nothing()?;
        // Coordinates in the kernel have 32 bits with a sign.
        if system.shape.extents().iter().any(|extent| *extent > 1 << 30) {
            return Err("axes of over 2^30 points take one step a launch".into());
        }
        let stages = &system.stages;
        let mut states = Vec::new();
        for (field, own) in system.fields.iter().enumerate() {
            states.extend((0..own.levels).map(|level| Array::Field { field, level }));
        }
        let read: BTreeSet<Array> = stages.iter().flat_map(Program::arrays).collect();
        states.extend(read.iter().copied().filter(|it| matches!(it, Array::Coefficient(_))));
        // What the last stage computes nobody waits for.
        let before = stages.split_last().map_or(&[][..], |(_, before)| before);
        let computed = before.iter().flat_map(|stage| stage.writes.iter().copied());
        let computed = computed.filter(|it| matches!(it, Array::New(_)) || read.contains(it));
        let computed: Vec<Array> = computed.collect();
        let shared = places(system, &states, &computed);
        let held = held(system, &states, &computed);
        let registers = held.iter().copied().max().unwrap_or_default();
        let with_results = held.iter().zip(stages).map(|(held, stage)| held + stage.writes.len());
        let with_results = with_results.max().unwrap_or_default();
        let periodic = periodic(system)?;
        Ok(Self { periodic, states, computed, shared, registers, with_results })
    }

    /// All arrays that threads have in registers.
    pub fn all(&self) -> impl Iterator<Item = Array> {
        self.states.iter().chain(&self.computed).copied()
    }

    /// The number of an array among them.
    pub fn index(&self, array: Array) -> usize {
        self.all().position(|known| known == array).expect("a thread has it")
    }

    /// The place of an array in shared memory, if it is there.
    pub fn slot(&self, array: Array) -> Option<usize> {
        self.shared.iter().find(|(known, _)| *known == array).map(|(_, place)| *place)
    }

    /// Places in shared memory.
    pub fn slots(&self) -> usize {
        self.shared.iter().map(|(_, place)| place + 1).max().unwrap_or_default()
    }

    /// Values that are read of shared memory for a point in all stages of a step, with so many rows of points a thread, and
    /// those written.
    pub fn exchanged(&self, system: &System, rows: usize) -> f64 {
        let read = |(_, [_, y, x]): &(Array, Offset)| match x {
            // Of a thread's own column only what is above and below its rows.
            0 => (y.unsigned_abs() as usize).min(rows) as f64 / rows as f64,
            _ => 1.0,
        };
        let of_stage = |stage: &Program| {
            let beside: BTreeSet<_> = stage.reads().filter(|(_, it)| *it != [0; 3]).collect();
            beside.iter().map(read).sum::<f64>()
        };
        let written = self.shared.iter().filter(|(it, _)| !matches!(it, Array::Coefficient(_)));
        system.stages.iter().map(of_stage).sum::<f64>() + written.count() as f64
    }
}

/// Along which axes the grid goes on from its other side.
fn periodic(system: &System) -> Result<[bool; 3], String> {
    let mut periodic = [false; 3];
    for axis in 0..3 {
        let reads = system.stages.iter().flat_map(Program::reads);
        let along = reads.filter(|(_, offset)| offset[axis] != 0);
        let mut kinds =
            along.map(|(array, _)| system.boundary_of(array).sides[axis].contains(&Side::Periodic));
        let first = kinds.next();
        periodic[axis] = first.unwrap_or_default();
        if kinds.any(|own| Some(own) != first) {
            return Err(
                "an axis is periodic for some of the arrays that are read along it only".into()
            );
        }
    }
    Ok(periodic)
}

/// The last stage that reads neighbours of an array.
fn read_around(system: &System, array: Array) -> Option<usize> {
    let reads =
        |stage: &Program| stage.reads().any(|(read, offset)| read == array && offset != [0; 3]);
    system.stages.iter().rposition(reads)
}

/// The places of arrays in shared memory.
fn places(system: &System, states: &[Array], computed: &[Array]) -> Vec<(Array, usize)> {
    let has_receiver = |field| system.receivers.iter().any(|receiver| receiver.field == field);
    // Until when a place is taken. Receivers note present values while the first stage may be computed already.
    let last = |array: Array| match array {
        Array::Field { field, level: 0 } => {
            let levels = states.iter().filter(|state| state.is_of_field(field));
            let is_read = levels.filter_map(|level| read_around(system, *level)).next().is_some();
            let own = read_around(system, array);
            own.or((is_read || has_receiver(field)).then_some(0))
        }
        // They are put there once.
        Array::Coefficient(_) => read_around(system, array).map(|_| system.stages.len()),
        other => read_around(system, other),
    };
    let mut shared = Vec::new();
    let mut taken_until: Vec<usize> = Vec::new();
    for array in states.iter().chain(computed).copied() {
        let Some(last) = last(array) else { continue };
        let computed_in = system.stages.iter().position(|stage| stage.writes.contains(&array));
        // States are put there after the last stage, so that each has a place of its own; what a stage computes while others
        // may still compute it, too.
        let free =
            computed_in.and_then(|stage| taken_until.iter().position(|until| *until < stage));
        let place = free.unwrap_or_else(|| {
            taken_until.push(0);
            taken_until.len() - 1
        });
        taken_until[place] = last;
        shared.push((array, place));
    }
    shared
}

/// Of each stage the values that a thread has in registers for a point while it is computed.
fn held(system: &System, states: &[Array], computed: &[Array]) -> Vec<usize> {
    let stages = &system.stages;
    let of_stage = |stage: usize| {
        let is_read = |array: Array| stages[stage..].iter().any(|it| it.arrays().contains(&array));
        let waits = |array: &&Array| match **array {
            Array::Field { field, level } => level + 1 < system.fields[field].levels,
            Array::Coefficient(_) | Array::New(_) => true,
            Array::Work(_) => false,
        };
        let is_held = |array: &&Array| stage == 0 || waits(array) || is_read(**array);
        let before =
            computed.iter().filter(|it| stages[..stage].iter().any(|by| by.writes.contains(it)));
        states.iter().filter(is_held).count()
            + before.filter(|it| waits(it) || is_read(**it)).count()
    };
    (0..stages.len()).map(of_stage).collect()
}
