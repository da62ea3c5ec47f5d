// SPDX-License-Identifier: MIT OR Apache-2.0
//! The GPU, opened: context, kernels and one stream of work.

use super::info::first_device;
use super::modules::Modules;
use super::{Chip, DeviceInfo, code_for, failed, first, probe};
use crate::Error;
use cuda_driver::cust::context::Context;
use cuda_driver::cust::event::{Event, EventFlags};
use cuda_driver::cust::stream::{Stream, StreamFlags};
use std::time::Duration;

/// A GPU with the kernels for it. Belongs to the thread that opened it.
pub struct Gpu {
    info: DeviceInfo,
    chip: Option<Chip>,
    pub(super) stream: Stream,
    pub(super) modules: Modules,
    // Dropped last: the others live in it.
    _context: Context,
}

impl Gpu {
    /// Opens the GPU that [`probe`] describes and takes the kernels for it.
    ///
    /// # Errors
    /// Those of [`probe`], or no kernels run on it.
    pub fn open() -> Result<Self, Error> {
        let info = probe()?;
        let code = code_for(info.compute_capability)?;
        Self::load(info, code.ptx, Some(code.chip))
    }

    /// As [`Gpu::open`], with other kernels than this program carries.
    ///
    /// # Errors
    /// Those of [`first`].
    pub fn open_with(ptx: &str) -> Result<Self, Error> {
        Self::load(first()?, ptx, None)
    }

    fn load(info: DeviceInfo, ptx: &str, chip: Option<Chip>) -> Result<Self, Error> {
        let context = Context::new(first_device()?).map_err(failed("open a context"))?;
        let stream =
            Stream::new(StreamFlags::NON_BLOCKING, None).map_err(failed("open a stream"))?;
        let modules = Modules::new(ptx, info.shared_bytes_per_block);
        Ok(Self { info, chip, stream, modules, _context: context })
    }

    /// What it is.
    #[must_use]
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// The chip that the loaded kernels are for; not known of those that the program does not carry.
    #[must_use]
    pub fn chip(&self) -> Option<Chip> {
        self.chip
    }

    /// GPU, driver and kernels in words, such as `NVIDIA H200, CUDA 13.0, sm_90 kernels`.
    #[must_use]
    pub fn describe(&self) -> String {
        let DeviceInfo { name, driver_version, .. } = &self.info;
        let kernels = self.chip.map_or("other", Chip::name);
        format!("{name}, CUDA {driver_version}, {kernels} kernels")
    }

    /// Waits for all work.
    ///
    /// # Errors
    /// A kernel failed.
    pub fn wait(&self) -> Result<(), Error> {
        self.stream.synchronize().map_err(failed("finish a kernel"))
    }

    /// Does `work` on the stream, waits for it, and returns its time by the GPU's clock.
    ///
    /// # Errors
    /// Those of `work`, or a kernel failed.
    pub fn time(&self, work: impl FnOnce() -> Result<(), Error>) -> Result<Duration, Error> {
        let event = || Event::new(EventFlags::DEFAULT).map_err(failed("create an event"));
        let (start, end) = (event()?, event()?);
        start.record(&self.stream).map_err(failed("record an event"))?;
        work()?;
        end.record(&self.stream).map_err(failed("record an event"))?;
        end.synchronize().map_err(failed("finish a kernel"))?;
        let milliseconds = end.elapsed_time_f32(&start).map_err(failed("read an event"))?;
        Ok(Duration::from_secs_f64(f64::from(milliseconds) * 1e-3))
    }
}
