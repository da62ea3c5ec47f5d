// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many sources as a list by rows of the grid: where the list of each row begins, and for each source its x, its
//! field and its number.

use crate::system::checked::System;

/// Up to so many sources threads compare themselves.
const FEW: usize = 8;

/// Whether there are so many that a list is faster.
pub fn is_needed(system: &System) -> bool {
    system.sources.len() > FEW
}

/// For each row (z, y) the first of its entries, at the end their number; and the entries, those of a row together
/// in the order of the system.
pub fn lists(system: &System) -> (Vec<u32>, Vec<[u32; 4]>) {
    let [nz, ny, _] = system.shape.extents();
    let mut entries: Vec<(usize, [u32; 4])> = Vec::new();
    for (index, source) in system.sources.iter().enumerate() {
        let [z, y, x] = source.at;
        entries.push((z * ny + y, [x as u32, source.field as u32, index as u32, 0]));
    }
    entries.sort_by_key(|(row, _)| *row);
    let first = |row: usize| entries.partition_point(|(own, _)| *own < row) as u32;
    let firsts = (0..=nz * ny).map(first).collect();
    (firsts, entries.into_iter().map(|(_, entry)| entry).collect())
}
