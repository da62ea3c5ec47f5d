// SPDX-License-Identifier: MIT OR Apache-2.0
//! An array whose rows threads borrow at run time: as a `RefCell` does for a value, row by row, and for several threads.
//!
//! Threads that take several time steps write some rows of an array while others read rows of it, and which these are
//! changes from step to step. Each row knows whether it is read or written; a borrow that would let a row be written while
//! somebody else has it panics. It costs one atomic operation for eight rows.
//!
//! ```
//! use shared_rows::SharedRows;
//!
//! let mut values = [0, 1, 2, 3, 4, 5];
//! let rows = SharedRows::new(&mut values, 2);
//! let mut last = rows.write(2..3);
//! last[1] = rows.read(0..2)[3];
//! drop(last);
//! assert_eq!(*rows.read(0..3), [0, 1, 2, 3, 4, 3]);
//! ```

#![allow(unsafe_code, reason = "makes slices of rows, of which it counts who has them")]

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows of a word: each has a byte of it.
const ROWS: usize = 8;
/// The lowest bit of each byte.
const ONES: u64 = u64::MAX / 255;

/// An array, row by row.
pub struct SharedRows<'a, T> {
    first: *mut T,
    length: usize,
    pitch: usize,
    rows: usize,
    /// Of each row a byte: how many read it, or 255 if somebody writes it.
    words: Vec<AtomicU64>,
    values: PhantomData<&'a mut [T]>,
}

// SAFETY: what threads can reach of the array is what `read` and `write` give them, and no row is given to somebody who
// writes while anybody else has it.
unsafe impl<T: Send + Sync> Sync for SharedRows<'_, T> {}
// SAFETY: it stands for a mutable slice.
unsafe impl<T: Send> Send for SharedRows<'_, T> {}

impl<'a, T> SharedRows<'a, T> {
    /// An array with so many values from row to row. What is left behind the last whole row belongs to that.
    ///
    /// # Panics
    /// If it has not one row.
    pub fn new(values: &'a mut [T], pitch: usize) -> Self {
        let rows = values.len() / pitch;
        assert!(rows > 0, "an array without a row");
        let words = (0..rows.div_ceil(ROWS)).map(|_| AtomicU64::new(0)).collect();
        let (first, length) = (values.as_mut_ptr(), values.len());
        Self { first, length, pitch, rows, words, values: PhantomData }
    }

    /// Rows.
    pub fn count(&self) -> usize {
        self.rows
    }

    /// Where the values of some rows are.
    fn values(&self, rows: &Range<usize>) -> Range<usize> {
        assert!(rows.start <= rows.end && rows.end <= self.rows, "rows that there are not");
        let end = if rows.end == self.rows { self.length } else { rows.end * self.pitch };
        (rows.start * self.pitch).min(end)..end
    }

    /// Borrows rows to read them.
    ///
    /// # Panics
    /// If somebody writes one of them, 254 read it, or there are not so many.
    pub fn read(&self, rows: Range<usize>) -> Read<'_, T> {
        let values = self.values(&rows);
        let claimed = ClaimedRows::new(&self.words, rows, Claim::Read);
        // SAFETY: the values belong to the array, and nobody writes these rows as long as they are counted as read.
        let values =
            unsafe { std::slice::from_raw_parts(self.first.add(values.start), values.len()) };
        Read { values, _claimed: claimed }
    }

    /// Borrows rows to write them.
    ///
    /// # Panics
    /// If somebody has one of them, or there are not so many.
    pub fn write(&self, rows: Range<usize>) -> Write<'_, T> {
        let values = self.values(&rows);
        let claimed = ClaimedRows::new(&self.words, rows, Claim::Write);
        // SAFETY: the values belong to the array, and nobody else has these rows as long as they are marked as written.
        let values =
            unsafe { std::slice::from_raw_parts_mut(self.first.add(values.start), values.len()) };
        Write { values, _claimed: claimed }
    }
}

/// What rows are claimed for.
#[derive(Clone, Copy)]
enum Claim {
    Read,
    Write,
}

impl Claim {
    /// A word in which the rows with these bytes are claimed, or the bits of those that cannot be.
    fn take(self, word: u64, bytes: u64) -> Result<u64, u64> {
        match self {
            Self::Read => {
                // A byte of 254 or 255: its lower seven bits and 2 make 128 or more.
                let is_most = ((word & (ONES * 0x7F)) + ONES * 2) & word & (ONES * 0x80) & bytes;
                if is_most == 0 { Ok(word + (ONES & bytes)) } else { Err(is_most) }
            }
            Self::Write => {
                if word & bytes == 0 {
                    Ok(word | bytes)
                } else {
                    Err(word & bytes)
                }
            }
        }
    }

    /// Gives back the rows with these bytes.
    fn free(self, word: &AtomicU64, bytes: u64) {
        match self {
            Self::Read => word.fetch_sub(ONES & bytes, Ordering::Release),
            Self::Write => word.fetch_and(!bytes, Ordering::Release),
        };
    }
}

