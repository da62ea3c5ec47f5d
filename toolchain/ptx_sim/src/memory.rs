// SPDX-License-Identifier: MIT OR Apache-2.0
//! What runs a kernel by reading it, one thread after the other, and checks every access: within an array, nothing
//! that the launch writes is read, and everything is written once.

use std::collections::{HashMap, HashSet};

use cuda_driver::{Entry, Extents};
use kernels_gpu::wide2d::finished::Parameters;

use super::execute::block;
use super::read::{Instruction, constants, read};
use crate::gpu::target::Target;
use compute::device::Rows;
use compute::device::generated::MOST_ADDRESSES;
use problem::Error;

/// Arrays lie so far apart.
const DISTANCE: u64 = 1 << 40;

/// Where constants lie.
pub const CONSTANTS: u64 = DISTANCE * (1 << 20);

/// Arrays, and a kernel.
pub struct Machine {
    instructions: Vec<Instruction>,
    registers: usize,
    /// How many addresses are of arrays that are read, and how many of those that are written.
    read: usize,
    written: usize,
    memory: Memory,
}

/// Arrays, each at an address of its own.
#[derive(Clone, Default)]
pub struct Memory {
    arrays: Vec<Vec<u8>>,
    /// What stands before the kernel.
    constants: Vec<u8>,
    /// Those that a launch writes.
    open: HashSet<usize>,
    /// What it has written.
    stored: HashSet<u64>,
    /// Shared memory of the block that runs.
    shared: Vec<u8>,
    /// Of what lies there which thread has written it since the last barrier, and which ones have read it.
    written_by: HashMap<u64, u32>,
    read_by: HashMap<u64, Readers>,
}

/// Who has read a value.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Readers {
    One(u32),
    Several,
}

impl Memory {
    /// Arrays with these values.
    pub fn with(constants: Vec<u8>, arrays: Vec<Vec<u8>>) -> Self {
        Self { arrays, constants, ..Self::default() }
    }

    /// The address of an array.
    pub fn address(array: usize) -> u64 {
        (array as u64 + 1) * DISTANCE
    }

    /// The array that an address lies in, and how many bytes after its start.
    pub fn split(address: u64) -> (usize, usize) {
        ((address / DISTANCE) as usize - 1, (address % DISTANCE) as usize)
    }

    /// Words in shared memory, each at a place.
    pub fn share(&mut self, words: impl IntoIterator<Item = (usize, u32)>) {
        for (place, word) in words {
            self.shared.resize(self.shared.len().max(place + 4), 0xff);
            self.shared[place..place + 4].copy_from_slice(&word.to_le_bytes());
        }
    }

    /// Begins a launch that writes these arrays.
    pub fn begin(&mut self, written: impl IntoIterator<Item = usize>) {
        self.open = written.into_iter().collect();
        self.stored.clear();
    }

    /// How many arrays there are.
    pub fn arrays(&self) -> usize {
        self.arrays.len()
    }

    /// The bytes of an array.
    pub fn bytes(&self, array: usize) -> &[u8] {
        &self.arrays[array]
    }

    fn place(&self, address: u64, bytes: usize) -> (usize, usize) {
        let (array, start) = Self::split(address);
        let length = self.arrays[array].len();
        assert!(start + bytes <= length, "bytes {start} to {} of {length}", start + bytes);
        assert!(start.is_multiple_of(bytes), "byte {start} for {bytes} bytes");
        (array, start)
    }

    /// Bytes of a load, together at an address that is a multiple of their number.
    pub fn load(&self, address: u64, bytes: usize) -> &[u8] {
        if address >= CONSTANTS {
            return &self.constants[(address - CONSTANTS) as usize..][..bytes];
        }
        let (array, start) = self.place(address, bytes);
        assert!(!self.open.contains(&array), "this launch writes what it reads");
        &self.arrays[array][start..start + bytes]
    }

    /// Stores bytes, likewise.
    pub fn store(&mut self, address: u64, bytes: &[u8]) {
        let (array, start) = self.place(address, bytes.len());
        assert!(self.open.contains(&array), "this array is only read");
        for byte in 0..bytes.len() as u64 {
            assert!(self.stored.insert(address + byte), "byte {start} is written twice");
        }
        self.arrays[array][start..start + bytes.len()].copy_from_slice(bytes);
    }

