// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a GPU lets a launch take.

use super::{Chip, DeviceInfo, code_for};
use problem::Error;

/// What decides which launches a GPU takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The chip that the kernels are for.
    pub chip: Chip,
    /// Shared memory that one block can ask for.
    pub shared_bytes: u32,
}

impl Limits {
    /// The limits of an H200 and of the emulator. Of the builds that run on an H200, the chip is that of the build which
    /// later GPUs run, too.
    pub const H200: Self = Self { chip: Chip::Sm90, shared_bytes: 227 << 10 };
}

impl DeviceInfo {
    /// Its limits, with the kernels that it takes.
    ///
    /// # Errors
    /// Those of [`code_for`].
    pub fn limits(&self) -> Result<Limits, Error> {
        let chip = code_for(self.compute_capability)?.chip;
        Ok(Limits { chip, shared_bytes: self.shared_bytes_per_block })
    }
}
