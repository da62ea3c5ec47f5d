// SPDX-License-Identifier: MIT OR Apache-2.0
//! The GPU that a plan is for.

use crate::Error;
use crate::device::{DeviceInfo, Limits, probe};
use cuda_chip::Chip;
use transform::machine::Machine;

/// Where a job is to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The GPU's speeds, and where they come from.
    pub machine: Machine,
    /// The GPU's limits.
    pub limits: Limits,
}

impl Target {
    /// A GPU that is only described: it takes the newest kernels that would run on it.
    #[must_use]
    pub fn described(machine: Machine) -> Self {
        let chip = if machine.compute_capability >= (9, 0) { Chip::Sm90 } else { Chip::Sm80 };
        let shared_bytes = machine.shared_bytes_per_block;
        Self { machine, limits: Limits { chip, shared_bytes } }
    }

    /// The GPU of this machine.
    ///
    /// # Errors
    /// There is none, or none of the kernels runs on it.
    pub fn here() -> Result<Self, Error> {
        Self::of(&probe()?)
    }

    /// A GPU that was found.
    ///
    /// # Errors
    /// None of the kernels runs on it.
    pub fn of(gpu: &DeviceInfo) -> Result<Self, Error> {
        Ok(Self { machine: gpu.machine(), limits: gpu.limits()? })
    }
}
