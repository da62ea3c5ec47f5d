// SPDX-License-Identifier: MIT OR Apache-2.0
//! The emulator `cuda_sim` as a device: an H200, or whatever chip [`cuda_sim::OnChip`] says, on this machine's
//! CPU. Every load, barrier and product is as on the GPU, checked for mistakes that a GPU would not report.

use super::executor::{Device, Sharing};
use super::fetch::{Fetch, Fetched};
use super::launch::{Launch, StartOrder};
use super::memory::{Memory, MemoryRows};
use cuda_driver::{AnyCall, Extents, TensorMap2d};
use cuda_sim::{Buffer, Chip, LaunchConfig, OnChip as _, Stats, TensorMap};
use kernels_gpu::{MOST_REGISTERS, overlap};
use problem::Error;
use std::cell::{Cell, RefCell};
use std::ptr;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// An emulated GPU. Launches have run when they return, each in an interleaving of its own.
#[derive(Default)]
pub struct Emulator {
    memory: Rc<RefCell<cuda_sim::Memory>>,
    multiprocessors: Option<u32>,
    /// Of the next launch.
    seed: Cell<u64>,
    /// What fills allocations, if they are sparse.
    sparse: Cell<Option<u8>>,
    /// Allocations so far that kernels write.
    allocated: Cell<usize>,
    stats: RefCell<Stats>,
}

/// What a [`Memory`] belongs to.
struct Owner {
    memory: Rc<RefCell<cuda_sim::Memory>>,
    start: *const u8,
    /// Of what is not a tensor map.
    buffer: Option<Buffer<u8>>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        // A launch that panics drops its passes while it runs; then nobody reuses the memory.
        if let Ok(mut memory) = self.memory.try_borrow_mut() {
            memory.free(self.start);
        }
    }
}

impl Emulator {
    /// One of the chip's kind: an H200, unless [`cuda_sim::OnChip::with`] says otherwise.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of multiprocessors that launches are spread over: with few of them, each block has more
    /// to do.
    #[must_use]
    pub fn with_multiprocessors(self, count: u32) -> Self {
        Self { multiprocessors: Some(count), ..self }
    }

    /// Sets the seed of the first launch. The seed of each later launch is one more than that of the launch before.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed: Cell::new(seed), ..self }
    }

    /// From now on allocations take memory only where they are written, elsewhere every byte is `fill`;
    /// grids larger than this machine's memory have room.
    pub fn allocate_sparse(&self, fill: u8) {
        self.sparse.set(Some(fill));
    }

    /// What the last launch did.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.stats.borrow().clone()
    }

    fn own(&self, buffer: Buffer<u8>) -> Memory {
        let start = buffer.as_ptr();
        let owner = Owner { memory: Rc::clone(&self.memory), start, buffer: Some(buffer) };
        Memory::new(start.addr() as u64, buffer.len(), owner)
    }

    /// The buffer of a memory of this device.
    fn buffer(&self, memory: &Memory) -> Buffer<u8> {
        let owner = memory.owner::<Owner>().filter(|owner| Rc::ptr_eq(&owner.memory, &self.memory));
        owner.and_then(|owner| owner.buffer).expect("an allocation of this device")
    }
}

impl Device for Emulator {
    fn describe(&self) -> String {
        "CPU, 1 thread, emulating a GPU".into()
    }

    fn chip(&self) -> Option<Chip> {
        Some(Chip::current())
    }

    fn multiprocessors(&self) -> u32 {
        self.multiprocessors.unwrap_or(Chip::current().resources().multiprocessors)
    }

    fn shared_bytes(&self) -> u32 {
        Chip::current().resources().shared_bytes_per_block()
    }

    /// Of as many registers as the kernel may have.
    fn resident_blocks(
        &self,
        _kernel: &'static str,
        registers: Option<u32>,
        threads: u32,
        shared_bytes: u32,
    ) -> Result<u32, Error> {
        let registers = registers.unwrap_or(MOST_REGISTERS);
        Ok(cuda_sim::resident_blocks(threads, shared_bytes, registers))
    }

    fn load(&self, _kernel: &'static str, _sharing: Sharing) -> Result<(), Error> {
        Ok(())
    }

    fn allocate(&self, what: &'static str, bytes: usize) -> Result<Memory, Error> {
        let number = self.allocated.get();
        self.allocated.set(number + 1);
        let (name, mut memory) = (format!("{what} {number}"), self.memory.borrow_mut());
        Ok(self.own(match self.sparse.get() {
            Some(fill) => memory.sparse(&name, bytes, fill),
            None => memory.zeros(&name, bytes),
        }))
    }

    fn constants(&self, what: &'static str, words: &[u32]) -> Result<Memory, Error> {
        let buffer = self.memory.borrow_mut().input(what, bytemuck::cast_slice(words));
        Ok(self.own(buffer))
    }

