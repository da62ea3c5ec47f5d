// SPDX-License-Identifier: MIT OR Apache-2.0
//! A GPU, opened: the start of everything else.

use crate::api::{Api, Handle};
use crate::error::Error;
use crate::load::driver;
use std::ffi::{CStr, c_int};
use std::ptr;

/// A GPU. All its work is done in order, on one stream; a kernel's failure shows in the next call that
/// waits for it ([`Gpu::wait`], [`crate::Buffer::read`]).
///
/// It shares the device's primary context with every library of the process that does so too. Dropping
/// it gives its share back.
#[derive(Debug)]
pub struct Gpu {
    device: c_int,
    context: Handle,
    name: String,
    compute_capability: (u32, u32),
}

impl Gpu {
    /// Loads the driver and opens the first GPU (`CUDA_VISIBLE_DEVICES` chooses another).
    ///
    /// # Errors
    /// There is no driver or no GPU, or the driver refuses.
    pub fn open() -> Result<Self, Error> {
        let api = &driver()?.api;
        count(api)?;
        let (device, capability) = device(api, 0)?;
        let name = name(api, device)?;
        let mut context = ptr::null_mut();
        // SAFETY: `context` is writable; `Drop` releases it.
        unsafe { api.cuDevicePrimaryCtxRetain(&mut context, device)? };
        Ok(Self { device, context, name, compute_capability: capability })
    }

    /// The compute capabilities of all GPUs of this machine that the process may use, such as (9, 0); none is opened.
    ///
    /// # Errors
    /// There is no driver or no GPU, or the driver refuses.
    pub fn capabilities() -> Result<Vec<(u32, u32)>, Error> {
        let api = &driver()?.api;
        (0..count(api)?).map(|number| Ok(device(api, number)?.1)).collect()
    }

    /// Its name, such as `NVIDIA H200`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its compute capability, such as (9, 0).
    #[must_use]
    pub fn compute_capability(&self) -> (u32, u32) {
        self.compute_capability
    }

    /// Its multiprocessors: how many blocks run at once is a multiple of that.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn multiprocessors(&self) -> Result<u32, Error> {
        attribute(self.api()?, self.device, MULTIPROCESSORS)
    }

    /// Waits until all work is done.
    ///
    /// # Errors
    /// A kernel failed.
    pub fn wait(&self) -> Result<(), Error> {
        // SAFETY: no precondition.
        unsafe { self.api()?.cuCtxSynchronize()? };
        Ok(())
    }

    /// How long the GPU takes for what `work` gives it to do, by its own clock, in milliseconds.
    ///
    /// # Errors
    /// What `work` returns, or a kernel failed.
    pub fn milliseconds(&self, work: impl FnOnce() -> Result<(), Error>) -> Result<f32, Error> {
        let [start, end] = [Event::new(self)?, Event::new(self)?];
        start.record()?;
        work()?;
        end.record()?;
        let mut milliseconds = 0.0;
        // SAFETY: both events have been recorded; `milliseconds` is writable.
        unsafe {
            self.api()?.cuEventSynchronize(end.handle)?;
            self.api()?.cuEventElapsedTime(&mut milliseconds, start.handle, end.handle)?;
        }
        Ok(milliseconds)
    }

    /// The driver's functions, with this GPU as the current one of this thread.
    pub(crate) fn api(&self) -> Result<&'static Api, Error> {
        let api = &driver()?.api;
        // SAFETY: the context is retained as long as `self` lives.
        unsafe { api.cuCtxSetCurrent(self.context)? };
        Ok(api)
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        if let Ok(driver) = driver() {
            // SAFETY: retained once in `open`; buffers and modules borrow `self`, so they are gone. There
            // is nobody to tell of an error.
            let _ = unsafe { driver.api.cuDevicePrimaryCtxRelease_v2(self.device) };
        }
    }
}

/// A point in a GPU's work, with its time.
struct Event<'a> {
    gpu: &'a Gpu,
    handle: Handle,
}

impl<'a> Event<'a> {
    fn new(gpu: &'a Gpu) -> Result<Self, Error> {
        let mut handle = ptr::null_mut();
        // SAFETY: `handle` is writable; `Drop` destroys the event.
        unsafe { gpu.api()?.cuEventCreate(&mut handle, 0)? };
        Ok(Self { gpu, handle })
    }

    fn record(&self) -> Result<(), Error> {
        // SAFETY: the event lives; all work is done on the default stream.
        unsafe { self.gpu.api()?.cuEventRecord(self.handle, ptr::null_mut())? };
        Ok(())
    }
}

impl Drop for Event<'_> {
    fn drop(&mut self) {
        if let Ok(api) = self.gpu.api() {
            // SAFETY: created in `new`, destroyed nowhere else. There is nobody to tell of an error.
            let _ = unsafe { api.cuEventDestroy_v2(self.handle) };
        }
    }
}

/// `CUDA_ERROR_NO_DEVICE`.
const NO_DEVICE: u32 = 100;

/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `_MINOR`.
const MAJOR: c_int = 75;
const MINOR: c_int = 76;
/// `CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT`.
const MULTIPROCESSORS: c_int = 16;

/// How many GPUs there are, at least one.
fn count(api: &Api) -> Result<c_int, Error> {
    let mut count = 0;
    // SAFETY: `cuInit` has no precondition; what is written to is writable.
    unsafe {
        match api.cuInit(0) {
            Err(error) if error.status == NO_DEVICE => return Err(Error::NoGpu),
            other => other?,
        }
        api.cuDeviceGetCount(&mut count)?;
    }
    if count == 0 { Err(Error::NoGpu) } else { Ok(count) }
}

/// The GPU of a number below the count, and its compute capability.
fn device(api: &Api, number: c_int) -> Result<(c_int, (u32, u32)), Error> {
    let mut device = 0;
    // SAFETY: `cuInit` was called by `count`; what is written to is writable.
    unsafe { api.cuDeviceGet(&mut device, number)? };
    Ok((device, (attribute(api, device, MAJOR)?, attribute(api, device, MINOR)?)))
}

fn attribute(api: &Api, device: c_int, attribute: c_int) -> Result<u32, Error> {
    let mut value = 0;
    // SAFETY: `value` is writable.
    unsafe { api.cuDeviceGetAttribute(&mut value, attribute, device)? };
    Ok(value.unsigned_abs())
}

fn name(api: &Api, device: c_int) -> Result<String, Error> {
    let mut text = [0u8; 256];
    // SAFETY: `text` has the size that is given, and the driver ends it with a zero.
    unsafe { api.cuDeviceGetName(text.as_mut_ptr().cast(), text.len() as c_int, device)? };
    let text = CStr::from_bytes_until_nul(&text).unwrap_or_default();
    Ok(text.to_string_lossy().into_owned())
}