    /// Begins a block with so much shared memory, of values that are no numbers.
    fn begin_block(&mut self, bytes: u32) {
        self.shared = vec![0xff; bytes as usize];
    }

    /// All threads have come to a barrier.
    pub fn barrier(&mut self) {
        self.written_by.clear();
        self.read_by.clear();
    }

    /// A value in shared memory.
    pub fn load_shared(&mut self, address: u64, bytes: usize, own: u32) -> u64 {
        let start = address as usize;
        assert!(start.is_multiple_of(bytes));
        let writer = self.written_by.get(&address);
        assert!(writer.is_none_or(|by| *by == own), "byte {start} has just been written");
        let readers = self.read_by.entry(address).or_insert(Readers::One(own));
        if *readers != Readers::One(own) {
            *readers = Readers::Several;
        }
        let mut bits = [0; 8];
        bits[..bytes].copy_from_slice(&self.shared[start..start + bytes]);
        u64::from_le_bytes(bits)
    }

    /// Stores a value, likewise.
    pub fn store_shared(&mut self, address: u64, bytes: usize, bits: u64, own: u32) {
        let start = address as usize;
        assert!(start.is_multiple_of(bytes));
        let readers = self.read_by.get(&address);
        assert!(readers.is_none_or(|by| *by == Readers::One(own)), "byte {start} has been read");
        let writer = self.written_by.insert(address, own);
        assert!(writer.is_none_or(|by| by == own), "byte {start} is written by two threads");
        self.shared[start..start + bytes].copy_from_slice(&bits.to_le_bytes()[..bytes]);
    }
}

impl Machine {
    /// A kernel that reads so many arrays and writes so many.
    pub fn new(text: &str, arrays_read: usize, arrays_written: usize) -> Self {
        let (instructions, registers) = read(text);
        let memory = Memory::with(constants(text), Vec::new());
        Self { instructions, registers, read: arrays_read, written: arrays_written, memory }
    }
}

impl Machine {
    /// The arrays.
    pub fn arrays(&self) -> &[Vec<u8>] {
        &self.memory.arrays
    }
}

impl Target for Machine {
    fn allocate(&mut self, _: &'static str, bytes: usize) -> Result<usize, Error> {
        self.memory.arrays.push(vec![0; bytes]);
        Ok(self.memory.arrays.len() - 1)
    }

    fn address(&self, array: usize) -> u64 {
        Memory::address(array)
    }

    fn write(&mut self, array: usize, rows: Rows, bytes: &[u8]) -> Result<(), Error> {
        for (start, row) in rows.starts().zip(bytes.chunks(rows.width.max(1))) {
            self.memory.arrays[array][start..start + row.len()].copy_from_slice(row);
        }
        Ok(())
    }

    fn read(&self, array: usize, rows: Rows, bytes: &mut [u8]) -> Result<(), Error> {
        for (start, row) in rows.starts().zip(bytes.chunks_mut(rows.width.max(1))) {
            row.copy_from_slice(&self.memory.arrays[array][start..start + row.len()]);
        }
        Ok(())
    }

    fn launch(&mut self, extents: Extents, addresses: [u64; MOST_ADDRESSES]) -> Result<(), Error> {
        // After them come the records of receivers.
        let written = &addresses[self.read..self.read + self.written + 1];
        self.memory.begin(written.iter().map(|at| (at / DISTANCE) as usize - 1));
        for own in 0..extents.blocks {
            self.memory.begin_block(extents.shared_bytes);
            let place = [own, extents.threads];
            block(&self.instructions, self.registers, &mut self.memory, &addresses, place);
        }
        self.memory.open.clear();
        Ok(())
    }

    fn sweep(&mut self, _: Entry<Parameters>, _: Extents, _: Parameters) -> Result<(), Error> {
        unreachable!("it has no sweeps")
    }

    fn wait(&self) -> Result<(), Error> {
        Ok(())
    }

    fn describe(&self) -> String {
        "a reader of PTX".into()
    }
}
