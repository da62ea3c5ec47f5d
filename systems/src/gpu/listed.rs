// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many sources as a list by rows of the grid: where the list of each row begins, and for each source its x, its
//! field and its number.

use super::held::TileState;
use super::tile::BlockTile;
use super::windows::Windows;
use crate::checked::System;
use crate::expression::Array;
use crate::gpu::numbers;
use problem::Error;

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

/// Of a chain for each block, or each of its planes, the first of its receivers, at the end their number; and the
/// receivers: the distance of the value in the shared memory of the block, in bytes, and which it is.
///
/// # Errors
/// Such systems have no chains.
pub fn receivers(system: &System, tile: BlockTile) -> Result<(Vec<u32>, Vec<[u32; 2]>), Error> {
    let unsupported = |reason| Error::Unsupported { engine: "cuda", reason };
    let held = TileState::new(system).map_err(unsupported)?;
    let ([planes, down, across], [_, halo_y, halo_x]) = (tile.middle(), tile.halo());
    let [above, blocks_down, blocks_across] = tile.blocks(system.shape.extents());
    let bytes = numbers(system.dtype).bytes();
    let windows = Windows::new(system, &tile);
    let entry = |(number, receiver): (usize, &crate::parts::Receiver)| {
        let ([z, y, x], field) = (receiver.at, receiver.field);
        let first = match tile.planes {
            Some(_) => windows.window(field, 0),
            None => {
                let array = Array::Field { field, level: 0 };
                held.slot(array).expect("it is shared") * tile.values() + tile.pad()
            }
        };
        let cell = (y % down + halo_y) * tile.lanes + x % across + halo_x;
        let block = (z / planes * blocks_down + y / down) * blocks_across + x / across;
        (block * planes + z % planes, [((first + cell) * bytes) as u32, number as u32])
    };
    let mut entries: Vec<_> = system.receivers.iter().enumerate().map(entry).collect();
    entries.sort_by_key(|(list, _)| *list);
    let first = |list: usize| entries.partition_point(|(own, _)| *own < list) as u32;
    let firsts = (0..=above * blocks_down * blocks_across * planes).map(first).collect();
    Ok((firsts, entries.into_iter().map(|(_, entry)| entry).collect()))
}
