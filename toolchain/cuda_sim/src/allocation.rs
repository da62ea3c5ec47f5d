// SPDX-License-Identifier: MIT OR Apache-2.0
//! A buffer of global memory: its bytes, which of them have been written, and their history.

use crate::clock::Space;
use crate::fault::{FaultKind, MemoryBytes};
use crate::shadow::Shadow;
use crate::touched::AccessRecord;
use std::alloc::{self, Layout};
use std::collections::BTreeMap;
use std::ops::Range;
use std::ptr::NonNull;

/// What the driver aligns allocations to.
const ALIGNMENT: usize = 256;

/// Bytes before and after each buffer that belong to no other one.
pub const GUARD: usize = 1 << 16;

/// Bytes of the guards next to a buffer that are looked at after each launch.
const CANARY: usize = 1 << 12;

/// Bytes that are taken for written together, where nobody saw the store.
const WORD: usize = 8;

/// What an unwritten byte holds.
fn filling(at: usize) -> u8 {
    ((at as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

/// Where the addresses of sparse buffers begin: beyond all that a process has.
const SPARSE: usize = 1 << 56;

/// Bytes of a page of a sparse buffer.
const PAGE: usize = 1 << 12;

/// A buffer.
#[derive(Debug)]
pub struct Allocation {
    pub name: String,
    pub len: usize,
    /// Whether kernels may write it.
    pub writable: bool,
    bytes: Bytes,
    /// Made by the first access of a launch.
    pub shadow: Option<Shadow>,
    /// What the launch before has accessed, if it did and may not have ended.
    pub before: Option<AccessRecord>,
}

#[derive(Debug)]
enum Bytes {
    /// All of them, and whether they have been written.
    All { bytes: Guarded, written: Vec<bool> },
    /// Pages that have been written; all other bytes are the same.
    Sparse { start: usize, pages: BTreeMap<usize, Vec<u8>>, fill: u8 },
}

impl Allocation {
    /// A buffer of these bytes, which count as written or not.
    pub fn new(name: &str, bytes: &[u8], writable: bool, is_written: bool) -> Self {
        let (len, written) = (bytes.len(), vec![is_written; bytes.len()]);
        let mut guarded = Guarded::new(len);
        match is_written {
            true => guarded.copy_in(0, bytes),
            false => guarded.copy_in(0, &(0..len).map(filling).collect::<Vec<_>>()),
        }
        let bytes = Bytes::All { bytes: guarded, written };
        Self { name: name.to_owned(), len, writable, bytes, shadow: None, before: None }
    }

    /// A sparse buffer behind so many bytes of others, which kernels may write.
    pub fn sparse(name: &str, behind: usize, len: usize, fill: u8) -> Self {
        let start = SPARSE + behind + GUARD;
        let bytes = Bytes::Sparse { start, pages: BTreeMap::new(), fill };
        Self { name: name.to_owned(), len, writable: true, bytes, shadow: None, before: None }
    }

    /// The address of the first byte.
    pub fn start(&self) -> usize {
        match &self.bytes {
            Bytes::All { bytes, .. } => bytes.start.as_ptr() as usize,
            Bytes::Sparse { start, .. } => *start,
        }
    }

    pub fn place(&self, offset: usize) -> MemoryBytes {
        MemoryBytes::Global { buffer: self.name.clone(), offset: offset as i64 }
    }

    fn new_shadow(&self) -> Shadow {
        match self.bytes {
            Bytes::All { .. } => Shadow::new(Space::Global, self.len),
            Bytes::Sparse { .. } => Shadow::sparse(Space::Global),
        }
    }

    pub fn shadow(&mut self) -> &mut Shadow {
        if self.shadow.is_none() {
            self.shadow = Some(self.new_shadow());
        }
        self.shadow.as_mut().expect("just made")
    }

    /// Notes that the launch before has used bytes as a counter.
    pub fn count(&mut self, range: Range<usize>) {
        if self.before.is_none() {
            self.before = Some(self.new_shadow().touched());
        }
        self.before.as_mut().expect("just made").write(range);
    }

    /// Refuses what nothing has written, unless this is lenient.
    pub fn check_written(&self, range: Range<usize>, is_lenient: bool) -> Result<(), FaultKind> {
        match self.unwritten(range) {
            Some(at) if !is_lenient => Err(FaultKind::Unwritten(self.place(at))),
            _ => Ok(()),
        }
    }

    /// The first byte that nothing has written. What a kernel has stored through a plain pointer was seen by nobody, but has
    /// changed what was filled in: eight bytes that are as they were count as unwritten.
    pub fn unwritten(&self, range: Range<usize>) -> Option<usize> {
        let Bytes::All { bytes, written } = &self.bytes else { return None };
        let is_as_filled = |at: usize| {
            let word = at / WORD * WORD..(at / WORD * WORD + WORD).min(self.len);
            let mut found = [0; WORD];
            bytes.copy_out(word.start, &mut found[..word.len()]);
            word.zip(found).all(|(at, byte)| written[at] || byte == filling(at))
        };
        let mut unwritten = range.filter(|at| !written[*at]);
        unwritten.find(|at| is_as_filled(*at))
    }

    /// The offset of a byte before or after the buffer that something has written.
    pub fn damaged_guard(&self) -> Option<i64> {
        let Bytes::All { bytes, .. } = &self.bytes else { return None };
        bytes.damaged_guard()
    }

    pub fn copy_out(&self, offset: usize, to: &mut [u8]) {
        assert!(offset + to.len() <= self.len, "the range was checked");
        match &self.bytes {
            Bytes::All { bytes, .. } => bytes.copy_out(offset, to),
            Bytes::Sparse { pages, fill, .. } => {
                for (page, at, part) in parts(offset, to.len()) {
                    match pages.get(&page) {
                        Some(page) => to[part.clone()].copy_from_slice(&page[at..][..part.len()]),
                        None => to[part].fill(*fill),
                    }
                }
            }
        }
    }

    /// Writes bytes.
    pub fn copy_in(&mut self, offset: usize, from: &[u8]) {
        assert!(offset + from.len() <= self.len, "the range was checked");
        match &mut self.bytes {
            Bytes::All { bytes, written } => {
                bytes.copy_in(offset, from);
                written[offset..offset + from.len()].fill(true);
            }
            Bytes::Sparse { pages, fill, .. } => {
                for (page, at, part) in parts(offset, from.len()) {
                    let page = pages.entry(page).or_insert_with(|| vec![*fill; PAGE]);
                    page[at..][..part.len()].copy_from_slice(&from[part]);
                }
            }
        }
    }
}

/// Of so many bytes from an offset on, those of each page: its number, where they begin in it, and which
/// they are.
fn parts(offset: usize, len: usize) -> impl Iterator<Item = (usize, usize, Range<usize>)> {
    let pages = if len == 0 { 0..0 } else { offset / PAGE..(offset + len - 1) / PAGE + 1 };
    pages.map(move |page| {
        let start = offset.max(page * PAGE);
        let end = (offset + len).min((page + 1) * PAGE);
        (page, start - page * PAGE, start - offset..end - offset)
    })
}

/// Bytes with guards before and after them, so that no other buffer is near.
#[derive(Debug)]
struct Guarded {
    start: NonNull<u8>,
    len: usize,
}

impl Guarded {
    fn new(len: usize) -> Self {
        let layout = Self::layout(len);
        // SAFETY: the guards make the layout's size positive.
        let front = NonNull::new(unsafe { alloc::alloc_zeroed(layout) });
        let Some(front) = front else { alloc::handle_alloc_error(layout) };
        // SAFETY: the allocation holds GUARD bytes and more.
        let start = unsafe { front.add(GUARD) };
        for (at, byte) in Self::canaries(len) {
            // SAFETY: within the guards.
            unsafe { start.offset(at).write(byte) };
        }
        Self { start, len }
    }

    /// The bytes around so many, by their offsets.
    fn canaries(len: usize) -> impl Iterator<Item = (isize, u8)> {
        let (before, after) = (-(CANARY as isize)..0, len as isize..(len + CANARY) as isize);
        before.chain(after).map(|at| (at, filling(at as usize) | 1))
    }

    /// Which of them has been written.
    fn damaged_guard(&self) -> Option<i64> {
        // SAFETY: within the guards.
        let is_written =
            |&(at, byte): &(isize, u8)| unsafe { self.start.offset(at).read() } != byte;
        Self::canaries(self.len).find(is_written).map(|(at, _)| at as i64)
    }

    fn layout(len: usize) -> Layout {
        Layout::from_size_align(len + 2 * GUARD, ALIGNMENT).expect("buffers fit the address space")
    }

    fn copy_out(&self, offset: usize, to: &mut [u8]) {
        assert!(offset + to.len() <= self.len, "the range was checked");
        // SAFETY: the range lies in this allocation, and `to`, a unique borrow, does not.
        unsafe {
            to.as_mut_ptr().copy_from_nonoverlapping(self.start.add(offset).as_ptr(), to.len())
        };
    }

    fn copy_in(&mut self, offset: usize, from: &[u8]) {
        assert!(offset + from.len() <= self.len, "the range was checked");
        // SAFETY: as in `copy_out`.
        unsafe {
            self.start.add(offset).as_ptr().copy_from_nonoverlapping(from.as_ptr(), from.len())
        };
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: `new` allocated it with this layout, GUARD bytes before `start`.
        unsafe { alloc::dealloc(self.start.sub(GUARD).as_ptr(), Self::layout(self.len)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparse_buffer_holds_what_was_written_and_its_filling() {
        let len = 1 << 40;
        let mut sparse = Allocation::sparse("sparse", 0, len, 7);
        let bytes: Vec<u8> = (0..2 * PAGE).map(|at| at as u8).collect();
        let at = len - bytes.len() - 100;
        sparse.copy_in(at, &bytes);
        let mut got = vec![0; bytes.len() + 20];
        sparse.copy_out(at - 10, &mut got);
        assert_eq!(got[10..][..bytes.len()], bytes);
        assert!(got[..10].iter().chain(&got[10 + bytes.len()..]).all(|&byte| byte == 7));
        let Bytes::Sparse { pages, .. } = &sparse.bytes else { panic!("it is sparse") };
        assert_eq!(pages.len(), 3);
    }
}
