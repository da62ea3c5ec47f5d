// SPDX-License-Identifier: MIT OR Apache-2.0
//! What all kernel families have in common for those that launch them.

use crate::device::{Device, Plane};
use problem::Error;
use problem::check::seams::Seams;
use problem::region::Region;

/// The fields of a problem in device memory, at the time levels that a launch reads and writes. A plain stencil has
/// one field, at one level before the launch and one after it.
#[derive(Clone, Copy)]
pub struct Fields<'a> {
    /// What the launch reads.
    pub before: &'a Plane,
    /// What it writes.
    pub after: &'a Plane,
}

impl<'a> Fields<'a> {
    /// Of two planes that take turns, those of one turn.
    #[must_use]
    pub fn of_turn([first, second]: [&'a Plane; 2], turn: usize) -> Self {
        if turn.is_multiple_of(2) {
            Self { before: first, after: second }
        } else {
            Self { before: second, after: first }
        }
    }
}

/// A kernel, prepared for one stencil on one size of grid. It takes some time steps at once.
pub trait Pass {
    /// Queues one launch. It computes the points of a region of the grid; of the others it may leave any values,
    /// for the rim to write after it. A kernel that the rim runs beside ([`super::FamilyKernel::beside`]) writes nothing
    /// but whole chunks of columns in the region, which are what its rim leaves to it.
    ///
    /// # Errors
    /// The device refuses.
    fn launch(&self, device: &dyn Device, fields: Fields, region: Region) -> Result<(), Error>;

    /// Queues what gives the same as so many launches on the whole grid, back and forth between the planes, from
    /// `planes[0]`; the result is in `planes[count % 2]`.
    ///
    /// # Errors
    /// The device refuses.
    fn repeat(&self, device: &dyn Device, planes: [&Plane; 2], count: usize) -> Result<(), Error> {
        let whole = Region::whole(planes[0].shape());
        let mut turns = 0..count;
        turns.try_for_each(|turn| self.launch(device, Fields::of_turn(planes, turn), whole))
    }

    /// Where its tiles meet.
    fn seams(&self) -> Seams;
}
