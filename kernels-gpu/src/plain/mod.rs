// SPDX-License-Identifier: MIT OR Apache-2.0
//! One time step on CUDA cores: every dimension, stencil and element type.
//!
//! | module | kernels | for |
//! | --- | --- | --- |
//! | [`march`] | weights in the launch's parameters, sums in registers | dense stencils of small radius |
//! | [`rows`] | a table of rows of weights | radius up to 8 on every axis |
//! | [`points`] | a table of neighbours, every boundary | any radius |
//!
//! The first two read zeros outside the grid, from the frame in memory ([`crate::layout`]); for other
//! boundaries [`crate::frame`] computes the points near them again. A thread has 16 bytes of a row,
//! or 32 of f64: these, the elements left and the elements right of them are a load each.

pub mod march;
pub mod points;
pub mod rows;

use crate::element::{Element, load_words, store_words};
use cuda_std::warp;

/// Warps of a block.
pub const WARPS: u32 = 8;

/// Threads of a block.
pub const THREADS: u32 = WARPS * warp::SIZE;

/// Elements of a row that a thread has: `words` words of elements of some bytes.
#[must_use]
pub const fn vector(words: usize, bytes: u32) -> usize {
    words * 4 / bytes as usize
}

/// Words that a thread has, for elements of some bytes.
#[must_use]
pub const fn words(bytes: u32) -> usize {
    if bytes == 8 { 8 } else { 4 }
}

/// Columns of a warp.
#[must_use]
pub const fn warp_columns(bytes: u32) -> u32 {
    warp::SIZE * vector(words(bytes), bytes) as u32
}

/// What a thread reads of a row: `WORDS` words of elements of its own and `SIDE` words on either side.
#[derive(Clone, Copy)]
struct Row<const WORDS: usize, const SIDE: usize> {
    left: [u32; SIDE],
    own: [u32; WORDS],
    right: [u32; SIDE],
}

impl<const WORDS: usize, const SIDE: usize> Row<WORDS, SIDE> {
    const ZERO: Self = Self { left: [0; SIDE], own: [0; WORDS], right: [0; SIDE] };

    /// # Safety
    /// `at` and what is beside it are in bounds, written and waited for; `at` is aligned to `WORDS`
    /// words, at most 4.
    #[inline(always)]
    #[track_caller]
    unsafe fn load(at: *const u32) -> Self {
        // SAFETY: as the caller promises.
        unsafe {
            Self {
                left: load_words(at.wrapping_sub(SIDE)),
                own: load_words(at),
                right: load_words(at.wrapping_add(WORDS)),
            }
        }
    }

    /// The value of an element, counted from the first word.
    ///
    /// # Safety
    /// Only in a kernel.
    #[inline(always)]
    unsafe fn element<E: Element>(&self, index: usize) -> E::Real {
        let (side, own) = (vector(SIDE, E::BYTES), vector(WORDS, E::BYTES));
        // SAFETY: in a kernel.
        unsafe {
            if index < side {
                E::element(&self.left, index)
            } else if index < side + own {
                E::element(&self.own, index - side)
            } else {
                E::element(&self.right, index - side - own)
            }
        }
    }
}

/// Stores the sums of `WORDS` words of elements, of which the first `columns` lie in the grid: those
/// beside it must stay zero.
///
/// # Safety
/// `at` is aligned to `WORDS` words, at most 4, the columns are in bounds, and no other thread has them.
#[inline(always)]
#[track_caller]
unsafe fn store<E: Element, const WORDS: usize, const N: usize>(
    at: *mut E::Stored,
    sums: &[E::Real; N],
    columns: i32,
) {
    // SAFETY: as the caller promises.
    unsafe {
        if columns >= N as i32 {
            let mut words = [0; WORDS];
            for word in 0..WORDS {
                words[word] = E::word(sums, word);
            }
            store_words(at.cast(), words);
        } else {
            for column in 0..N {
                if (column as i32) < columns {
                    E::store(at.wrapping_add(column), sums[column]);
                }
            }
        }
    }
}
