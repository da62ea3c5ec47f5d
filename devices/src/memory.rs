// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of a device, and parts of it.

use std::any::Any;
use std::ptr;

/// An allocation of device memory, which is freed when this is dropped.
pub struct Memory {
    address: u64,
    bytes: usize,
    /// What frees it.
    owner: Box<dyn Any>,
}

impl Memory {
    /// An allocation that lives as long as its owner.
    pub fn new(address: u64, bytes: usize, owner: impl Any) -> Self {
        Self { address, bytes, owner: Box::new(owner) }
    }

    /// What frees it, if that is of this type.
    pub fn owner<T: Any>(&self) -> Option<&T> {
        self.owner.downcast_ref()
    }

    /// Device address of the first byte.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// How many bytes it has.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The pointer that a kernel takes, which nobody follows on this side.
    #[must_use]
    pub fn as_ptr<T>(&self) -> *const T {
        ptr::without_provenance(self.address as usize)
    }

    /// The pointer that a kernel takes, which nobody follows on this side.
    #[must_use]
    pub fn as_mut_ptr<T>(&self) -> *mut T {
        ptr::without_provenance_mut(self.address as usize)
    }
}

/// Rows of bytes of a device that lie in no [`Memory`] of this crate. Whoever makes one answers for it as long as it is
/// used: they are there, and nobody else writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignMemory {
    /// From this address on.
    address: u64,
    rows: MemoryRows,
}

impl ForeignMemory {
    /// Rows from an address on.
    pub(super) fn new(address: u64, rows: MemoryRows) -> Self {
        Self { address, rows }
    }

    /// Where they begin.
    pub(super) fn address(&self) -> u64 {
        self.address
    }

    /// How they lie from there.
    pub(super) fn rows(&self) -> MemoryRows {
        self.rows
    }
}

/// Rows of bytes in an allocation, and planes of such rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRows {
    /// Where the first byte lies.
    pub start: usize,
    /// Bytes of a row.
    pub width: usize,
    /// Rows of a plane.
    pub rows: usize,
    /// Bytes from one row to the next.
    pub row_pitch: usize,
    /// Planes.
    pub planes: usize,
    /// Bytes from one plane to the next.
    pub plane_pitch: usize,
}

impl MemoryRows {
    /// So many bytes from the start of an allocation.
    #[must_use]
    pub fn first(bytes: usize) -> Self {
        let [row_pitch, plane_pitch] = [bytes; 2];
        Self { start: 0, width: bytes, rows: 1, row_pitch, planes: 1, plane_pitch }
    }

    /// As many bytes without gaps, from a place on.
    #[must_use]
    pub fn packed(self, start: usize) -> Self {
        let (row_pitch, plane_pitch) = (self.width, self.rows * self.width);
        Self { start, row_pitch, plane_pitch, ..self }
    }

    /// Bytes of a plane's rows together.
    #[must_use]
    pub fn plane_bytes(&self) -> usize {
        self.width * self.rows
    }

    /// Where the planes begin.
    pub fn plane_starts(self) -> impl Iterator<Item = usize> {
        (0..self.planes).map(move |plane| self.start + plane * self.plane_pitch)
    }

    /// Where all rows begin, plane by plane.
    pub fn starts(self) -> impl Iterator<Item = usize> {
        let rows = move |start: usize| (0..self.rows).map(move |row| start + row * self.row_pitch);
        self.plane_starts().flat_map(rows)
    }

    /// Makes sure that they lie in an allocation.
    ///
    /// # Panics
    /// Where they do not.
    pub fn check(&self, memory: &Memory) {
        if self.width * self.rows * self.planes == 0 {
            return;
        }
        let last = (self.planes - 1) * self.plane_pitch + (self.rows - 1) * self.row_pitch;
        let end = self.start + last + self.width;
        assert!(end <= memory.bytes(), "{self:?} lie in {} bytes", memory.bytes());
    }
}
