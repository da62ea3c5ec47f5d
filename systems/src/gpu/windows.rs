// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a block that goes along z plane by plane holds in shared memory.
//!
//! Of each field and each time a *window* of some planes, which lie in a ring: the next plane takes the place of the
//! oldest. So does each work field that a later stage reads, of each step. A stage is a reach and a plane behind the stage
//! before it, and so is the first one of a step behind the last one of the step before: all planes that a stage reads were
//! finished before, and one barrier a plane is enough for all stages of all steps.
//!
//! ```text
//! reach 1, one level        z ->     6 7 8 9
//! time 0, loaded                     . . . n     n: comes now
//! time 1, from 6, 7, 8       4 5 6 7 r r r       r: is read
//! time 2, from 4, 5, 6   5   r r r n
//!                        n
//! ```
//!
//! With two stages the first line is what is loaded, the second what the first stage computes, and the third what the second
//! one does: new values are in the window of the next time from the stage on that computes them.

use std::collections::{BTreeMap, BTreeSet};

use super::held::TileState;
use super::tile::BlockTile;
use crate::checked::System;
use crate::expression::Array;
use crate::program::{Offset, Program};

/// The windows of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct Windows {
    /// Planes of a window.
    pub planes: usize,
    /// Values of a plane, with those after it that are read by points which do not matter.
    pub plane: usize,
    /// Of each field the window of its earliest level at the start; those of later times follow.
    first: Vec<usize>,
    /// Of each field how many levels it has.
    levels: Vec<usize>,
    /// Of each work field that a later stage reads its window in the first step; those of later steps follow.
    works: BTreeMap<usize, usize>,
    /// Fields whose new values a later stage reads: they have a window in the last step, too.
    lasting: BTreeSet<usize>,
    count: usize,
}

impl Windows {
    /// The windows of a system.
    pub fn new(system: &System, tile: &BlockTile) -> Self {
        let read: BTreeSet<Array> = system.stages.iter().flat_map(Program::arrays).collect();
        let lasting: BTreeSet<usize> =
            (0..system.fields.len()).filter(|field| read.contains(&Array::New(*field))).collect();
        let [_, down, across] = tile.extents();
        let levels: Vec<usize> = system.fields.iter().map(|field| field.levels).collect();
        let mut count = 0;
        let mut next = |windows: usize| {
            let first = count;
            count += windows;
            first
        };
        let of_field = |(field, levels): (usize, &usize)| {
            next(tile.steps + levels - 1 + usize::from(lasting.contains(&field)))
        };
        let first = levels.iter().enumerate().map(of_field).collect();
        let works = read.iter().filter_map(|array| match array {
            Array::Work(work) => Some((*work, next(tile.steps))),
            _ => None,
        });
        let works = works.collect();
        let planes = planes(system, tile.delay());
        Self { planes, plane: down * across + tile.pad(), first, levels, works, lasting, count }
    }

    /// The window of a field's level at the start, in values from the first one on; with level -1 that of a step later.
    pub fn window(&self, field: usize, level: isize) -> usize {
        self.values_before((self.first[field] + self.levels[field]) as isize - 1 - level)
    }

    /// The window of what a step reads or computes, if there is one.
    pub fn of(&self, array: Array) -> Option<usize> {
        match array {
            Array::Field { field, level } => Some(self.window(field, level as isize)),
            Array::New(field) => Some(self.window(field, -1)),
            Array::Work(work) => self.works.get(&work).map(|it| self.values_before(*it as isize)),
            Array::Coefficient(_) => None,
        }
    }

    /// Whether what a stage computes has a window in the last step, too.
    pub fn lasts(&self, array: Array) -> bool {
        match array {
            Array::New(field) => self.lasting.contains(&field),
            other => self.of(other).is_some(),
        }
    }

    fn values_before(&self, window: isize) -> usize {
        window as usize * self.planes * self.plane
    }

    /// All values, with those before the first plane.
    pub fn values(&self, tile: &BlockTile) -> usize {
        tile.pad() + self.count * self.planes * self.plane
    }
}

/// Planes of a window: from when one is written until it is read for the last time.
fn planes(system: &System, delay: usize) -> usize {
    let stages = &system.stages;
    // How many planes a stage is behind what is loaded for its step.
    let behind = |stage: usize| (stage + 1) * delay;
    let step = stages.len() * delay;
    let writes = |array: Array| stages.iter().position(|stage| stage.writes.contains(&array));
    let written = |array: Array| behind(writes(array).expect("a stage computes it"));
    // Of values before a step: a step earlier, but that time 0 is loaded when its step begins.
    let present = |field: usize, level: usize| (1 + level) * step - written(Array::New(field));
    let held = |stage: usize, (array, offset): (Array, Offset)| {
        let read = behind(stage) + (-offset[0]).max(0) as usize + 1;
        match array {
            Array::Field { field, level } => read + present(field, level),
            Array::New(_) | Array::Work(_) => read - written(array),
            Array::Coefficient(_) => 0,
        }
    };
    let of_stage = |(number, stage): (usize, &Program)| {
        let all = stage.reads().map(|read| held(number, read));
        all.max().unwrap_or_default()
    };
    // Receivers note what fields have when their first stage comes, and sides lead to planes as far inside as reads go outside.
    let noted = (0..system.fields.len()).map(|field| delay + 1 + present(field, 0));
    stages.iter().enumerate().map(of_stage).chain(noted).fold(2 * delay, usize::max)
}

/// Values that a block has in shared memory, in windows or, on a grid without z, in arrays of its part.
pub fn shared_values(system: &System, held: &TileState, tile: &BlockTile) -> usize {
    match tile.planes {
        Some(_) => Windows::new(system, tile).values(tile),
        None => held.slots() * tile.values(),
    }
}

/// Values that a step reads of windows for a point in all of its stages, with so many rows of points a thread.
pub fn read(system: &System, rows: usize) -> f64 {
    let of_rows = |(array, [z, y, x]): (Array, Offset)| {
        (0..rows as i32).map(move |row| (array, [z, row + y, x]))
    };
    let of_stage = |stage: &Program| {
        let held = stage.reads().filter(|(it, _)| !matches!(it, Array::Coefficient(_)));
        let read: BTreeSet<(Array, Offset)> = held.flat_map(of_rows).collect();
        read.len()
    };
    system.stages.iter().map(of_stage).sum::<usize>() as f64 / rows as f64
}
