// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of the GPU that is handed to other libraries, and packed copies of their arrays.

use std::sync::{Mutex, PoisonError};

use super::super::info::nth_device;
use super::super::{ForeignMemory, MemoryRows, failed};
use super::memory;
use super::strides::{NUMBER, check_number, rows};
use cuda_driver::{Allocation, CallError, Context, ContextGuard, sys};
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
    memory: Allocation,
    /// Who allocated it. A copy of the process by fork has nothing to do with it.
    process: u32,
}

/// Memory that nobody has now.
static SPARE: Mutex<Vec<Block>> = Mutex::new(Vec::new());

impl Block {
    fn new(bytes: usize) -> Result<Self, Error> {
        let context = context()?;
        let is_full = |allocated: &Result<Allocation, CallError>| {
            allocated.as_ref().is_err_and(|error| error.status == sys::OUT_OF_MEMORY)
        };
        let mut allocated = Allocation::uninit(&context, bytes);
        if is_full(&allocated) {
            drop(spare(0));
            allocated = Allocation::uninit(&context, bytes);
        }
        if is_full(&allocated) {
            let action = format!("allocate {} MB for a copy of the grid", bytes / 1_000_000);
            return Err(Error::GpuFull { action });
        }
        let memory = allocated.map_err(failed("allocate a copy of the grid"))?;
        Ok(Self { memory, process: std::process::id() })
    }

    fn bytes(&self) -> usize {
        self.memory.bytes()
    }

    /// Makes its context that of the thread.
    fn enter(&self) -> Result<ContextGuard, Error> {
        enter(self.memory.context())
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
    /// ended before anything is written to it ([`synchronise`]).
    ///
    /// # Errors
    /// As [`DeviceBytes::allocate`].
    pub fn reused(bytes: usize) -> Result<Self, Error> {
        let mut kept = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().position(|block| block.bytes() == bytes);
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
        self.block().memory.address()
    }

    /// How much it is.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.block().bytes()
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
        let _current = self.block().enter()?;
        let mut values = vec![0; self.bytes()];
        memory::read_from(self.address(), MemoryRows::first(self.bytes()), &mut values)?;
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
        let _current = self.block().enter()?;
        let rows = MemoryRows::first(bytes.min(self.bytes()));
        memory::copy_rows(ForeignMemory::new(self.address(), rows), ForeignMemory::new(to, rows))
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
        let _current = copy.block().enter()?;
        // Others may still use what they gave back.
        synchronise()?;
        let to = ForeignMemory::new(copy.address(), from.packed(0));
        memory::copy_rows(ForeignMemory::new(address, from), to)?;
        Ok(Some(copy))
    }
}

/// Takes out of what is kept whatever is more than so many bytes.
fn spare(most: usize) -> Vec<Block> {
    let mut kept = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut out = Vec::new();
    while kept.iter().map(Block::bytes).sum::<usize>() > most {
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

/// The GPU's primary context, which torch and others use, too. The calling thread keeps its own.
fn context() -> Result<Context, Error> {
    Context::open(nth_device(0)?).map_err(failed("open a context"))
}

/// Makes a context the thread's own for a while.
fn enter(context: &Context) -> Result<ContextGuard, Error> {
    context.enter().map_err(failed("take a context"))
}

/// The GPU's context as this thread's own, until it is dropped; then the one before is again.
pub(super) fn current() -> Result<ContextGuard, Error> {
    enter(&context()?)
}
