// SPDX-License-Identifier: MIT OR Apache-2.0
//! One time step on CUDA cores: every dimension, stencil and element type.
//!
//! | module | kernels | for |
//! | --- | --- | --- |
//! | [`tile`] | weights in the launch's parameters, a few rows a thread | 1D, and 2D and 3D of few neighbours |
//! | [`stream`] | the same, sums in registers for many rows | 2D of radius 2 and 3, 3D of radius 1 |
//! | [`rows`] | a table of rows of weights | radius up to 8 on every axis |
//! | [`points`] | a table of neighbours, every boundary | any radius |
//!
//! The first three read zeros outside the grid, from the halo in memory ([`crate::layout`]); where
//! something else lies there, [`crate::rim`] computes the points beside it again.

// Indices, because iterators that are cut short keep arrays out of registers.
#![allow(clippy::needless_range_loop)]

pub mod points;
pub mod rows;
pub mod stream;
pub mod tile;

use crate::element::{Element, Real, load_words};
use cuda_std::{global, warp};

/// Warps of a block.
pub const WARPS: u32 = 8;

/// Threads of a block.
pub const THREADS: u32 = WARPS * warp::SIZE;

/// Words of a row that a thread has: 16 bytes, the widest load and store.
const WORDS: usize = 4;

/// Elements of some bytes in so many words.
#[inline(always)]
const fn elements(words: usize, bytes: u32) -> usize {
    words * 4 / bytes as usize
}

/// Columns of a warp, for elements of some bytes.
#[must_use]
pub const fn warp_columns(bytes: u32) -> u32 {
    warp::SIZE * elements(WORDS, bytes) as u32
}

/// Weights of a dense stencil.
const fn weights(dims: u32, radius: usize) -> usize {
    (2 * radius + 1).pow(dims)
}

/// Rows or planes that outputs side by side depend on, on an axis that a grid has.
const fn reach(outputs: usize, radius: usize, has_axis: bool) -> usize {
    if has_axis { outputs + 2 * radius } else { outputs }
}

/// The most weights that are parameters of a launch.
pub const MOST_WEIGHTS: usize = weights(2, 3);

/// Words that hold so many elements beside a thread's own: as many as one load has, or several of 16 bytes.
const fn side_words(radius: usize, bytes: u32) -> usize {
    match (radius * bytes as usize).div_ceil(4) {
        0 | 1 => 1,
        2 => 2,
        words => words.next_multiple_of(4),
    }
}

/// What a thread reads of a row: its own words and `SIDE` words on either side.
#[derive(Clone, Copy)]
struct Row<const SIDE: usize> {
    own: [u32; WORDS],
    sides: Sides<SIDE>,
}

/// The words on either side of a thread's own, which its neighbours load as theirs.
#[derive(Clone, Copy)]
struct Sides<const SIDE: usize> {
    left: [u32; SIDE],
    right: [u32; SIDE],
}

impl<const SIDE: usize> Sides<SIDE> {
    const ZERO: Self = Self { left: [0; SIDE], right: [0; SIDE] };

    /// # Safety
    /// What is beside the 16 bytes at `at` is in bounds, written and waited for; `at` is aligned to 16
    /// bytes.
    #[inline(always)]
    #[track_caller]
    unsafe fn load(at: *const u32) -> Self {
        // SAFETY: as the caller promises.
        unsafe {
            Self {
                left: load_words(at.wrapping_sub(SIDE)),
                right: load_words(at.wrapping_add(WORDS)),
            }
        }
    }
}

impl<const SIDE: usize> Row<SIDE> {
    /// # Safety
    /// `at` and what is beside it are in bounds, written and waited for; `at` is aligned to 16 bytes.
    #[inline(always)]
    #[track_caller]
    unsafe fn load(at: *const u32) -> Self {
        // SAFETY: as the caller promises.
        unsafe { Self { own: load_words(at), sides: Sides::load(at) } }
    }

    /// The value of an element, counted from the first word.
    ///
    /// # Safety
    /// Only in a kernel.
    #[inline(always)]
    unsafe fn element<E: Element>(&self, index: usize) -> E::Real {
        let (side, own) = (elements(SIDE, E::BYTES), elements(WORDS, E::BYTES));
        // SAFETY: in a kernel.
        unsafe {
            if index < side {
                E::element(&self.sides.left, index)
            } else if index < side + own {
                E::element(&self.own, index - side)
            } else {
                E::element(&self.sides.right, index - side - own)
            }
        }
    }
}

/// Adds a row's elements from `first` on, each times the weight.
///
/// # Safety
/// Only in a kernel.
#[inline(always)]
unsafe fn add<E: Element, const SIDE: usize, const VECTOR: usize>(
    sums: &mut [E::Real; VECTOR],
    row: &Row<SIDE>,
    first: usize,
    weight: E::Real,
) {
    for column in 0..VECTOR {
        // SAFETY: in a kernel.
        unsafe {
            let value = row.element::<E>(first + column);
            sums[column] = value.multiply_add(weight, sums[column]);
        }
    }
}

/// Stores a thread's sums, of which the first `columns` lie in the grid: what is beside it must stay
/// zero.
///
/// # Safety
/// `at` is aligned to 16 bytes, the columns are in bounds, and no other thread has them.
#[inline(always)]
#[track_caller]
unsafe fn store<E: Element, const VECTOR: usize>(
    at: *mut E::Stored,
    sums: &[E::Real; VECTOR],
    columns: i32,
) {
    // SAFETY: as the caller promises.
    unsafe {
        if columns >= VECTOR as i32 {
            let word = |index| E::word(sums, index);
            global::store_v4(at.cast(), [word(0), word(1), word(2), word(3)]);
        } else {
            for column in 0..VECTOR {
                if (column as i32) < columns {
                    E::store(at.wrapping_add(column), sums[column]);
                }
            }
        }
    }
}
