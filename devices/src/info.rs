// SPDX-License-Identifier: MIT OR Apache-2.0
//! What GPU there is.

use super::{embedded, failed};
use cuda_driver::{Attribute, Device, LoadError};
use problem::Error;
use transform::machine::{Machine, Rates};

/// What is known of the GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceInfo {
    /// Its name, such as `NVIDIA H200`.
    pub name: String,
    /// Compute capability, major and minor.
    pub compute_capability: (u32, u32),
    /// Memory.
    pub memory_bytes: u64,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Level-2 cache.
    pub l2_bytes: u64,
    /// Shared memory that one block can ask for.
    pub shared_bytes_per_block: u32,
    /// Cycles in a second, at most.
    pub clock_hz: f64,
    /// Bytes in a second that the memory has by its clock.
    pub memory_bytes_per_s: f64,
    /// CUDA version that the driver supports, such as `13.0`.
    pub driver_version: String,
}

/// Looks for a GPU, the first of the machine (`CUDA_VISIBLE_DEVICES` chooses another), and for kernels in this
/// program. Whether these run on it, [`code_for`](super::code_for) says.
///
/// # Errors
/// [`Error::NoDriver`], [`Error::NoGpu`] or [`Error::Driver`]: there is no GPU. [`Error::NoDeviceCode`]: there is one, but
/// this program has no kernels.
pub fn probe() -> Result<DeviceInfo, Error> {
    let gpu = first()?;
    has_kernels()?;
    Ok(gpu)
}

/// That this program has kernels at all.
fn has_kernels() -> Result<(), Error> {
    match embedded().next() {
        Some(_) => Ok(()),
        None => Err(Error::NoDeviceCode { reason: super::device_compiler().into() }),
    }
}

/// The first GPU of the machine, whatever runs on it.
///
/// # Errors
/// [`Error::NoDriver`], [`Error::NoGpu`] or [`Error::Driver`].
pub fn first() -> Result<DeviceInfo, Error> {
    describe(nth_device(0)?)
}

/// How many GPUs the driver lists.
///
/// # Errors
/// [`Error::NoDriver`] or [`Error::Driver`].
pub fn count() -> Result<usize, Error> {
    cuda_driver::load().map_err(|reason| Error::NoDriver { reason: cause(reason) })?;
    Device::count().map(|count| count as usize).map_err(failed("count its devices"))
}

/// The GPU of that number.
pub(super) fn nth_device(number: usize) -> Result<Device, Error> {
    let count = count()?;
    let lists = |what: &str| Error::NoGpu { reason: format!("the driver lists {what}") };
    match count {
        0 => Err(lists("no device")),
        _ if number >= count => {
            Err(lists(&format!("{count} devices; there is no number {number}")))
        }
        _ => Device::nth(number as u32).map_err(failed(&format!("open device {number}"))),
    }
}

/// What the loader met, without its advice.
fn cause(reason: LoadError) -> String {
    match reason {
        // Most loaders begin with the library's name.
        LoadError::NotFound { library, reason } if reason.starts_with(&library) => reason,
        LoadError::NotFound { library, reason } => format!("{library}: {reason}"),
        other => other.to_string(),
    }
}

impl DeviceInfo {
    /// The machine of this name, if its speeds were measured before the program was built.
    #[must_use]
    pub fn described(&self) -> Option<&'static Machine> {
        let machines = Machine::known().iter().map(|known| &known.machine);
        machines.into_iter().find(|machine| machine.name == self.name)
    }

    /// What the planner knows of it: the machine of this name, or one like the H200 with as many
    /// multiprocessors, as much cache and memory, at the speeds that the driver states.
    #[must_use]
    pub fn machine(&self) -> Machine {
        if let Some(known) = self.described() {
            return known.clone();
        }
        let like = Machine::h200();
        let cores = self.multiprocessors as f64 * self.clock_hz
            / (like.multiprocessors as f64 * like.clock_hz);
        self.like_h200([cores; 2])
    }

    /// What the driver states, and the rates of an H200, of CUDA cores and of tensor cores times these.
    pub(super) fn like_h200(&self, [cores, tensor]: [f64; 2]) -> Machine {
        let like = Machine::h200();
        let scaled = |rates: Rates| Rates {
            cuda: rates.cuda * cores,
            dense: rates.dense * tensor,
            sparse: rates.sparse.map(|rate| rate * tensor),
        };
        Machine {
            name: self.name.clone(),
            source: "not measured: as the driver states it, otherwise by the \
                     H200's ratios"
                .into(),
            compute_capability: self.compute_capability,
            multiprocessors: self.multiprocessors as usize,
            clock_hz: self.clock_hz,
            shared_bytes_per_block: self.shared_bytes_per_block,
            memory_bytes: self.memory_bytes,
            l2_bytes: self.l2_bytes as f64,
            copy_bytes_per_s: self.memory_bytes_per_s * COPIED,
            launch_s: like.launch_s,
            half: scaled(like.half),
            single: scaled(like.single),
            double: scaled(like.double),
        }
    }

    /// What the driver would say of a GPU that is described.
    #[must_use]
    pub fn of(machine: &Machine, driver_version: &str) -> Self {
        Self {
            name: machine.name.clone(),
            compute_capability: machine.compute_capability,
            memory_bytes: machine.memory_bytes,
            multiprocessors: machine.multiprocessors as u32,
            l2_bytes: machine.l2_bytes as u64,
            shared_bytes_per_block: machine.shared_bytes_per_block,
            clock_hz: machine.clock_hz,
            memory_bytes_per_s: 0.0,
            driver_version: driver_version.into(),
        }
    }
}

/// What a copy reaches of the bandwidth that the memory has by its clock.
const COPIED: f64 = 0.87;

pub(super) fn describe(device: Device) -> Result<DeviceInfo, Error> {
    let attribute = |which| device.attribute(which).map_err(failed("describe a device"));
    let (major, minor) = cuda_driver::driver_version().map_err(failed("tell its version"))?;
    Ok(DeviceInfo {
        name: device.name().map_err(failed("name a device"))?,
        compute_capability: (
            attribute(Attribute::ComputeCapabilityMajor)?,
            attribute(Attribute::ComputeCapabilityMinor)?,
        ),
        memory_bytes: device.total_memory().map_err(failed("describe a device"))? as u64,
        multiprocessors: attribute(Attribute::MultiprocessorCount)?,
        l2_bytes: attribute(Attribute::L2CacheSize)?.into(),
        clock_hz: 1e3 * f64::from(attribute(Attribute::ClockRate)?),
        // The clock is in kHz; both of its edges carry a bit on each line.
        memory_bytes_per_s: 2e3 / 8.0
            * f64::from(attribute(Attribute::MemoryClockRate)?)
            * f64::from(attribute(Attribute::GlobalMemoryBusWidth)?),
        shared_bytes_per_block: attribute(Attribute::MaxSharedMemoryPerBlockOptin)?,
        driver_version: format!("{major}.{minor}"),
    })
}
