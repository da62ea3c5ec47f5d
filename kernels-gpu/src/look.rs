// SPDX-License-Identifier: MIT OR Apache-2.0
//! A look at a grid between two launches: whether all values are finite, and a copy of some of its points, packed, so
//! that they leave the device while it goes on.

use cuda_std::{global, kernel, thread};

/// Threads of a block.
pub const THREADS: u32 = 256;
/// Bytes that a thread of [`not_finite()`] loads at once.
pub const VECTOR: u32 = 16;

/// Bits of a word that are all set in values which are not finite: one set for each value that the word holds, or
/// none.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exponents {
    /// Of words at even places.
    pub even: [u32; 2],
    /// Of those at odd places.
    pub odd: [u32; 2],
}

impl Exponents {
    /// The exponent bits of an element type.
    #[must_use]
    pub const fn of(bytes: usize, is_bf16: bool) -> Self {
        let (even, odd) = match (bytes, is_bf16) {
            (2, true) => ([0x7f80, 0x7f80_0000], [0x7f80, 0x7f80_0000]),
            (2, false) => ([0x7c00, 0x7c00_0000], [0x7c00, 0x7c00_0000]),
            (4, _) => ([0x7f80_0000, 0], [0x7f80_0000, 0]),
            // The lower word first.
            _ => ([0, 0], [0x7ff0_0000, 0]),
        };
        Self { even, odd }
    }
}

#[inline(always)]
const fn has(word: u32, [one, other]: [u32; 2]) -> bool {
    (one != 0) & (word & one == one) | (other != 0) & (word & other == other)
}

/// Counts the threads that see a value which is not finite, in `vectors` times [`VECTOR`] bytes from `from` on.
///
/// # Safety
/// Launch with [`THREADS`] threads and any number of blocks. The bytes are written, and aligned to a vector; `count` is
/// 0, and nothing else touches it.
#[kernel]
pub unsafe fn not_finite(from: *const u32, vectors: u64, exponents: Exponents, count: *mut u32) {
    // SAFETY: reads special registers; threads load vectors below their number.
    let seen = unsafe {
        let threads = thread::grid_dim_x() as u64 * THREADS as u64;
        let mut at = thread::block_idx_x() as u64 * THREADS as u64 + thread::thread_idx_x() as u64;
        let mut seen = false;
        while at < vectors {
            let [a, b, c, d] = global::load_v4(from.wrapping_add(at as usize * 4));
            let Exponents { even, odd } = exponents;
            seen |= has(a, even) | has(b, odd) | has(c, even) | has(d, odd);
            at += threads;
        }
        seen
    };
    if seen {
        // SAFETY: as this function's contract says.
        unsafe { global::add_release(count, 1) };
    }
}

/// Points of an array: the first lies where a launch says, the others so many values away from it along each axis.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct StridedPoints {
    /// Values from a point to the next along (z, y, x).
    pub strides: [u64; 3],
    /// Points along (z, y, x).
    pub extents: [u32; 3],
    /// Units of a value: 16 bits, or 32.
    pub units: u32,
}

impl StridedPoints {
    /// Blocks of a launch: those of a row, then the next row.
    #[must_use]
    pub const fn blocks(&self) -> u64 {
        self.tiles() as u64 * self.extents[1] as u64 * self.extents[0] as u64
    }

    /// Blocks of a row.
    #[inline(always)]
    const fn tiles(&self) -> u32 {
        (self.extents[2] * self.units).div_ceil(THREADS)
    }

    /// The units of this thread: whether there is one, its place in the array and in the packed copy.
    ///
    /// # Safety
    /// Only in a kernel.
    #[inline(always)]
    #[track_caller]
    unsafe fn mine(&self) -> (bool, usize, usize) {
        let (block, thread) = (thread::block_idx_x(), thread::thread_idx_x());
        let (tile, row) = (block % self.tiles(), block / self.tiles());
        let [_, rows, columns] = self.extents;
        let (z, y) = (row / rows, row % rows);
        let unit = tile * THREADS + thread;
        let (x, part) = (unit / self.units, unit % self.units);
        let [along_z, along_y, along_x] = self.strides;
        let value = z as u64 * along_z + y as u64 * along_y + x as u64 * along_x;
        let from = value * self.units as u64 + part as u64;
        let to = row as u64 * columns as u64 * self.units as u64 + unit as u64;
        (x < columns, from as usize, to as usize)
    }
}

/// Packs points of values of 16 bits.
///
/// # Safety
/// Launch with [`THREADS`] threads and as many blocks as [`StridedPoints::blocks`] says, with one unit for a value. `from` is
/// the first point, all of them are written; `to` has room for them, and nothing else touches it.
#[kernel]
pub unsafe fn pack_16(from: *const u16, points: StridedPoints, to: *mut u16) {
    // SAFETY: as this function's contract says.
    unsafe {
        let (is_one, source, target) = points.mine();
        if is_one {
            global::store_u16(to.wrapping_add(target), global::load_u16(from.wrapping_add(source)));
        }
    }
}

/// Packs points of values of so many times 32 bits as [`StridedPoints::units`] says.
///
/// # Safety
/// As [`pack_16()`].
#[kernel]
pub unsafe fn pack_32(from: *const u32, points: StridedPoints, to: *mut u32) {
    // SAFETY: as this function's contract says.
    unsafe {
        let (is_one, source, target) = points.mine();
        if is_one {
            global::store(to.wrapping_add(target), global::load(from.wrapping_add(source)));
        }
    }
}

/// The names of all kernels of this module.
#[cfg(not(target_arch = "nvptx64"))]
pub const KERNELS: [&str; 3] = ["not_finite", "pack_16", "pack_32"];
