// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared memory: checked for bounds, unwritten bytes and races.

use crate::clock::{Clock, Space};
use crate::fault::{Access, FaultKind, MemoryBytes};
use crate::shadow::{Event, Shadow};
use std::ops::Range;

/// The dynamic shared memory of a block.
pub(crate) struct SharedMemory {
    /// Dynamic bytes, then static variables, apart from each other.
    bytes: Vec<u8>,
    dynamic: usize,
    statics: Vec<Range<u32>>,
    written: Vec<bool>,
    shadow: Shadow,
    /// Whether what nothing has written may be read.
    pub is_lenient: bool,
}

impl SharedMemory {
    pub fn new(dynamic: u32, statics: &[Range<u32>]) -> Self {
        let size = statics.iter().map(|it| it.end).fold(dynamic, u32::max) as usize;
        Self {
            dynamic: dynamic as usize,
            statics: statics.to_vec(),
            is_lenient: false,
            bytes: vec![0; size],
            written: vec![false; size],
            shadow: Shadow::new(Space::Shared, size),
        }
    }

    fn range(&self, at: u32, bytes: u32, access: Access) -> Result<Range<usize>, FaultKind> {
        let range = at as usize..at as usize + bytes as usize;
        let is_inside = |it: &Range<u32>| at >= it.start && range.end <= it.end as usize;
        if range.end > self.dynamic && !self.statics.iter().any(is_inside) {
            let near = self.statics.iter().rev().find(|it| at >= it.start);
            let size = near.map_or(self.dynamic, |it| it.len());
            let place = MemoryBytes::Shared(at);
            return Err(FaultKind::OutOfBounds { access, bytes: range.len(), place, size });
        }
        Ok(range)
    }

    /// Reads `N` bytes for an agent with this clock.
    pub fn read<const N: usize>(
        &mut self,
        at: u32,
        event: Event,
        clock: &Clock,
    ) -> Result<[u8; N], FaultKind> {
        self.check_read(at, N as u32, event, clock)?;
        Ok(self.bytes[at as usize..][..N].try_into().expect("N bytes"))
    }

    /// Checks and records a read of which the data is taken later.
    pub fn check_read(
        &mut self,
        at: u32,
        bytes: u32,
        event: Event,
        clock: &Clock,
    ) -> Result<(), FaultKind> {
        let range = self.range(at, bytes, Access::Read)?;
        let result = self.shadow.read(range.clone(), event, clock);
        result.map_err(|conflict| conflict.into_fault(Access::Read, place))?;
        match self.written[range.clone()].iter().position(|written| !written) {
            Some(unwritten) if !self.is_lenient => {
                Err(FaultKind::Unwritten(place(range.start + unwritten)))
            }
            _ => Ok(()),
        }
    }

    /// Takes the data of a checked read.
    pub fn copy_out(&self, at: u32, bytes: u32) -> Vec<u8> {
        self.bytes[at as usize..][..bytes as usize].to_vec()
    }

    /// Reads bytes for an agent with this clock.
    pub fn read_into(
        &mut self,
        at: u32,
        to: &mut [u8],
        event: Event,
        clock: &Clock,
    ) -> Result<(), FaultKind> {
        self.check_read(at, to.len() as u32, event, clock)?;
        to.copy_from_slice(&self.bytes[at as usize..][..to.len()]);
        Ok(())
    }

    /// Checks and records an atomic access of a value, and gives it; it may be written by [`Self::fill`].
    pub fn update(
        &mut self,
        at: u32,
        bytes: u32,
        event: Event,
        clock: &Clock,
    ) -> Result<u64, FaultKind> {
        let range = self.range(at, bytes, Access::Write)?;
        if let Some(at) = self.written[range.clone()].iter().position(|written| !written)
            && !self.is_lenient
        {
            return Err(FaultKind::Unwritten(place(range.start + at)));
        }
        let result = self.shadow.write(range.clone(), event, clock);
        result.map_err(|conflict| conflict.into_fault(Access::Write, place))?;
        let mut word = [0; 8];
        word[..range.len()].copy_from_slice(&self.bytes[range]);
        Ok(u64::from_le_bytes(word))
    }

    /// Writes bytes for an agent with this clock.
    pub fn write(
        &mut self,
        at: u32,
        bytes: &[u8],
        event: Event,
        clock: &Clock,
    ) -> Result<(), FaultKind> {
        self.reserve(at, bytes.len() as u32, event, clock)?;
        self.fill(at, bytes);
        Ok(())
    }

    /// Checks and records a write of which the data comes later; until then nothing is written.
    pub fn reserve(
        &mut self,
        at: u32,
        bytes: u32,
        event: Event,
        clock: &Clock,
    ) -> Result<(), FaultKind> {
        let range = self.range(at, bytes, Access::Write)?;
        let result = self.shadow.write(range.clone(), event, clock);
        result.map_err(|conflict| conflict.into_fault(Access::Write, place))?;
        // An atomic one comes at once.
        if event.atomic.is_none() {
            self.written[range].fill(false);
        }
        Ok(())
    }

    /// Writes the data of a reservation.
    pub fn fill(&mut self, at: u32, bytes: &[u8]) {
        let range = at as usize..at as usize + bytes.len();
        self.bytes[range.clone()].copy_from_slice(bytes);
        self.written[range].fill(true);
    }
}

fn place(offset: usize) -> MemoryBytes {
    MemoryBytes::Shared(offset as u32)
}
