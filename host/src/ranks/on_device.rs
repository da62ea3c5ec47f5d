// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ghosts of a part on a device: own points are packed there, carried to the neighbours' devices, and unpacked there. The
//! host only queues that, and goes on.

use super::halo::{Transfer, Transfers};
use crate::device::{Device, Memory, Plane};
use crate::engine::on_gpu::Ghosts;
use crate::problem::region::Region;
use crate::{Dtype, Error};

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
pub trait Carry {
    /// How, in words.
    fn describe(&self) -> String;

    /// Queues that what lies in the parcels that are sent, after all that is queued so far, gets to their ranks, and that what is
    /// queued next finds what they sent in those that are received: in the half that is returned.
    ///
    /// # Errors
    /// A device refuses, or another rank has failed.
    fn carry(
        &mut self,
        device: &dyn Device,
        sends: &[Parcel],
        receives: &[Parcel],
    ) -> Result<usize, Error>;

    /// All that came has been queued to be unpacked.
    ///
    /// # Errors
    /// A device refuses.
    fn unpacked(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// The boxes of a parcel, each from so many bytes on.
type Boxes = Vec<(Region, usize)>;

/// Ghosts that are good for a number of steps.
pub struct OnDevice {
    sends: Vec<Parcel>,
    receives: Vec<Parcel>,
    /// Of each parcel.
    packed: Vec<Boxes>,
    unpacked: Vec<Boxes>,
    carrier: Box<dyn Carry>,
    period: usize,
    left: usize,
}

impl OnDevice {
    /// Of a part with these transfers, as deep as so many steps reach.
    ///
    /// # Errors
    /// The device has no memory for the parcels.
    pub fn new(
        device: &dyn Device,
        transfers: &Transfers,
        dtype: Dtype,
        period: usize,
        carrier: impl FnOnce(&[Parcel], &[Parcel]) -> Result<Box<dyn Carry>, Error>,
    ) -> Result<Self, Error> {
        let (sends, packed) = parcels(device, &transfers.sends, dtype, 1)?;
        let (receives, unpacked) = parcels(device, &transfers.receives, dtype, 2)?;
        let carrier = carrier(&sends, &receives)?;
        Ok(Self { sends, receives, packed, unpacked, carrier, period, left: period })
    }
}

/// All boxes for each rank in one parcel, in their order.
fn parcels(
    device: &dyn Device,
    transfers: &[Transfer],
    dtype: Dtype,
    halves: usize,
) -> Result<(Vec<Parcel>, Vec<Boxes>), Error> {
    let mut boxes: Vec<(usize, Boxes, usize)> = Vec::new();
    for &Transfer { with, region } in transfers {
        let bytes = region.points() * dtype.bytes();
        match boxes.iter_mut().find(|(rank, ..)| *rank == with) {
            Some((_, boxes, total)) => {
                boxes.push((region, *total));
                *total += bytes;
            }
            None => boxes.push((with, vec![(region, 0)], bytes)),
        }
    }
    let parcel = |(with, boxes, bytes)| {
        let memory = device.allocate("ghosts", halves * half_bytes(bytes))?;
        Ok((Parcel { with, memory, bytes }, boxes))
    };
    let all: Result<Vec<_>, Error> = boxes.into_iter().map(parcel).collect();
    Ok(all?.into_iter().unzip())
}

impl Ghosts for OnDevice {
    fn describe(&self) -> String {
        self.carrier.describe()
    }

    fn left(&self) -> usize {
        self.left
    }

    fn loaded(&mut self) {
        self.left = self.period;
    }

    fn used(&mut self, steps: usize) {
        self.left -= steps;
    }

    fn announce(&mut self, _: &dyn Device, _: &Plane, _: usize) -> Result<(), Error> {
        Ok(())
    }

    fn renew(&mut self, device: &dyn Device, grid: &Plane) -> Result<(), Error> {
        for (parcel, boxes) in self.sends.iter().zip(&self.packed) {
            boxes.iter().try_for_each(|&(region, start)| {
                grid.pack(device, region, &parcel.memory, start)
            })?;
        }
        let half = self.carrier.carry(device, &self.sends, &self.receives)?;
        for (parcel, boxes) in self.receives.iter().zip(&self.unpacked) {
            boxes.iter().try_for_each(|&(region, start)| {
                grid.unpack(device, region, &parcel.memory, parcel.half(half) + start)
            })?;
        }
        self.carrier.unpacked()?;
        self.left = self.period;
        Ok(())
    }
}
