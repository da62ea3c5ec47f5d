// SPDX-License-Identifier: MIT OR Apache-2.0
//! What goes from device to device: boxes of points, packed into one parcel for each rank; and what carries parcels.

use super::halo::Transfer;
use crate::device::{Device, Memory};
use problem::Error;
use problem::region::Region;

/// Bytes in a device's memory that go to a rank, or come from it.
pub struct Parcel {
    /// The other rank.
    pub with: usize,
    /// The bytes, from its start on; those that come may be in one of two halves.
    pub memory: Memory,
    /// How many.
    pub bytes: usize,
}

impl Parcel {
    /// Where a half begins.
    #[must_use]
    pub fn half(&self, half: usize) -> usize {
        half * half_bytes(self.bytes)
    }
}

/// Halves are aligned as the fastest copies like it.
fn half_bytes(bytes: usize) -> usize {
    bytes.next_multiple_of(256)
}

/// Carries parcels from device to device.
pub trait ParcelCarrier {
    /// How, in words.
    fn describe(&self) -> String;

    /// Queues that what lies in the parcels that are sent gets to their ranks, as soon as all is done that is queued so far
    /// on the stream of edges.
    ///
    /// # Errors
    /// A device refuses, or another rank has failed.
    fn send(&mut self, sends: &[Parcel], receives: &[Parcel]) -> Result<(), Error>;

    /// Queues that what is queued next finds in those parcels that are received what other ranks have sent: in the half that
    /// is returned.
    ///
    /// # Errors
    /// A device refuses, or another rank has failed.
    fn receive(&mut self, sends: &[Parcel], receives: &[Parcel]) -> Result<usize, Error>;

    /// All that came has been queued to be unpacked.
    ///
    /// # Errors
    /// A device refuses.
    fn unpacked(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// A box of a parcel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// Its points, as the part has them.
    pub region: Region,
    /// The arrays, one after the other.
    pub arrays: Vec<usize>,
    /// Where it begins in the parcel, in bytes.
    pub start: usize,
}

/// All boxes for each rank in one parcel, in their order, of values of so many bytes, with room for so many halves.
///
/// # Errors
/// The device has no memory for them.
pub fn parcels(
    device: &dyn Device,
    transfers: &[Transfer],
    value_bytes: usize,
    halves: usize,
) -> Result<(Vec<Parcel>, Vec<Vec<Packed>>), Error> {
    let mut boxes: Vec<(usize, Vec<Packed>, usize)> = Vec::new();
    for Transfer { with, region, arrays } in transfers {
        let bytes = region.points() * arrays.len() * value_bytes;
        let packed = |start| Packed { region: *region, arrays: arrays.clone(), start };
        match boxes.iter_mut().find(|(rank, ..)| rank == with) {
            Some((_, boxes, total)) => {
                boxes.push(packed(*total));
                *total += bytes;
            }
            None => boxes.push((*with, vec![packed(0)], bytes)),
        }
    }
    let parcel = |(with, boxes, bytes)| {
        let memory = device.allocate("ghosts", halves * half_bytes(bytes))?;
        Ok((Parcel { with, memory, bytes }, boxes))
    };
    let all: Result<Vec<_>, Error> = boxes.into_iter().map(parcel).collect();
    Ok(all?.into_iter().unzip())
}
