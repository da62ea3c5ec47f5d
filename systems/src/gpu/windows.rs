// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a block that goes along z plane by plane holds in shared memory.
//!
//! Of each field and each time a *window* of some planes, which lie in a ring: the next plane takes the place of the
//! oldest. Step l of a launch is a reach and a plane behind step l - 1, so that all planes that it reads were
//! finished before, and one barrier a plane is enough for all steps.
//!
//! ```text
//! reach 1, one level        z ->     6 7 8 9
//! time 0, loaded                     . . . n     n: comes now
//! time 1, from 6, 7, 8       4 5 6 7 r r r       r: is read
//! time 2, from 4, 5, 6   5   r r r n
//!                        n
//! ```

use std::collections::BTreeSet;

use super::held::TileState;
use super::tile::Tile;
use crate::checked::System;
use crate::expression::Array;
use crate::program::Offset;

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
    count: usize,
}

impl Windows {
    /// Those of a system.
    pub fn new(system: &System, tile: &Tile) -> Self {
        let delay = tile.reach[0] + 1;
        // A level of j steps ago is so many planes ahead.
        let held = system.program.reads().filter_map(|(array, offset)| match array {
            Array::Field { level, .. } => {
                Some((1 + level) * delay + (-offset[0]).max(0) as usize + 1)
            }
            _ => None,
        });
        let planes = held.fold(2 * delay, usize::max);
        let [_, down, across] = tile.extents();
        let levels: Vec<usize> = system.fields.iter().map(|field| field.levels).collect();
        let mut count = 0;
        let mut next = |levels: &usize| {
            let first = count;
            count += tile.steps + levels - 1;
            first
        };
        let first = levels.iter().map(&mut next).collect();
        Self { planes, plane: down * across + tile.pad(), first, levels, count }
    }

    /// The window of a field's level at the start, in values from the first one on; with level -1 that of a step later.
    pub fn window(&self, field: usize, level: isize) -> usize {
        let number = (self.first[field] + self.levels[field]) as isize - 1 - level;
        number as usize * self.planes * self.plane
    }

    /// All values, with those before the first plane.
    pub fn values(&self, tile: &Tile) -> usize {
        tile.pad() + self.count * self.planes * self.plane
    }
}

/// Values that a block has in shared memory, in windows or, on a grid without z, in arrays of its part.
pub fn shared_values(system: &System, held: &TileState, tile: &Tile) -> usize {
    match tile.planes {
        Some(_) => Windows::new(system, tile).values(tile),
        None => held.slots() * tile.values(),
    }
}

/// Values that a step reads of windows for a point, with so many rows of points a thread.
pub fn read(system: &System, rows: usize) -> f64 {
    let fields = system.program.reads().filter(|(it, _)| matches!(it, Array::Field { .. }));
    let of_rows = |(array, [z, y, x]): (Array, Offset)| {
        (0..rows as i32).map(move |row| (array, [z, row + y, x]))
    };
    let read: BTreeSet<(Array, Offset)> = fields.flat_map(of_rows).collect();
    read.len() as f64 / rows as f64
}
