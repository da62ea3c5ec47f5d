// SPDX-License-Identifier: MIT OR Apache-2.0
//! Filters of arrays in the memory of a device: what [`tiles::filter`] computes of arrays of this machine.

mod kind;
mod place;
mod step;
#[cfg(test)]
mod tests;

use std::cell::RefCell;

use devices::{Device, Memory};
use problem::Error;
use tiles::filter::{Described, Filter};

use self::kind::with_kind;
use self::step::Step;

pub use self::kind::Kind;

/// A filter of arrays of some extents and types, with its tables on a device.
pub struct OnDevice {
    steps: Vec<Step>,
    /// Values between two steps.
    between: RefCell<Option<Memory>>,
    bytes: usize,
}

impl OnDevice {
    /// A filter that reads arrays of the first type and writes those of the second.
    ///
    /// # Errors
    /// A block would take more memory than the device has for one, or the device refuses.
    ///
    /// # Panics
    /// If there is no stage, or constants at sides differ.
    pub fn new(device: &dyn Device, filter: &Filter, kinds: [Kind; 2]) -> Result<Self, Error> {
        let [read, written] = kinds;
        let described: Described =
            with_kind!(read, I => with_kind!(written, O => filter.described::<I, O>()));
        let steps = step::steps(device, filter, &described, kinds)?;
        let bytes = filter.extents.iter().product::<usize>() * written.bytes();
        Ok(Self { steps, between: RefCell::new(None), bytes })
    }

    /// Queues the filter of an array into another one, by their addresses.
    ///
    /// # Errors
    /// The device refuses.
    ///
    /// # Safety
    /// Both lie in the memory of the device, in C order, with as many values of their types as the extents say, aligned to them. They
    /// do not overlap, and stay until the device has come so far.
    #[allow(unsafe_code, reason = "addresses of arrays that others own")]
    pub unsafe fn queue(&self, device: &dyn Device, input: u64, output: u64) -> Result<(), Error> {
        if self.bytes == 0 {
            return Ok(());
        }
        let mut from = input;
        for (number, step) in self.steps.iter().enumerate() {
            let to = if number + 1 == self.steps.len() { output } else { self.between(device)? };
            step.queue(device, from as *const u8, to as *mut u8)?;
            from = to;
        }
        Ok(())
    }

    /// Where the values between two steps are.
    fn between(&self, device: &dyn Device) -> Result<u64, Error> {
        let mut between = self.between.borrow_mut();
        if between.is_none() {
            *between = Some(device.allocate("filter", self.bytes)?);
        }
        Ok(between.as_ref().map_or(0, Memory::address))
    }
}
