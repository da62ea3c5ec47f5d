// SPDX-License-Identifier: MIT OR Apache-2.0
//! The shared memory of a block. Nothing is read that another thread has written since the last barrier, or written that
//! another one has read, nor anything that is still being copied there.

/// Bytes, and what threads have done with the values that begin at each.
#[derive(Clone)]
pub struct Shared {
    bytes: Vec<u8>,
    marks: Vec<Mark>,
    /// The number of the barrier before this, counted in all blocks from 1: marks of others are over.
    barriers: u32,
    /// The number of the block, from 1: copies of others are over.
    blocks: u32,
}

/// Bytes on their way to shared memory.
pub struct Copy {
    to: u64,
    bytes: Vec<u8>,
}

/// What threads have done with a value.
#[derive(Clone, Copy, Default)]
struct Mark {
    /// After which barrier it was written, and by which thread.
    written: u32,
    writer: u32,
    /// After which barrier it was read, by which thread first, and whether by others, too.
    read: u32,
    reader: u32,
    several: bool,
    /// The number of the block that has begun a copy to it, which is on its way; 0 if none is.
    copied: u32,
}

impl Mark {
    fn writer(&self, barriers: u32) -> Option<u32> {
        (self.written == barriers).then_some(self.writer)
    }

    /// Whether no other thread has read or written the value since the last barrier.
    fn is_free(&self, address: u64, barriers: u32, own: u32) -> Result<(), String> {
        if self.read == barriers && (self.several || self.reader != own) {
            return Err(format!(
                "byte {address} of shared memory was read by another thread since the last barrier"
            ));
        }
        match self.writer(barriers).filter(|by| *by != own) {
            Some(by) => {
                Err(format!("byte {address} of shared memory is written by thread {by}, too"))
            }
            None => Ok(()),
        }
    }
}

impl Default for Shared {
    fn default() -> Self {
        // Marks that nothing has made are of no barrier and no block.
        Self { bytes: Vec::new(), marks: Vec::new(), barriers: 1, blocks: 1 }
    }
}

impl Shared {
    /// Words, each at a place.
    pub fn share(&mut self, words: impl IntoIterator<Item = (usize, u32)>) {
        for (place, word) in words {
            self.bytes.resize(self.bytes.len().max(place + 4), 0xff);
            self.bytes[place..place + 4].copy_from_slice(&word.to_le_bytes());
        }
        self.marks.resize(self.bytes.len(), Mark::default());
    }

    /// Begins a block with so many bytes, of values that are no numbers.
    pub fn begin_block(&mut self, bytes: u32) {
        self.bytes.clear();
        self.bytes.resize(bytes as usize, 0xff);
        self.marks.resize(bytes as usize, Mark::default());
        self.blocks += 1;
    }

    /// All threads have come to a barrier.
    pub fn barrier(&mut self) {
        self.barriers += 1;
    }

    /// Begins a copy of these bytes; it is done when the thread has waited for it.
    pub fn begin_copy(&mut self, to: u64, bytes: Vec<u8>, own: u32) -> Result<Copy, String> {
        let start = self.place(to, bytes.len())?;
        for place in (start..start + bytes.len()).step_by(2) {
            let (mark, barriers) = (&mut self.marks[place], self.barriers);
            mark.is_free(place as u64, barriers, own)?;
            if mark.copied == self.blocks {
                return Err(format!("byte {place} of shared memory is already being copied"));
            }
            mark.copied = self.blocks;
        }
        Ok(Copy { to, bytes })
    }

    /// Ends a copy.
    pub fn end_copy(&mut self, copy: Copy, own: u32) -> Result<(), String> {
        for (place, pair) in (copy.to..).step_by(2).zip(copy.bytes.chunks(2)) {
            self.marks[place as usize].copied = 0;
            self.store(place, 2, u64::from(u16::from_le_bytes([pair[0], pair[1]])), own)?;
        }
        Ok(())
    }

    /// A value.
    pub fn load(&mut self, address: u64, bytes: usize, own: u32) -> Result<u64, String> {
        let start = self.place(address, bytes)?;
        let mark = &mut self.marks[start];
        if mark.copied == self.blocks {
            return Err(format!("byte {start} of shared memory is still being copied"));
        }
        if let Some(by) = mark.writer(self.barriers).filter(|by| *by != own) {
            return Err(format!(
                "byte {start} of shared memory was written by thread {by} since the last barrier"
            ));
        }
        if mark.read != self.barriers {
            (mark.read, mark.reader, mark.several) = (self.barriers, own, false);
        }
        mark.several |= mark.reader != own;
        let mut bits = [0; 8];
        bits[..bytes].copy_from_slice(&self.bytes[start..start + bytes]);
        Ok(u64::from_le_bytes(bits))
    }

    /// Stores a value.
    pub fn store(&mut self, address: u64, bytes: usize, bits: u64, own: u32) -> Result<(), String> {
        let start = self.place(address, bytes)?;
        let mark = &mut self.marks[start];
        mark.is_free(address, self.barriers, own)?;
        (mark.written, mark.writer) = (self.barriers, own);
        self.bytes[start..start + bytes].copy_from_slice(&bits.to_le_bytes()[..bytes]);
        Ok(())
    }

    /// Where so many bytes lie, which may be accessed together.
    pub fn place(&self, address: u64, bytes: usize) -> Result<usize, String> {
        let (start, length) = (address as usize, self.bytes.len());
        if start.checked_add(bytes).is_none_or(|end| end > length) {
            return Err(format!("byte {start} is beyond the {length} of shared memory"));
        }
        aligned(start, bytes)?;
        Ok(start)
    }
}

/// Whether so many bytes may be accessed together there.
pub fn aligned(start: usize, bytes: usize) -> Result<(), String> {
    match start.is_multiple_of(bytes) {
        true => Ok(()),
        false => Err(format!("byte {start} is no place for {bytes} bytes together")),
    }
}
