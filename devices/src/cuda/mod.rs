// SPDX-License-Identifier: MIT OR Apache-2.0
//! The GPU, opened: context, kernels, one stream of work and one of copies to this machine.
//!
//! What this crate does with device memory is done here.

#![allow(unsafe_code, reason = "the border to the driver")]

mod array;
mod bytes;
mod fetch;
mod link;
mod memory;
mod modules;
mod order;
mod strides;

mod nccl;

use super::carried::Carried;
use super::executor::{Device, Sharing};
use super::fetch::Fetch;
use super::info::{describe, nth_device};
use super::launch::{Launch, StartOrder};
use super::memory::{ForeignMemory, Memory, MemoryRows};
use super::wait::{Watch, wait_until};
use super::{Chip, Code, DeviceInfo, code_for, failed};
use cuda_driver::TensorMap2d;
use cuda_driver::{Context, Stream, StreamEvent};
use cuda_driver::{launch_cooperative, launch_in_order, launch_overlapping};
use fetch::Fetcher;
use modules::Modules;
use problem::Error;
use std::cell::OnceCell;
use std::rc::Rc;
use std::time::Duration;

pub use array::{DeviceArray, DeviceGrid};
pub use bytes::{DeviceBytes, give_back, synchronise};
pub use link::{Link, RemoteMemory, RemoteSyncPoint, SyncPoint, TimedPoint, reaches};
pub use nccl::{Nccl, nccl_id, nccl_version};
pub use order::CurrentContext;

/// A GPU with the kernels for it. Belongs to the thread that opened it.
pub struct Gpu {
    info: DeviceInfo,
    chip: Option<Chip>,
    /// As the driver counts.
    number: usize,
    stream: Rc<Stream>,
    modules: Modules,
    /// Opened where it is needed.
    fetcher: OnceCell<Fetcher>,
    /// Asked while its work is waited for, if that may wait for others.
    watch: OnceCell<Watch>,
    context: Context,
}

impl Gpu {
    /// Opens the GPU that [`super::probe`] describes and takes the kernels for it.
    ///
    /// # Errors
    /// The errors of [`super::probe`]; or no kernels run on the GPU.
    pub fn open() -> Result<Self, Error> {
        Self::open_nth(0)
    }

    /// Opens the GPU of a number, counted as the driver does, and takes the kernels for it.
    ///
    /// # Errors
    /// The errors of [`super::probe`]; or no kernels run on the GPU, or there is no GPU of this number.
    pub fn open_nth(number: usize) -> Result<Self, Error> {
        let device = nth_device(number)?;
        let info = describe(device)?;
        let code = code_for(info.compute_capability)?;
        let carried = (Some(code), Some(code.chip));
        Self::with_kernels((number, device), info, None, carried)
    }

    /// Opens this GPU again, with a second stream, whose work goes before the work of this one's stream.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn beside(&self) -> Result<Self, Error> {
        let other = Self::open_nth(self.number)?;
        let [_, first] = cuda_driver::stream_priorities().map_err(failed("ask about streams"))?;
        let stream = Stream::new(&other.context, first);
        let stream = Rc::new(stream.map_err(failed("open a stream"))?);
        Ok(Self { stream, ..other })
    }

    /// The GPU of that number, with other kernels; those that this program carries are there, too, if they run on it.
    ///
    /// # Errors
    /// There is no driver or no GPU of that number, or the driver refuses.
    pub fn open_with(number: usize, ptx: &str) -> Result<Self, Error> {
        let device = nth_device(number)?;
        let info = describe(device)?;
        let carried = (code_for(info.compute_capability).ok(), None);
        Self::with_kernels((number, device), info, Some(ptx.to_owned()), carried)
    }

    /// The GPU of that number, with other kernels beside those that this program carries.
    ///
    /// # Errors
    /// As [`Gpu::open_nth`].
    pub fn open_beside_carried(number: usize, ptx: &str) -> Result<Self, Error> {
        let device = nth_device(number)?;
        let info = describe(device)?;
        let code = code_for(info.compute_capability)?;
        let carried = (Some(code), Some(code.chip));
        Self::with_kernels((number, device), info, Some(ptx.to_owned()), carried)
    }

    fn with_kernels(
        (number, device): (usize, cuda_driver::Device),
        info: DeviceInfo,
        ptx: Option<String>,
        (carried, chip): (Option<Code>, Option<Chip>),
    ) -> Result<Self, Error> {
        let context = Context::new(device).map_err(failed("open a context"))?;
        let stream = Stream::new(&context, 0).map_err(failed("open a stream"))?;
        let carried = carried.map(Carried::new);
        let modules = Modules::new(&context, ptx, carried, info.shared_bytes_per_block);
        let (fetcher, watch) = (OnceCell::new(), OnceCell::new());
        let stream = Rc::new(stream);
        Ok(Self { info, chip, number, stream, modules, fetcher, watch, context })
    }

    /// Its stream of work, for those who order it with other GPUs'.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn link(&self) -> Result<Link, Error> {
        Link::new(self.number, &self.context, &self.stream)
    }

    /// How many bytes of its memory are free.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn free_bytes(&self) -> Result<u64, Error> {
        let free = cuda_driver::free_memory().map_err(failed("ask about free memory"))?;
        Ok(free as u64)
    }

    /// Waits until it has come to an event.
    fn finish(&self, end: &StreamEvent) -> Result<(), Error> {
        match self.watch.get() {
            None => end.synchronize().map_err(failed("finish a kernel")),
            Some(watch) => wait_until(|| link::is_passed(end), watch),
        }
    }

    /// What it is.
    #[must_use]
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }
}

