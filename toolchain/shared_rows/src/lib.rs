// SPDX-License-Identifier: MIT OR Apache-2.0
//! An array whose rows threads borrow at run time: as a `RefCell` does for a value, row by row, and for several threads.
//!
//! Threads that take several time steps write some rows of an array while others read rows of it, and which these are
//! changes from step to step. Each row knows whether it is read or written; a borrow that would let a row be written while
//! somebody else has it panics. It costs one atomic operation for each row.
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
use std::sync::atomic::{AtomicI32, Ordering};

/// Written by somebody.
const WRITTEN: i32 = -1;

/// An array, row by row.
pub struct SharedRows<'a, T> {
    first: *mut T,
    length: usize,
    pitch: usize,
    /// Of each row how many read it, or [`WRITTEN`].
    rows: Vec<AtomicI32>,
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
        let rows = (0..rows).map(|_| AtomicI32::new(0)).collect();
        let (first, length) = (values.as_mut_ptr(), values.len());
        Self { first, length, pitch, rows, values: PhantomData }
    }

    /// Rows.
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// Where the values of some rows are.
    fn values(&self, rows: &Range<usize>) -> Range<usize> {
        assert!(rows.start <= rows.end && rows.end <= self.rows.len(), "rows that there are not");
        let end = if rows.end == self.rows.len() { self.length } else { rows.end * self.pitch };
        (rows.start * self.pitch).min(end)..end
    }

    /// Borrows rows to read them.
    ///
    /// # Panics
    /// If somebody writes one of them, or there are not so many.
    pub fn read(&self, rows: Range<usize>) -> Read<'_, T> {
        let values = self.values(&rows);
        // Those that were claimed are given back if one cannot be.
        let mut claimed = ClaimedRows { rows: &self.rows[rows.start..rows.start], free: read };
        for (number, row) in self.rows[rows.clone()].iter().enumerate() {
            let readers = row.fetch_update(Ordering::Acquire, Ordering::Relaxed, |readers| {
                (readers != WRITTEN).then(|| readers + 1)
            });
            assert!(readers.is_ok(), "row {} is written", rows.start + number);
            claimed.rows = &self.rows[rows.start..=rows.start + number];
        }
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
        let mut claimed = ClaimedRows { rows: &self.rows[rows.start..rows.start], free: written };
        for (number, row) in self.rows[rows.clone()].iter().enumerate() {
            let free = row.compare_exchange(0, WRITTEN, Ordering::Acquire, Ordering::Relaxed);
            assert!(free.is_ok(), "row {} is in use", rows.start + number);
            claimed.rows = &self.rows[rows.start..=rows.start + number];
        }
        // SAFETY: the values belong to the array, and nobody else has these rows as long as they are marked as written.
        let values =
            unsafe { std::slice::from_raw_parts_mut(self.first.add(values.start), values.len()) };
        Write { values, _claimed: claimed }
    }
}

fn read(row: &AtomicI32) {
    row.fetch_sub(1, Ordering::Release);
}

fn written(row: &AtomicI32) {
    row.store(0, Ordering::Release);
}

/// Rows that somebody has, which are given back when this is dropped.
struct ClaimedRows<'a> {
    rows: &'a [AtomicI32],
    free: fn(&AtomicI32),
}

impl Drop for ClaimedRows<'_> {
    fn drop(&mut self) {
        self.rows.iter().for_each(self.free);
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