/// The words that some rows are in, by number, each with the bytes of these rows.
fn words(rows: Range<usize>) -> impl Iterator<Item = (usize, u64)> {
    let last = rows.end.div_ceil(ROWS);
    (rows.start / ROWS..last).map(move |word| {
        let [first, end] =
            [rows.start, rows.end].map(|row| row.clamp(word * ROWS, (word + 1) * ROWS));
        let count = end - first;
        let bytes = if count == ROWS { u64::MAX } else { (1 << (8 * count)) - 1 };
        (word, bytes << (8 * (first - word * ROWS)))
    })
}

/// Rows that somebody has, which are given back when this is dropped.
struct ClaimedRows<'a> {
    words: &'a [AtomicU64],
    rows: Range<usize>,
    claim: Claim,
}

impl<'a> ClaimedRows<'a> {
    fn new(all: &'a [AtomicU64], rows: Range<usize>, claim: Claim) -> Self {
        // Those that were claimed are given back if one cannot be.
        let mut claimed = Self { words: all, rows: rows.start..rows.start, claim };
        for (number, bytes) in words(rows.clone()) {
            let mut refused = 0;
            let taken = all[number].fetch_update(Ordering::Acquire, Ordering::Relaxed, |word| {
                claim.take(word, bytes).map_err(|bits| refused = bits).ok()
            });
            let row = number * ROWS + refused.trailing_zeros() as usize / 8;
            assert!(taken.is_ok(), "row {row} is in use");
            claimed.rows.end = rows.end.min((number + 1) * ROWS);
        }
        claimed
    }
}

impl Drop for ClaimedRows<'_> {
    fn drop(&mut self) {
        for (number, bytes) in words(self.rows.clone()) {
            self.claim.free(&self.words[number], bytes);
        }
    }
}

/// Rows that are read.
pub struct Read<'a, T> {
    values: &'a [T],
    _claimed: ClaimedRows<'a>,
}

impl<T> Deref for Read<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.values
    }
}

/// Rows that are written.
pub struct Write<'a, T> {
    values: &'a mut [T],
    _claimed: ClaimedRows<'a>,
}

impl<T> Deref for Write<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.values
    }
}

impl<T> DerefMut for Write<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.values
    }
}

/// The example of the page, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Page;

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn refused<R>(f: impl FnOnce() -> R) -> bool {
        catch_unwind(AssertUnwindSafe(f)).is_err()
    }

    #[test]
    fn a_row_is_written_by_one_alone() {
        let mut values = [0; 13];
        let rows = SharedRows::new(&mut values, 3);
        assert_eq!(rows.count(), 4);
        let first = rows.write(0..2);
        assert!(refused(|| rows.read(1..3)) && refused(|| rows.write(1..2)));
        // What was claimed before the refusal is free again.
        let other = rows.write(2..4);
        assert_eq!(other.len(), 7);
        drop(first);
        let read = rows.read(0..2);
        assert!(refused(|| rows.write(1..2)));
        assert_eq!(rows.read(1..2).len() + read.len(), 9);
        drop((read, other));
        rows.write(0..4).fill(1);
        assert!(refused(|| rows.read(4..5)));
        assert_eq!(values, [1; 13]);
    }

    #[test]
    fn rows_of_a_word_do_not_know_of_each_other() {
        let mut values = [0; 40];
        let rows = SharedRows::new(&mut values, 1);
        for (start, end) in (0..40).flat_map(|start| (start..=40).map(move |end| (start, end))) {
            let own = rows.write(start..end);
            let is_own = |row: &usize| (start..end).contains(row);
            assert!((0..40).all(|row| refused(|| rows.read(row..row + 1)) == is_own(&row)));
            let others: Vec<_> =
                (0..40).filter(|row| !is_own(row)).map(|row| rows.write(row..row + 1)).collect();
            drop((own, others));
            let own = rows.read(start..end);
            assert!((0..40).all(|row| refused(|| rows.write(row..row + 1)) == is_own(&row)));
            assert_eq!(rows.read(0..40).len(), 40);
            drop(own);
        }
        let mut all: Vec<_> = (0..254).map(|_| rows.read(3..11)).collect();
        assert!(refused(|| rows.read(10..12)) && !refused(|| rows.write(11..40)));
        all.pop();
        assert!(!refused(|| rows.read(10..12)) && refused(|| rows.write(7..8)));
        all.clear();
        assert!(!refused(|| rows.write(0..40)));
    }

    #[test]
    fn threads_take_rows_in_turns() {
        let mut values = [0u32; 4 * 16];
        let rows = SharedRows::new(&mut values, 16);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let rows = &rows;
                scope.spawn(move || (0..1000).for_each(|_| rows.write(thread..thread + 1)[3] += 1));
            }
        });
        assert!((0..4).all(|row| rows.read(row..row + 1)[3] == 1000));
    }
}
