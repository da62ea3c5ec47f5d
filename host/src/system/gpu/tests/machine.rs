// SPDX-License-Identifier: MIT OR Apache-2.0
//! What runs a kernel by reading it, one thread after the other, and checks every access: within an array, nothing
//! that the launch writes is read, and everything is written once.

use std::collections::HashSet;

use super::execute::thread;
use super::read::{Instruction, constants, read};
use crate::Error;
use crate::device::Rows;
use crate::device::generated::MOST_ADDRESSES;
use crate::system::gpu::Target;
use crate::system::gpu::geometry::THREADS;

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
#[derive(Default)]
pub struct Memory {
    arrays: Vec<Vec<u8>>,
    /// What stands before the kernel.
    constants: Vec<u8>,
    /// Those that a launch writes.
    open: HashSet<usize>,
    /// What it has written.
    stored: HashSet<u64>,
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

    /// Begins a launch that writes these arrays.
    pub fn begin(&mut self, written: impl IntoIterator<Item = usize>) {
        self.open = written.into_iter().collect();
        self.stored.clear();
    }

    /// The bytes of an array.
    pub fn bytes(&self, array: usize) -> &[u8] {
        &self.arrays[array]
    }

    fn place(&self, address: u64, bytes: usize) -> (usize, usize) {
        let (array, start) = ((address / DISTANCE) as usize - 1, (address % DISTANCE) as usize);
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
}

impl Machine {
    /// A kernel that reads so many arrays and writes so many.
    pub fn new(text: &str, arrays_read: usize, arrays_written: usize) -> Self {
        let (instructions, registers) = read(text);
        let memory = Memory::with(constants(text), Vec::new());
        Self { instructions, registers, read: arrays_read, written: arrays_written, memory }
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

    fn launch(&mut self, blocks: u32, addresses: [u64; MOST_ADDRESSES]) -> Result<(), Error> {
        // After them come the records of receivers.
        let written = &addresses[self.read..self.read + self.written + 1];
        self.memory.begin(written.iter().map(|at| (at / DISTANCE) as usize - 1));
        for (block, own) in (0..blocks).flat_map(|block| (0..THREADS).map(move |own| (block, own)))
        {
            thread(&self.instructions, self.registers, &mut self.memory, &addresses, [block, own]);
        }
        self.memory.open.clear();
        Ok(())
    }

    fn wait(&self) -> Result<(), Error> {
        Ok(())
    }

    fn describe(&self) -> String {
        "a reader of PTX".into()
    }
}
