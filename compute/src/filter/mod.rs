// SPDX-License-Identifier: MIT OR Apache-2.0
//! Filters of arrays in the memory of a device: what [`tiles::filter`] computes of arrays of this machine.

mod kind;
mod place;
mod step;
#[cfg(test)]
mod tests;

use devices::Device;
use problem::Error;
use tiles::filter::{Described, Filter};

use self::kind::with_kind;
use self::step::FilterLaunch;

pub use self::kind::ValueType;

/// A filter of arrays of some extents and types, with its tables on a device.
pub struct FilterOnDevice {
    steps: Vec<FilterLaunch>,
    /// Bytes of the array that is written.
    bytes: usize,
}

impl FilterOnDevice {
    /// A filter that reads arrays of the first type and writes those of the second.
    ///
    /// # Errors
    /// A block would take more memory than the device has for one, or the device refuses.
    ///
    /// # Panics
    /// If there is no stage, or constants at sides differ.
    pub fn new(device: &dyn Device, filter: &Filter, kinds: [ValueType; 2]) -> Result<Self, Error> {
        let [read, written] = kinds;
        let described: Described =
            with_kind!(read, I => with_kind!(written, O => filter.described::<I, O>()));
        let bytes = filter.extents.iter().product::<usize>() * written.bytes();
        let steps = match bytes {
            0 => Vec::new(),
            _ => step::steps(device, filter, &described, kinds)?,
        };
        Ok(Self { steps, bytes })
    }

    /// Bytes of its tables.
    #[must_use]
    pub fn table_bytes(&self) -> usize {
        self.steps.iter().map(FilterLaunch::bytes).sum()
    }

    /// Bytes of the memory for values between its steps.
    #[must_use]
    pub fn between(&self) -> usize {
        if self.steps.len() > 1 { self.bytes } else { 0 }
    }

    /// Queues the filter of an array into another one, by their addresses; `between` is that of memory of [`FilterOnDevice::between`] bytes.
    ///
    /// # Errors
    /// The device refuses.
    ///
    /// # Safety
    /// All lie in the memory of the device, the arrays in C order, with as many values of their types as the extents say, aligned to
    /// them. They do not overlap, and stay until the device has come so far.
    #[allow(unsafe_code, reason = "addresses of arrays that others own")]
    pub unsafe fn queue(
        &self,
        device: &dyn Device,
        [input, output]: [u64; 2],
        between: u64,
    ) -> Result<(), Error> {
        let mut from = input;
        for (number, step) in self.steps.iter().enumerate() {
            let to = if number + 1 == self.steps.len() { output } else { between };
            step.queue(device, from as *const u8, to as *mut u8)?;
            from = to;
        }
        Ok(())
    }
}
