// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arrays of global memory and the shared memory of a block. Every access is checked: it lies within an array; of
//! global memory nothing is read that the launch writes, and every byte is written once; of shared memory nothing is
//! read that another thread has written since the last barrier, or written that another one has read, nor anything
//! that is still being copied there.

use std::collections::{HashMap, HashSet};

use crate::program::Program;

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
    /// Those that a launch writes.
    open: HashSet<usize>,
    /// What it has written.
    stored: HashSet<u64>,
    /// Shared memory of the block that runs.
    shared: Vec<u8>,
    /// Of what lies there which thread has written it since the last barrier, and which ones have read it.
    written_by: HashMap<u64, u32>,
    read_by: HashMap<u64, Readers>,
    /// Where bytes are on their way, two by two.
    copied: HashSet<u64>,
}

/// Bytes on their way to shared memory.
pub(crate) struct Copy {
    to: u64,
    bytes: Vec<u8>,
}

/// Who has read a value.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Readers {
    One(u32),
    Several,
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

    /// Ends a launch: its arrays may be read.
    pub fn end(&mut self) {
        self.open.clear();
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
        if self.open.contains(&array) {
            return Err(format!("array {array} is read, and this launch writes it"));
        }
        Ok(&self.arrays[array][start..start + bytes])
    }

    /// Stores bytes together at an address that is a multiple of their number.
    pub(crate) fn store(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
        let (array, start) = self.place(address, bytes.len())?;
        if !self.open.contains(&array) {
            return Err(format!("array {array} is written, and this launch only reads it"));
        }
        for byte in 0..bytes.len() as u64 {
            if !self.stored.insert(address + byte) {
                return Err(format!("byte {start} of array {array} is written twice"));
            }
        }
        self.arrays[array][start..start + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    /// Begins a block with so much shared memory, of values that are no numbers.
    pub fn begin_block(&mut self, bytes: u32) {
        self.shared = vec![0xff; bytes as usize];
        self.copied.clear();
    }

    /// All threads have come to a barrier.
    pub(crate) fn barrier(&mut self) {
        self.written_by.clear();
        self.read_by.clear();
    }

    /// Begins a copy of bytes to shared memory, of which so many are there and the others 0; it is done when the
    /// thread has waited for it.
    pub(crate) fn begin_copy(
        &mut self,
        to: u64,
        from: u64,
        [bytes, there]: [usize; 2],
        own: u32,
    ) -> Result<Copy, String> {
        let mut values = if there > 0 { self.load(from, there)?.to_vec() } else { Vec::new() };
        values.resize(bytes, 0);
        self.shared_place(to, bytes)?;
        for place in (to..to + bytes as u64).step_by(2) {
            self.is_free(place, own)?;
            if !self.copied.insert(place) {
                return Err(format!("byte {place} of shared memory is already being copied"));
            }
        }
        Ok(Copy { to, bytes: values })
    }

    /// Ends a copy.
    pub(crate) fn end_copy(&mut self, copy: Copy, own: u32) -> Result<(), String> {
        for (place, pair) in (copy.to..).step_by(2).zip(copy.bytes.chunks(2)) {
            self.copied.remove(&place);
            self.store_shared(place, 2, u64::from(u16::from_le_bytes([pair[0], pair[1]])), own)?;
        }
        Ok(())
    }

    /// Whether no other thread has read or written what lies there since the last barrier.
    fn is_free(&self, address: u64, own: u32) -> Result<(), String> {
        if self.read_by.get(&address).is_some_and(|by| *by != Readers::One(own)) {
            return Err(format!(
                "byte {address} of shared memory was read by another thread since the last barrier"
            ));
        }
        match self.written_by.get(&address).filter(|by| **by != own) {
            Some(by) => {
                Err(format!("byte {address} of shared memory is written by thread {by}, too"))
            }
            None => Ok(()),
        }
    }

    /// A value in shared memory.
    pub(crate) fn load_shared(
        &mut self,
        address: u64,
        bytes: usize,
        own: u32,
    ) -> Result<u64, String> {
        let start = self.shared_place(address, bytes)?;
        if self.copied.contains(&address) {
            return Err(format!("byte {start} of shared memory is still being copied"));
        }
        if let Some(by) = self.written_by.get(&address).filter(|by| **by != own) {
            return Err(format!(
                "byte {start} of shared memory was written by thread {by} since the last barrier"
            ));
        }
        let readers = self.read_by.entry(address).or_insert(Readers::One(own));
        if *readers != Readers::One(own) {
            *readers = Readers::Several;
        }
        let mut bits = [0; 8];
        bits[..bytes].copy_from_slice(&self.shared[start..start + bytes]);
        Ok(u64::from_le_bytes(bits))
    }

    /// Stores a value in shared memory.
    pub(crate) fn store_shared(
        &mut self,
        address: u64,
        bytes: usize,
        bits: u64,
        own: u32,
    ) -> Result<(), String> {
        let start = self.shared_place(address, bytes)?;
        self.is_free(address, own)?;
        self.written_by.insert(address, own);
        self.shared[start..start + bytes].copy_from_slice(&bits.to_le_bytes()[..bytes]);
        Ok(())
    }

    /// Whether so many bytes lie in shared memory, and may be accessed together.
    pub(crate) fn check_shared(&self, address: u64, bytes: usize) -> Result<(), String> {
        self.shared_place(address, bytes).map(|_| ())
    }

    fn shared_place(&self, address: u64, bytes: usize) -> Result<usize, String> {
        let (start, length) = (address as usize, self.shared.len());
        if start.checked_add(bytes).is_none_or(|end| end > length) {
            return Err(format!("byte {start} is beyond the {length} of shared memory"));
        }
        aligned(start, bytes)?;
        Ok(start)
    }
}

/// Whether so many bytes may be accessed together there.
fn aligned(start: usize, bytes: usize) -> Result<(), String> {
    match start.is_multiple_of(bytes) {
        true => Ok(()),
        false => Err(format!("byte {start} is no place for {bytes} bytes together")),
    }
}
