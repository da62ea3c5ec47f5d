// SPDX-License-Identifier: MIT OR Apache-2.0
//! Boxes of arrays without gaps, one array after the other.

use super::{Device, Memory, MemoryRows};
use problem::Error;
use problem::region::Region;

/// Arrays of one device whose boxes are packed together.
pub trait Packing {
    /// Where the values of a box of points lie in an array, by its number: the memory, and the rows in it.
    ///
    /// # Panics
    /// Where the box reaches out of the array, or there is none of that number.
    fn rows_of(&self, array: usize, region: Region) -> (&Memory, MemoryRows);

    /// Queues a copy of a box of some arrays, each in C order, to so many bytes from the start of a memory.
    ///
    /// # Errors
    /// The device refuses.
    ///
    /// # Panics
    /// Where the box reaches out of the arrays, or the memory has no room for it.
    fn pack(
        &self,
        device: &dyn Device,
        (region, arrays): (Region, &[usize]),
        to: &Memory,
        start: usize,
    ) -> Result<(), Error> {
        let boxes: Vec<_> = arrays.iter().map(|&array| self.rows_of(array, region)).collect();
        let mut both = packed(&boxes, start);
        both.try_for_each(|(array, packed)| device.copy_rows(array, (to, packed)))
    }

    /// Queues that a box of some arrays takes the values that [`Packing::pack`] would have put there.
    ///
    /// # Errors
    /// The device refuses.
    ///
    /// # Panics
    /// Where the box reaches out of the arrays, or the memory is too small to hold it.
    fn unpack(
        &self,
        device: &dyn Device,
        (region, arrays): (Region, &[usize]),
        from: &Memory,
        start: usize,
    ) -> Result<(), Error> {
        let boxes: Vec<_> = arrays.iter().map(|&array| self.rows_of(array, region)).collect();
        let mut both = packed(&boxes, start);
        both.try_for_each(|(array, packed)| device.copy_rows((from, packed), array))
    }
}

/// Each box with its rows without gaps, one box after the other from a place on.
fn packed<'a>(
    boxes: &'a [(&'a Memory, MemoryRows)],
    start: usize,
) -> impl Iterator<Item = ((&'a Memory, MemoryRows), MemoryRows)> {
    boxes.iter().scan(start, |at, &(memory, rows)| {
        let own = rows.packed(*at);
        *at += own.planes * own.plane_pitch;
        Some(((memory, rows), own))
    })
}