    fn tensor_map(&self, map: &TensorMap2d, address: u64) -> Result<Memory, Error> {
        let map = TensorMap {
            address: ptr::without_provenance(address as usize),
            element_bytes: map.element.bytes() as u32,
            dims: vec![map.width, map.height],
            strides: vec![map.row_bytes],
            box_dims: vec![map.box_width, map.box_height],
            swizzle: map.swizzle,
        };
        let start = self.memory.borrow_mut().tensor_map(map);
        let start = start.map_err(super::failed("describe a grid"))?;
        let owner = Owner { memory: Rc::clone(&self.memory), start, buffer: None };
        Ok(Memory::new(start.addr() as u64, size_of::<cuda_driver::TensorMap>(), owner))
    }

    fn write(&self, to: &Memory, rows: MemoryRows, bytes: &[u8]) -> Result<(), Error> {
        rows.check(to);
        assert_eq!(bytes.len(), rows.planes * rows.plane_bytes(), "as many bytes as the rows have");
        let (buffer, mut memory) = (self.buffer(to), self.memory.borrow_mut());
        memory.settle();
        for (start, row) in rows.starts().zip(bytes.chunks(rows.width.max(1))) {
            memory.write_at(buffer, start, row);
        }
        Ok(())
    }

    fn read(&self, from: &Memory, rows: MemoryRows, bytes: &mut [u8]) -> Result<(), Error> {
        rows.check(from);
        assert_eq!(bytes.len(), rows.planes * rows.plane_bytes(), "as many bytes as the rows have");
        let (buffer, mut memory) = (self.buffer(from), self.memory.borrow_mut());
        memory.settle();
        for (start, row) in rows.starts().zip(bytes.chunks_mut(rows.width.max(1))) {
            row.copy_from_slice(&memory.read_at(buffer, start, row.len()));
        }
        Ok(())
    }

    fn fetch(&self, from: &Memory, bytes: usize) -> Result<Box<dyn Fetch>, Error> {
        let mut fetched = vec![0; bytes];
        self.read(from, MemoryRows::first(bytes), &mut fetched)?;
        Ok(Box::new(Fetched::new(fetched, bytes, None)))
    }

    fn fill(&self, to: &Memory, rows: MemoryRows, value: u16) -> Result<(), Error> {
        assert!(rows.width.is_multiple_of(size_of::<u16>()), "{rows:?} hold pairs of bytes");
        let row = value.to_ne_bytes().repeat(rows.width / size_of::<u16>());
        let one = |start| MemoryRows { start, rows: 1, planes: 1, ..rows };
        rows.starts().try_for_each(|start| self.write(to, one(start), &row))
    }

    fn copy(&self, from: &Memory, to: &Memory, bytes: usize) -> Result<(), Error> {
        let mut copied = vec![0; bytes];
        self.read(from, MemoryRows::first(bytes), &mut copied)?;
        self.write(to, MemoryRows::first(bytes), &copied)
    }

    fn copy_rows(
        &self,
        from: (&Memory, MemoryRows),
        to: (&Memory, MemoryRows),
    ) -> Result<(), Error> {
        let mut copied = vec![0; from.1.planes * from.1.plane_bytes()];
        self.read(from.0, from.1, &mut copied)?;
        self.write(to.0, to.1, &copied)
    }

    fn launch(&self, launch: &Launch) -> Result<(), Error> {
        let &Launch { call, extents: Extents { blocks, threads, shared_bytes }, order } = launch;
        let config = LaunchConfig {
            blocks,
            threads,
            shared_bytes,
            seed: self.seed.replace(self.seed.get().wrapping_add(1)),
            registers: MOST_REGISTERS,
            cooperative: order == StartOrder::Cooperative,
            overlapping: order != StartOrder::After,
            // A large grid takes many of a thread, and what waits for ever is a deadlock here.
            steps: u64::MAX,
            ..LaunchConfig::default()
        };
        let mut memory = self.memory.borrow_mut();
        // As on a GPU, every kernel may have all shared memory of a block.
        memory.allow_shared(call.name(), self.shared_bytes()).expect("as much as there is");
        let stats = cuda_sim::launch(call.name(), config, &mut memory, || run(call))?;
        *self.stats.borrow_mut() = stats;
        Ok(())
    }

    fn wait(&self) -> Result<(), Error> {
        self.memory.borrow_mut().settle();
        Ok(())
    }

    fn time(&self, work: &mut dyn FnMut() -> Result<(), Error>) -> Result<Duration, Error> {
        let start = Instant::now();
        work()?;
        self.wait()?;
        Ok(start.elapsed())
    }
}

/// One thread of a launch.
#[allow(unsafe_code, reason = "kernels are unsafe functions")]
fn run(call: &dyn AnyCall) {
    // SAFETY: the kernel accesses memory through `cuda_std` only, and the emulator checks every such access.
    unsafe { call.run() };
    overlap::late();
}
