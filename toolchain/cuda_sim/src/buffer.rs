// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handles on buffers of global memory.

use std::marker::PhantomData;

/// A typed handle on a buffer of a [`crate::Memory`].
#[derive(Debug)]
pub struct Buffer<T> {
    /// Its address, which nothing dereferences.
    pub(crate) start: usize,
    pub(crate) len: usize,
    element: PhantomData<T>,
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Buffer<T> {}

impl<T> Buffer<T> {
    /// A handle on so many elements from an address on.
    pub(crate) fn new(start: usize, len: usize) -> Self {
        Self { start, len, element: PhantomData }
    }

    /// The pointer that the kernel takes.
    #[must_use]
    pub fn as_ptr(self) -> *const T {
        std::ptr::without_provenance(self.start)
    }

    /// The pointer that the kernel takes.
    #[must_use]
    pub fn as_mut_ptr(self) -> *mut T {
        std::ptr::without_provenance_mut(self.start)
    }

    /// The elements for a kernel that takes `&[T]`.
    ///
    /// # Safety
    /// The memory lives as long as the slice is used, and nothing writes the elements meanwhile.
    #[must_use]
    pub unsafe fn as_slice<'a>(self) -> &'a [T] {
        // SAFETY: the buffer has so many elements; the rest is as the caller promises.
        unsafe {
            std::slice::from_raw_parts(std::ptr::with_exposed_provenance(self.start), self.len)
        }
    }

    /// The elements for a kernel that takes `&mut [T]`.
    ///
    /// # Safety
    /// The memory lives as long as the slice is used, and lanes write elements of their own.
    #[must_use]
    pub unsafe fn as_mut_slice<'a>(self) -> &'a mut [T] {
        let start = std::ptr::with_exposed_provenance_mut(self.start);
        // SAFETY: the buffer has so many elements; the rest is as the caller promises.
        unsafe { std::slice::from_raw_parts_mut(start, self.len) }
    }

    /// A handle on the bytes of this buffer as elements of another type.
    ///
    /// # Panics
    /// Where its elements have another size.
    #[must_use]
    pub fn cast<U>(self) -> Buffer<U> {
        assert_eq!(size_of::<T>(), size_of::<U>(), "elements of the same size");
        Buffer::new(self.start, self.len)
    }

    /// Elements in the buffer.
    #[must_use]
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}
