// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the host does with buffers, and finds in them after a launch.

use crate::allocation::GUARD;
use crate::buffer::Buffer;
use crate::fault::{FaultKind, MemoryBytes};
use crate::memory::Memory;
use bytemuck::{AnyBitPattern, NoUninit};

impl Memory {
    /// The elements of a buffer.
    ///
    /// # Panics
    /// With a buffer of another memory, and where an element is read that nothing has written: of an
    /// [`output`](Self::output) that a kernel has not filled. [`Self::unwritten`] asks for that.
    #[must_use]
    pub fn read<T: AnyBitPattern + NoUninit>(&self, buffer: Buffer<T>) -> Vec<T> {
        self.read_at(buffer, 0, buffer.len)
    }

    /// So many elements of a buffer from one on.
    ///
    /// # Panics
    /// As [`Self::read`], and past the buffer's end.
    #[must_use]
    pub fn read_at<T: AnyBitPattern + NoUninit>(
        &self,
        buffer: Buffer<T>,
        first: usize,
        count: usize,
    ) -> Vec<T> {
        let allocation = self.allocation(buffer.start).expect("the buffer is one of this memory");
        let range = first * size_of::<T>()..(first + count) * size_of::<T>();
        if let Some(at) = allocation.unwritten(range) {
            let (place, element) = (allocation.place(at), at / size_of::<T>());
            panic!(
                "unwritten: the host reads {place} (element {element}), which nothing has written"
            );
        }
        let mut elements = vec![T::zeroed(); count];
        allocation.copy_out(first * size_of::<T>(), bytemuck::cast_slice_mut(&mut elements));
        elements
    }

    /// The first element of a buffer that nothing has written.
    ///
    /// # Panics
    /// With a buffer of another memory.
    #[must_use]
    pub fn unwritten<T>(&self, buffer: Buffer<T>) -> Option<usize> {
        let allocation = self.allocation(buffer.start).expect("the buffer is one of this memory");
        Some(allocation.unwritten(0..allocation.len)? / size_of::<T>().max(1))
    }

    /// Puts elements into a buffer, from one on, when all launches have ended.
    ///
    /// # Panics
    /// With a buffer of another memory, or past its end.
    pub fn write_at<T: NoUninit>(&mut self, buffer: Buffer<T>, first: usize, elements: &[T]) {
        self.settle();
        let allocation = self.allocations.get_mut(&(buffer.start - GUARD));
        let allocation = allocation.expect("the buffer is one of this memory");
        allocation.copy_in(first * size_of::<T>(), bytemuck::cast_slice(elements));
    }

    /// Writes bytes of a buffer that no kernel has seen: the launch before is not waited for.
    pub(crate) fn fill_new(&mut self, buffer: Buffer<u8>, first: usize, bytes: &[u8]) {
        let allocation = self.allocations.get_mut(&(buffer.start - GUARD));
        allocation.expect("the buffer is one of this memory").copy_in(first, bytes);
    }

    /// The first buffer that something has written beyond.
    pub(crate) fn damaged_guards(&self) -> Option<FaultKind> {
        let found = self.allocations.values().find_map(|it| Some((it, it.damaged_guard()?)));
        let (allocation, offset) = found?;
        let place = MemoryBytes::Global { buffer: allocation.name.clone(), offset };
        Some(FaultKind::Trampled { place, size: allocation.len })
    }
}
