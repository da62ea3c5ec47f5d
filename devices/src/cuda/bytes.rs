// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of the GPU that is handed to other libraries, and packed copies of their arrays.

use std::ptr;
use std::sync::{Mutex, PoisonError};

use super::super::info::nth_device;
use super::super::{ForeignMemory, MemoryRows, failed};
use super::memory;
use super::strides::{NUMBER, check_number, rows};
use cuda_driver::{CallError, sys};
use problem::{Error, Shape};

/// Bytes that are kept for what is asked for next, at most: the driver takes as long to give memory as a filter takes.
const KEPT: usize = 1 << 30;

/// Memory of the GPU. Any thread may drop it.
#[derive(Debug)]
pub struct DeviceBytes {
    /// Until it is dropped.
    block: Option<Block>,
    /// Whether it is kept for others then.
    is_kept: bool,
}

/// An allocation.
#[derive(Debug)]
struct Block {
    address: u64,
    bytes: usize,
    /// Who allocated it. A copy of the process by fork has nothing to do with it.
    process: u32,
    /// Keeps the memory: it goes with the context.
    context: Retained,
}

/// Memory that nobody has now.
static SPARE: Mutex<Vec<Block>> = Mutex::new(Vec::new());

impl Block {
    fn new(bytes: usize) -> Result<Self, Error> {
        let context = Retained::new()?;
        let _current = context.current()?;
        let mut address = 0;
        let is_full = |allocated: &Result<(), CallError>| {
            allocated.as_ref().is_err_and(|error| error.status == sys::OUT_OF_MEMORY)
        };
        let mut allocated = allocate(&mut address, bytes);
        if is_full(&allocated) {
            drop(spare(0));
            allocated = allocate(&mut address, bytes);
        }
        if is_full(&allocated) {
            let action = format!("allocate {} MB for a copy of the grid", bytes / 1_000_000);
            return Err(Error::GpuFull { action });
        }
        allocated.map_err(failed("allocate a copy of the grid"))?;
        Ok(Self { address, bytes, process: std::process::id(), context })
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Ok(_current) = self.context.current() {
            // SAFETY: it was allocated here, and is freed nowhere else; the driver waits for what uses it. There is
            // nobody to tell of an error.
            let _ = unsafe { sys::cuMemFree_v2(self.address) };
        }
    }
}

impl DeviceBytes {
    /// Memory with whatever is there.
    ///
    /// # Errors
    /// There is no GPU, or no room.
    pub fn allocate(bytes: usize) -> Result<Self, Error> {
        Ok(Self { block: Some(Block::new(bytes)?), is_kept: false })
    }

    /// Memory that somebody may have had before, and that others may have later. All that was asked of the GPU before has to have
    /// ended before anything is written to it ([`settle`]).
    ///
    /// # Errors
    /// As [`DeviceBytes::allocate`].
    pub fn reused(bytes: usize) -> Result<Self, Error> {
        let mut kept = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().position(|block| block.bytes == bytes);
        let found = found.map(|at| kept.remove(at));
        drop(kept);
        let block = found.map_or_else(|| Block::new(bytes), Ok)?;
        Ok(Self { block: Some(block), is_kept: true })
    }

    fn block(&self) -> &Block {
        self.block.as_ref().expect("it is not dropped")
    }

