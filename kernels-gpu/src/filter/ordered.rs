// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sum in f64 whose terms are added in the order of a list, each product rounded by itself: what is cut to a whole number
//! has to have the bits of whoever adds in that order.

use super::numbers::{self, SumType};
use super::{InputArray, OUTSIDE, Part, RowLayout, THREADS, load_rows};
use crate::element::Real;
use crate::unroll::unroll;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::{global, kernel, shared, thread};

/// Outputs of a thread, one below the other.
const LINES: usize = 4;
/// Columns of a block, at most.
pub const COLUMNS: u32 = 64;
/// Rows of a block.
pub const ROWS: u32 = THREADS / COLUMNS * LINES as u32;

/// A product of a sum whose terms are added in order.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq)]
pub struct OrderedProduct {
    /// Its weight.
    pub weight: f64,
    /// What a second neighbour is multiplied by before it is added to the first: 1, -1, or 0 if there is none.
    pub sign: f64,
    /// Plane, row and column of the neighbour, from the first that is read.
    pub at: [u32; 3],
    /// Row and column of the second.
    pub other: [u32; 2],
    /// Nothing.
    pub padding: u32,
}

/// What a launch computes.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq)]
pub struct OrderedLaunch {
    /// The array.
    pub source: InputArray<f64>,
    /// Planes of an array by those that are read.
    pub planes: *const u32,
    /// The products, by planes.
    pub products: *const OrderedProduct,
    /// What sums are divided by.
    pub divisor: f64,
    /// How many products.
    pub count: u32,
    /// Planes of an array.
    pub nz: u32,
    /// Planes and rows that an output reads.
    pub spans: [u32; 2],
    /// Columns of a block, and those that an output reads. Whatever belongs together is kept side by side: `step` is 1.
    pub row: RowLayout,
}

impl OrderedLaunch {
    /// Blocks along x and along y, for each plane.
    #[inline(always)]
    #[must_use]
    pub const fn blocks(&self) -> [u32; 2] {
        [self.source.nx.div_ceil(self.row.tile), self.source.ny.div_ceil(ROWS)]
    }

    #[inline(always)]
    const fn loaded(&self) -> u32 {
        ROWS + self.spans[1] - 1
    }

    /// Dynamic shared memory.
    #[inline(always)]
    #[must_use]
    pub const fn shared_bytes(&self) -> u32 {
        self.loaded() * self.row.pitch::<false>(8)
    }

    /// Planes, rows and columns that the tables have.
    #[must_use]
    pub const fn tables(&self) -> [u32; 3] {
        let [across, down] = self.blocks();
        [
            self.nz + self.spans[0] - 1,
            down * ROWS + self.spans[1] - 1,
            across * self.row.tile + self.row.span,
        ]
    }
}

/// A sum in f64 in a given order.
///
/// # Safety
/// Launch with [`THREADS`] threads, for each plane of each array [`OrderedLaunch::blocks`] blocks, along x first, with
/// [`OrderedLaunch::shared_bytes`] of dynamic shared memory. A row has at most [`COLUMNS`] outputs of a block.
/// `input` and `output` are different arrays of the extents and types that `launch` has, aligned to their values. Its
/// tables have as many entries as [`OrderedLaunch::tables`] says; each is [`OUTSIDE`] or one of the array. Products
/// lie within what is read.
#[kernel(registers = 96)]
pub unsafe fn filter_ordered(input: *const u8, output: *mut u8, launch: OrderedLaunch) {
    let (source, row) = (&launch.source, &launch.row);
    let [across, down] = launch.blocks();
    // SAFETY: the launch is as this function's contract says.
    unsafe {
        let block = thread::block_idx_x();
        let (x, rest) = (block % across * row.tile, block / across);
        let (y, plane) = (rest % down * ROWS, rest / down);
        let (z, array) = (plane % launch.nz, plane / launch.nz);
        let rows = shared::dynamic();
        let pitch = row.pitch::<false>(8);
        let thread = thread::thread_idx_x();
        let (column, own) = (thread % COLUMNS, thread / COLUMNS * LINES as u32);
        let points = source.ny as usize * source.nx as usize;
        let bytes = source.kinds.map(|kind| points * kind.bytes as usize);
        let mut sums = [0.0; LINES];
        let mut next = 0;
        let mut dz = 0;
        while dz < launch.spans[0] {
            let from = global::load_constant(launch.planes.wrapping_add((z + dz) as usize));
            let is_outside = from == OUTSIDE;
            let from = if is_outside { 0 } else { from as usize };
            let from = (array as usize * launch.nz as usize + from) * bytes[0];
            if !is_outside {
                let part =
                    Part::<f64, false> { source, input: input.wrapping_add(from), first: [y, x] };
                load_rows(&part, row, 0, launch.loaded(), |at| rows.offset(at * pitch));
            }
            thread::sync_threads();
            while next < launch.count {
                let words = launch.products.wrapping_add(next as usize).cast::<u32>();
                let word = |index: usize| global::load_constant(words.wrapping_add(index));
                if word(4) != dz {
                    break;
                }
                let number =
                    |at: usize| f64::from_bits(u64::from(word(at + 1)) << 32 | u64::from(word(at)));
                let (weight, sign) = (number(0), number(2));
                let value = |line: usize, at: u32, beside: u32| {
                    if is_outside {
                        return source.outside;
                    }
                    let from = rows.offset((own + line as u32 + at) * pitch);
                    f64::load_shared(from.offset(row.offset::<false>(column + beside, 8)))
                };
                let term = |line: usize| {
                    let mut factor = value(line, word(5), word(6));
                    if sign != 0.0 {
                        // A product with 1 or -1 is exact.
                        factor += value(line, word(7), word(8)).rounded_product(sign);
                    }
                    factor.rounded_product(weight)
                };
                if column < row.tile {
                    unroll!(line < LINES => sums[line] += term(line));
                }
                next += 1;
            }
            thread::sync_threads();
            dz += 1;
        }
        let (output, kind) = (output.wrapping_add(plane as usize * bytes[1]), source.kinds[1]);
        let store = |line: usize, sum: f64| {
            let y = y + own + line as u32;
            if column < row.tile && x + column < source.nx && y < source.ny {
                let sum = if launch.divisor == 1.0 { sum } else { sum / launch.divisor };
                let at = y as usize * source.nx as usize + (x + column) as usize;
                numbers::store(kind, output, at, sum.cut(kind.number));
            }
        };
        unroll!(line < LINES => store(line, sums[line]));
    }
}

/// The names of all kernels of this module.
#[cfg(not(target_arch = "nvptx64"))]
pub const KERNELS: &[&str] = &["filter_ordered"];

/// The kernel.
#[cfg(not(target_arch = "nvptx64"))]
pub const ORDERED: Entry<(*const u8, *mut u8, OrderedLaunch)> = Entry::of::<filter_ordered>();
