// SPDX-License-Identifier: MIT OR Apache-2.0
//! What runs launches: a GPU, or what imitates one.

use super::fetch::Fetch;
use super::launch::Launch;
use super::memory::{ForeignMemory, Memory, MemoryRows};
use super::wait::Watch;
use super::{Chip, failed};
use cuda_driver::TensorMap2d;
use problem::Error;
use std::time::Duration;

/// Whether a kernel's blocks find room beside those of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// As the driver likes.
    Any,
    /// Multiprocessors keep as much shared memory as they can, so that blocks of two kernels fit one.
    Beside,
}

/// A GPU, or what imitates one: memory, and a stream of launches and copies, of which one starts when the
/// one before it has ended, launches as their [`super::StartOrder`] says.
///
/// A launch is a value that is checked as far as types go: the parameters are those of the kernel. What a
/// kernel asks for beyond (pointers to grids of its layout, tables for its stencil, threads and shared
/// memory) is for whoever makes the launch to see to. No launch touches this process's own memory.
pub trait Device {
    /// What it is, in words, such as `NVIDIA H200, CUDA 13.0, sm_90 kernels`.
    fn describe(&self) -> String;

    /// The chip that its kernels are for, if that is known.
    fn chip(&self) -> Option<Chip>;

    /// Streaming multiprocessors.
    fn multiprocessors(&self) -> u32;

    /// Shared memory that one block can ask for, in bytes.
    fn shared_bytes(&self) -> u32;

    /// How many blocks of a kernel, which may state its registers, a multiprocessor runs at once.
    ///
    /// # Errors
    /// The device has no such kernel, or refuses.
    fn resident_blocks(
        &self,
        kernel: &'static str,
        registers: Option<u32>,
        threads: u32,
        shared_bytes: u32,
    ) -> Result<u32, Error>;

    /// Gets a kernel ready, so that its first launch need not. Its launches may take all shared memory of a
    /// block.
    ///
    /// # Errors
    /// The device has no such kernel, or refuses.
    fn load(&self, kernel: &'static str, sharing: Sharing) -> Result<(), Error>;

    /// So many bytes, all zero, which kernels read and write; `what` is for messages.
    ///
    /// # Errors
    /// Not enough memory.
    fn allocate(&self, what: &'static str, bytes: usize) -> Result<Memory, Error>;

    /// Words that kernels only read; `what` is for messages.
    ///
    /// # Errors
    /// Not enough memory.
    fn constants(&self, what: &'static str, words: &[u32]) -> Result<Memory, Error>;

    /// A descriptor of an array that starts at a device address, for copies of boxes.
    ///
    /// # Errors
    /// The array or its box breaks a rule of the hardware, or not enough memory.
    fn tensor_map(&self, map: &TensorMap2d, address: u64) -> Result<Memory, Error>;

    /// Copies bytes to rows, which has happened when it returns; all launches have ended.
    ///
    /// # Errors
    /// The device refuses.
    ///
    /// # Panics
    /// Where the rows do not lie in the memory, or are not as many bytes.
    fn write(&self, to: &Memory, rows: MemoryRows, bytes: &[u8]) -> Result<(), Error>;

    /// Copies bytes of rows; all launches that write them have ended.
    ///
    /// # Errors
    /// The device refuses.
    ///
    /// # Panics
    /// Where the rows do not lie in the memory, or are not as many bytes.
    fn read(&self, from: &Memory, rows: MemoryRows, bytes: &mut [u8]) -> Result<(), Error>;

    /// Queues a copy of the first bytes of a memory to this machine, after all that is queued now and beside what will
    /// be. They must stay as they are until it has come.
    ///
    /// # Errors
    /// The device refuses.
    ///
    /// # Panics
    /// Where it has fewer.
    fn fetch(&self, from: &Memory, bytes: usize) -> Result<Box<dyn Fetch>, Error>;

    /// Sets every pair of bytes of rows to a value; all launches have ended.
    ///
    /// # Errors
    /// The device refuses.
    ///
    /// # Panics
    /// Where the rows do not lie in the memory, or have an odd width.
    fn fill(&self, to: &Memory, rows: MemoryRows, value: u16) -> Result<(), Error>;

    /// Queues a copy of so many bytes from the start of one memory to that of another.
    ///
    /// # Errors
    /// The device refuses.
    ///
    /// # Panics
    /// Where one of them has fewer.
    fn copy(&self, from: &Memory, to: &Memory, bytes: usize) -> Result<(), Error>;

    /// Queues a copy of rows of one memory to rows of another.
    ///
    /// # Errors
    /// The device refuses.
    ///
    /// # Panics
    /// Where rows do not lie in their memory, or are not as many bytes.
    fn copy_rows(
        &self,
        from: (&Memory, MemoryRows),
        to: (&Memory, MemoryRows),
    ) -> Result<(), Error>;

    /// Whether others can use its memory, and it theirs.
    fn shares(&self) -> bool {
        false
    }

    /// Copies what lies elsewhere in its memory to rows, which has happened when it returns; all launches have ended.
    ///
    /// # Errors
    /// The device refuses, or does not share its memory.
    ///
    /// # Panics
    /// Where the rows do not lie in the memory, or are not as many bytes.
    fn take(&self, _from: ForeignMemory, _to: &Memory, _rows: MemoryRows) -> Result<(), Error> {
        Err(failed("share its memory")("others cannot use it"))
    }

    /// Copies rows to elsewhere in its memory, after all launches, which has happened when it returns.
    ///
    /// # Errors
    /// The device refuses, or does not share its memory.
    ///
    /// # Panics
    /// Where the rows do not lie in the memory, or are not as many bytes.
    fn give(&self, _from: &Memory, _rows: MemoryRows, _to: ForeignMemory) -> Result<(), Error> {
        Err(failed("share its memory")("others cannot use it"))
    }

    /// Queues a launch.
    ///
    /// # Errors
    /// The device refuses; of the emulator, also the kernel's first mistake.
    fn launch(&self, launch: &Launch) -> Result<(), Error>;

    /// From now on this is asked while its work is waited for, which may wait for others.
    fn watch(&self, _watch: &Watch) {}

    /// Waits for all work.
    ///
    /// # Errors
    /// A kernel failed.
    fn wait(&self) -> Result<(), Error>;

    /// Does `work`, waits for it, and returns its time by the device's clock.
    ///
    /// # Errors
    /// Those of `work`, or a kernel failed.
    fn time(&self, work: &mut dyn FnMut() -> Result<(), Error>) -> Result<Duration, Error>;
}