impl Device for Gpu {
    fn describe(&self) -> String {
        let DeviceInfo { name, driver_version, .. } = &self.info;
        let kernels = self.chip.map_or("other", Chip::name);
        format!("{name}, CUDA {driver_version}, {kernels} kernels")
    }

    fn chip(&self) -> Option<Chip> {
        self.chip
    }

    fn multiprocessors(&self) -> u32 {
        self.info.multiprocessors
    }

    fn shared_bytes(&self) -> u32 {
        self.info.shared_bytes_per_block
    }

    /// Of the registers that it really takes.
    fn resident_blocks(
        &self,
        kernel: &'static str,
        _registers: Option<u32>,
        threads: u32,
        shared_bytes: u32,
    ) -> Result<u32, Error> {
        let kernel = self.modules.function(kernel)?;
        kernel
            .resident_blocks(threads, shared_bytes)
            .map_err(failed("count the blocks of a multiprocessor"))
    }

    fn load(&self, kernel: &'static str, sharing: Sharing) -> Result<(), Error> {
        let kernel = self.modules.function(kernel)?;
        match sharing {
            Sharing::Any => Ok(()),
            Sharing::Beside => cuda_driver::prefer_shared_memory(&kernel)
                .map_err(failed("set a kernel's shared memory")),
        }
    }

    fn allocate(&self, what: &'static str, bytes: usize) -> Result<Memory, Error> {
        memory::allocate(&self.context, what, bytes)
    }

    fn constants(&self, what: &'static str, words: &[u32]) -> Result<Memory, Error> {
        memory::constants(&self.context, what, words)
    }

    fn tensor_map(&self, map: &TensorMap2d, address: u64) -> Result<Memory, Error> {
        memory::tensor_map(&self.context, map, address)
    }

    fn write(&self, to: &Memory, rows: MemoryRows, bytes: &[u8]) -> Result<(), Error> {
        memory::write(to, rows, bytes)
    }

    fn read(&self, from: &Memory, rows: MemoryRows, bytes: &mut [u8]) -> Result<(), Error> {
        memory::read(from, rows, bytes)
    }

    fn fetch(&self, from: &Memory, bytes: usize) -> Result<Box<dyn Fetch>, Error> {
        if self.fetcher.get().is_none() {
            let _ = self.fetcher.set(Fetcher::new(&self.context)?);
        }
        let fetcher = self.fetcher.get().expect("it has just been set");
        fetcher.fetch(&self.stream, from, bytes)
    }

    fn fill(&self, to: &Memory, rows: MemoryRows, value: u16) -> Result<(), Error> {
        memory::fill(to, rows, value)
    }

    fn copy(&self, from: &Memory, to: &Memory, bytes: usize) -> Result<(), Error> {
        memory::copy(&self.stream, from, to, bytes)
    }

    fn copy_rows(
        &self,
        from: (&Memory, MemoryRows),
        to: (&Memory, MemoryRows),
    ) -> Result<(), Error> {
        memory::queue_rows(&self.stream, from, to)
    }

    fn shares(&self) -> bool {
        true
    }

    fn take(&self, from: ForeignMemory, to: &Memory, rows: MemoryRows) -> Result<(), Error> {
        rows.check(to);
        memory::copy_rows(from, ForeignMemory::new(to.address(), rows))
    }

    fn give(&self, from: &Memory, rows: MemoryRows, to: ForeignMemory) -> Result<(), Error> {
        rows.check(from);
        self.wait()?;
        memory::copy_rows(ForeignMemory::new(from.address(), rows), to)
    }

    fn launch(&self, launch: &Launch) -> Result<(), Error> {
        let &Launch { call, extents, order } = launch;
        let kernel = self.modules.function(call.name())?;
        let mut result = Ok(());
        call.with_pointers(&mut |parameters| {
            let stream = &self.stream;
            // SAFETY: the call has a value of each parameter's type. The rest of the kernel's contract is
            // kept by whoever made the launch, as `Device` demands; it may touch this device's memory only,
            // which nothing on this side refers to.
            result = unsafe {
                match order {
                    StartOrder::After => launch_in_order(&kernel, extents, stream, parameters),
                    StartOrder::Overlapping => {
                        launch_overlapping(&kernel, extents, stream, parameters)
                    }
                    StartOrder::Cooperative => {
                        launch_cooperative(&kernel, extents, stream, parameters)
                    }
                }
            };
        });
        result.map_err(|reason| failed(&format!("launch {}", call.name()))(reason))
    }

    fn watch(&self, watch: &Watch) {
        // Whoever came first is asked.
        let _ = self.watch.set(Rc::clone(watch));
    }

    fn wait(&self) -> Result<(), Error> {
        if self.watch.get().is_none() {
            return self.stream.synchronize().map_err(failed("finish a kernel"));
        }
        let end = StreamEvent::new(&self.context).map_err(failed("create an event"))?;
        end.record(&self.stream).map_err(failed("record an event"))?;
        self.finish(&end)
    }

    fn time(&self, work: &mut dyn FnMut() -> Result<(), Error>) -> Result<Duration, Error> {
        let event = || StreamEvent::timed(&self.context).map_err(failed("create an event"));
        let (start, end) = (event()?, event()?);
        start.record(&self.stream).map_err(failed("record an event"))?;
        work()?;
        end.record(&self.stream).map_err(failed("record an event"))?;
        self.finish(&end)?;
        let milliseconds = end.milliseconds_since(&start).map_err(failed("read an event"))?;
        Ok(Duration::from_secs_f64(f64::from(milliseconds) * 1e-3))
    }
}
