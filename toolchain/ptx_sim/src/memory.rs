// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arrays of global memory, beside the shared memory of a block. Every access is checked: it lies within an array, nothing is
//! read that the launch writes, and every byte is written once.

use crate::program::Program;
use crate::shared::{Copy, Shared, aligned};
use crate::thread::ThreadMemory;

/// Arrays lie so far apart.
const DISTANCE: u64 = 1 << 40;

/// Where constants lie.
pub(crate) const CONSTANTS: u64 = DISTANCE * (1 << 20);

/// Arrays, each at an address of its own.
#[derive(Clone, Default)]
pub struct Memory {
    arrays: Vec<Vec<u8>>,
    /// What stands before the kernel.
    constants: Vec<u8>,
    /// Of each array whether the launch writes it, and then a bit for each byte: whether it has been written.
    stored: Vec<Option<Vec<u64>>>,
    /// Shared memory of the block that runs.
    pub(crate) shared: Shared,
    /// Memory of threads that have ended.
    pub(crate) spare: Vec<ThreadMemory>,
}

impl Memory {
    /// The memory of a kernel: its constants, and arrays of these bytes.
    #[must_use]
    pub fn new(program: &Program, arrays: Vec<Vec<u8>>) -> Self {
        Self { arrays, constants: program.constant_bytes().to_vec(), ..Self::default() }
    }

    /// Adds an array of zeros, and returns its number.
    pub fn allocate(&mut self, bytes: usize) -> usize {
        self.arrays.push(vec![0; bytes]);
        self.arrays.len() - 1
    }

    /// The address of an array.
    #[must_use]
    pub fn address(array: usize) -> u64 {
        (array as u64 + 1) * DISTANCE
    }

    /// The array that an address lies in, and how many bytes after its start.
    #[must_use]
    pub fn split(address: u64) -> (usize, usize) {
        ((address / DISTANCE) as usize - 1, (address % DISTANCE) as usize)
    }

    /// Words in shared memory, each at a place.
    pub fn share(&mut self, words: impl IntoIterator<Item = (usize, u32)>) {
        self.shared.share(words);
    }

    /// Begins a launch that writes these arrays.
    pub fn begin(&mut self, written: impl IntoIterator<Item = usize>) {
        self.end();
        self.stored.resize(self.arrays.len(), None);
        for array in written {
            // A kernel may be given an address of nothing.
            if let Some(bytes) = self.arrays.get(array) {
                self.stored[array] = Some(vec![0; bytes.len().div_ceil(64)]);
            }
        }
    }

    /// Ends a launch: its arrays may be read.
    pub fn end(&mut self) {
        self.stored.clear();
    }

    /// How many arrays there are.
    #[must_use]
    pub fn arrays(&self) -> usize {
        self.arrays.len()
    }

    /// The bytes of an array, to be changed.
    pub fn bytes_mut(&mut self, array: usize) -> &mut [u8] {
        &mut self.arrays[array]
    }

    /// The bytes of an array.
    #[must_use]
    pub fn bytes(&self, array: usize) -> &[u8] {
        &self.arrays[array]
    }

    fn place(&self, address: u64, bytes: usize) -> Result<(usize, usize), String> {
        let array = (address / DISTANCE).checked_sub(1).filter(|it| *it < self.arrays.len() as u64);
        if array.is_none() {
            return Err(format!("address {address:#x} is that of no array"));
        }
        let (array, start) = Self::split(address);
        let length = self.arrays[array].len();
        if start + bytes > length {
            return Err(format!(
                "bytes {start} to {} of array {array}, which has {length}",
                start + bytes
            ));
        }
        aligned(start, bytes)?;
        Ok((array, start))
    }

    /// Bytes of a load, together at an address that is a multiple of their number.
    pub(crate) fn load(&self, address: u64, bytes: usize) -> Result<&[u8], String> {
        if address >= CONSTANTS {
            let start = (address - CONSTANTS) as usize;
            let found = self.constants.get(start..start + bytes);
            return found.ok_or_else(|| format!("byte {start} is beyond the constants"));
        }
        let (array, start) = self.place(address, bytes)?;
        if self.stored.get(array).is_some_and(Option::is_some) {
            return Err(format!("array {array} is read, and this launch writes it"));
        }
        Ok(&self.arrays[array][start..start + bytes])
    }

    /// Stores bytes together at an address that is a multiple of their number.
    pub(crate) fn store(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
        let (array, start) = self.place(address, bytes.len())?;
        let Some(stored) = self.stored.get_mut(array).and_then(Option::as_mut) else {
            return Err(format!("array {array} is written, and this launch only reads it"));
        };
        for byte in start..start + bytes.len() {
            let (word, bit) = (&mut stored[byte / 64], 1 << (byte % 64));
            if *word & bit != 0 {
                return Err(format!("byte {start} of array {array} is written twice"));
            }
            *word |= bit;
        }
        self.arrays[array][start..start + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    /// Begins a block with so much shared memory, of values that are no numbers.
    pub fn begin_block(&mut self, bytes: u32) {
        self.shared.begin_block(bytes);
    }

    /// Begins a copy of bytes to shared memory, of which so many are there and the others 0.
    pub(crate) fn begin_copy(
        &mut self,
        to: u64,
        from: u64,
        [bytes, there]: [usize; 2],
        own: u32,
    ) -> Result<Copy, String> {
        let mut values = if there > 0 { self.load(from, there)?.to_vec() } else { Vec::new() };
        values.resize(bytes, 0);
        self.shared.begin_copy(to, values, own)
    }
}
