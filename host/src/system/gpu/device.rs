// SPDX-License-Identifier: MIT OR Apache-2.0
//! A GPU that runs a kernel which was written for a system.

use super::Target;
use crate::Error;
use crate::device::generated::{Addresses, MOST_ADDRESSES, call};
use crate::device::{Device, Gpu, Launch, Memory, Order, Rows, first};
use cuda_driver::Extents;

/// A GPU with the arrays of a system.
pub struct OnDevice {
    arrays: Vec<Memory>,
    // Dropped after what was allocated on it.
    gpu: Gpu,
}

/// Whether there is a GPU.
///
/// # Errors
/// There is no driver, or no GPU.
pub fn check() -> Result<(), Error> {
    first().map(|_| ())
}

impl OnDevice {
    /// The first GPU, with this PTX.
    ///
    /// # Errors
    /// There is no driver or no GPU, or the driver refuses.
    pub fn open(ptx: &str) -> Result<Self, Error> {
        Ok(Self { arrays: Vec::new(), gpu: Gpu::open_with(ptx)? })
    }
}

impl Target for OnDevice {
    fn allocate(&mut self, what: &'static str, bytes: usize) -> Result<usize, Error> {
        self.arrays.push(self.gpu.allocate(what, bytes)?);
        Ok(self.arrays.len() - 1)
    }

    fn address(&self, array: usize) -> u64 {
        self.arrays[array].address()
    }

    fn write(&mut self, array: usize, rows: Rows, bytes: &[u8]) -> Result<(), Error> {
        self.gpu.wait()?;
        self.gpu.write(&self.arrays[array], rows, bytes)
    }

    fn read(&self, array: usize, rows: Rows, bytes: &mut [u8]) -> Result<(), Error> {
        self.gpu.wait()?;
        self.gpu.read(&self.arrays[array], rows, bytes)
    }

    fn launch(&mut self, extents: Extents, addresses: [u64; MOST_ADDRESSES]) -> Result<(), Error> {
        let call = call(Addresses(addresses));
        self.gpu.launch(&Launch { call: &call, extents, order: Order::After })
    }

    fn wait(&self) -> Result<(), Error> {
        self.gpu.wait()
    }

    fn describe(&self) -> String {
        let info = self.gpu.info();
        format!("{}, CUDA {}, kernel written for this system", info.name, info.driver_version)
    }
}