    /// Where it lies.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.block().address
    }

    /// How much it is.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.block().bytes
    }

    /// The GPU, as CUDA counts those that the process sees.
    #[must_use]
    pub fn gpu(&self) -> i32 {
        NUMBER
    }

    /// What is in it.
    ///
    /// # Errors
    /// The device refuses.
    pub fn download(&self) -> Result<Vec<u8>, Error> {
        let Block { address, bytes, context, .. } = self.block();
        let _current = context.current()?;
        let mut values = vec![0; *bytes];
        memory::read_from(*address, MemoryRows::first(*bytes), &mut values)?;
        Ok(values)
    }

    /// Copies its first bytes to elsewhere on the GPU.
    ///
    /// # Errors
    /// The device refuses.
    ///
    /// # Safety
    /// There are as many bytes at the address, which nobody else uses meanwhile.
    pub unsafe fn copy_to(&self, to: u64, bytes: usize) -> Result<(), Error> {
        let Block { address, bytes: own, context, .. } = self.block();
        let _current = context.current()?;
        let rows = MemoryRows::first(bytes.min(*own));
        memory::copy_rows(ForeignMemory::new(*address, rows), ForeignMemory::new(to, rows))
    }

    /// The values of an array of somebody else side by side in C order, where they do not lie so already.
    ///
    /// # Errors
    /// As [`super::DeviceArray::new`] has it, or the device refuses.
    ///
    /// # Safety
    /// The contract of [`super::DeviceArray::new`], with values of so many bytes.
    pub unsafe fn packed(
        number: i32,
        address: u64,
        extents: &[usize],
        strides: Option<&[i64]>,
        bytes: usize,
    ) -> Result<Option<Self>, Error> {
        check_number(number)?;
        let mut packed = 1;
        let is_packed = extents.iter().zip(strides.unwrap_or(&[])).rev().all(|(extent, stride)| {
            let is_next = *extent < 2 || *stride == packed;
            packed *= *extent as i64;
            is_next
        });
        if is_packed || extents.contains(&0) {
            return Ok(None);
        }
        let from = rows(Shape::new(extents)?, strides, bytes)?;
        let copy = Self::reused(extents.iter().product::<usize>() * bytes)?;
        let _current = copy.block().context.current()?;
        // Others may still use what they gave back.
        synchronise()?;
        let to = ForeignMemory::new(copy.address(), from.packed(0));
        memory::copy_rows(ForeignMemory::new(address, from), to)?;
        Ok(Some(copy))
    }
}

fn allocate(address: &mut u64, bytes: usize) -> Result<(), CallError> {
    // SAFETY: the address is writable; what it leads to is freed in `drop`. The driver refuses to allocate nothing.
    unsafe { sys::cuMemAlloc_v2(address, bytes.max(1)) }
}

/// Takes out of what is kept whatever is more than so many bytes.
fn spare(most: usize) -> Vec<Block> {
    let mut kept = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut out = Vec::new();
    while kept.iter().map(|block| block.bytes).sum::<usize>() > most {
        out.push(kept.remove(0));
    }
    out
}

/// Gives all memory that nobody has now back to the driver.
pub fn give_back() {
    drop(spare(0));
}

/// Waits until the GPU has done all that anybody of this process asked of it.
///
/// # Errors
/// It failed.
pub fn synchronise() -> Result<(), Error> {
    cuda_driver::synchronize().map_err(failed("wait for the GPU"))
}

impl Drop for DeviceBytes {
    fn drop(&mut self) {
        let Some(block) = self.block.take() else { return };
        if block.process != std::process::id() {
            std::mem::forget(block);
        } else if self.is_kept {
            SPARE.lock().unwrap_or_else(PoisonError::into_inner).push(block);
            drop(spare(KEPT));
        }
    }
}

/// A share of the GPU's primary context, which torch and others use, too.
#[derive(Debug)]
struct Retained {
    device: std::ffi::c_int,
}

impl Retained {
    fn new() -> Result<Self, Error> {
        nth_device(0)?;
        let (mut device, mut context) = (0, ptr::null_mut());
        // SAFETY: what is written to is writable; `drop` releases the context.
        unsafe {
            sys::cuDeviceGet(&mut device, NUMBER).map_err(failed("open device 0"))?;
            sys::cuDevicePrimaryCtxRetain(&mut context, device)
                .map_err(failed("open a context"))?;
        }
        Ok(Self { device })
    }

    /// Makes it this thread's own for a while.
    fn current(&self) -> Result<ContextGuard, Error> {
        let mut context = ptr::null_mut();
        // SAFETY: the context is retained again, so that it outlives what is returned, which releases it.
        unsafe {
            sys::cuDevicePrimaryCtxRetain(&mut context, self.device)
                .map_err(failed("open a context"))?;
            let current = ContextGuard { _context: Self { device: self.device } };
            sys::cuCtxPushCurrent_v2(context).map_err(failed("take a context")).map(|()| current)
        }
    }
}

impl Drop for Retained {
    fn drop(&mut self) {
        // SAFETY: it was retained once for this.
        let _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

/// The GPU's context as this thread's own; then the one before is again.
pub(super) struct ContextGuard {
    _context: Retained,
}

impl ContextGuard {
    pub(super) fn new() -> Result<Self, Error> {
        Retained::new()?.current()
    }
}

impl Drop for ContextGuard {
    fn drop(&mut self) {
        let mut context = ptr::null_mut();
        // SAFETY: it is this thread's since it was made.
        let _ = unsafe { sys::cuCtxPopCurrent_v2(&mut context) };
    }
}
