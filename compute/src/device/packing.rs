// SPDX-License-Identifier: MIT OR Apache-2.0
//! Boxes of arrays without gaps, one array after the other.

use super::{Device, Memory, Plane};
use problem::Error;
use problem::region::Region;

/// Arrays whose boxes are packed together.
pub trait Packing {
    /// Queues a copy of a box of all arrays to so many bytes from the start of a memory, one array after the other.
    ///
    /// # Errors
    /// The device refuses.
    fn pack(
        &self,
        device: &dyn Device,
        region: Region,
        to: &Memory,
        start: usize,
    ) -> Result<(), Error>;

    /// Queues that a box of all arrays takes the values that [`Packing::pack`] would have put there.
    ///
    /// # Errors
    /// The device refuses.
    fn unpack(
        &self,
        device: &dyn Device,
        region: Region,
        from: &Memory,
        start: usize,
    ) -> Result<(), Error>;
}

impl Packing for Plane {
    fn pack(
        &self,
        device: &dyn Device,
        region: Region,
        to: &Memory,
        start: usize,
    ) -> Result<(), Error> {
        Plane::pack(self, device, region, to, start)
    }

    fn unpack(
        &self,
        device: &dyn Device,
        region: Region,
        from: &Memory,
        start: usize,
    ) -> Result<(), Error> {
        Plane::unpack(self, device, region, from, start)
    }
}
