// SPDX-License-Identifier: MIT OR Apache-2.0
//! What all kernel families have in common for those that launch them.

use crate::Error;
use crate::device::{Device, Plane};
use crate::seams::Seams;

/// A kernel, prepared for one stencil on one size of grid. It takes some time steps at once.
pub trait Pass {
    /// Queues one launch, which reads `from` and writes `to`.
    ///
    /// # Errors
    /// The device refuses.
    fn launch(&self, device: &dyn Device, from: &Plane, to: &Plane) -> Result<(), Error>;

    /// Queues what gives the same as so many launches, back and forth between the planes, from
    /// `planes[0]`; the result is in `planes[count % 2]`.
    ///
    /// # Errors
    /// The device refuses.
    fn repeat(&self, device: &dyn Device, planes: [&Plane; 2], count: usize) -> Result<(), Error> {
        let mut turns = 0..count;
        turns.try_for_each(|turn| self.launch(device, planes[turn % 2], planes[(turn + 1) % 2]))
    }

    /// Where its tiles meet.
    fn seams(&self) -> Seams;
}
