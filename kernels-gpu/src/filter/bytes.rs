// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sum of bytes over a small box, into bytes: four products in one instruction. The weights are whole numbers of eight bits, and
//! what they are divided by is a power of two, so that sums are exact.
//!
//! A thread has four outputs side by side of some rows, which are one word of each. It loads the words of a row that these read, and
//! shifts them so that the first byte is what the first weight of the first output takes.

use super::OUTSIDE;
use crate::unroll::unroll;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::{global, kernel, math, thread, warp};

/// Threads of a block: each warp has rows of its own.
pub const BLOCK: u32 = 256;
/// Outputs of a thread side by side.
const BYTES: u32 = 4;
/// Rows of a thread.
const LINES: usize = 8;
/// Columns of a block.
pub const COLUMNS: u32 = BYTES * warp::SIZE;
/// Rows of a block.
pub const ROWS: u32 = BLOCK / warp::SIZE * LINES as u32;
/// Weights along x, at most.
pub const SPAN: u32 = 8;
/// Words of weights of a row, at most.
const WORDS: usize = (SPAN / BYTES) as usize;

/// What a launch computes.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq)]
pub struct BytesLaunch {
    /// Columns of the array by those that are read: the first is that of the first weight of the first output.
    pub columns: *const u32,
    /// Rows of the array by those that are read.
    pub rows: *const u32,
    /// Weights, four in a word, [`BytesLaunch::words`] for each row.
    pub weights: *const u32,
    /// The byte of what has no place in the array.
    pub outside: u32,
    /// Rows of a plane.
    pub ny: u32,
    /// Columns of a row, a multiple of four.
    pub nx: u32,
    /// Row and column of the first weight of the first output.
    pub first: [i32; 2],
    /// Weights along y.
    pub span: u32,
    /// Words of the weights of a row: one or two.
    pub words: u32,
    /// Sums are divided by two to this.
    pub shift: u32,
    /// That power of two, less one; 0 where no sum is below 0.
    pub below: i32,
    /// Whether both arrays begin at words.
    pub is_aligned: u32,
}

impl BytesLaunch {
    /// Blocks along x and along y, for each plane.
    #[inline(always)]
    #[must_use]
    pub const fn blocks(&self) -> [u32; 2] {
        [self.nx.div_ceil(COLUMNS), self.ny.div_ceil(ROWS)]
    }

    /// Rows and columns that the tables have.
    #[must_use]
    pub const fn tables(&self) -> [u32; 2] {
        let [across, down] = self.blocks();
        [down * ROWS + self.span - 1, across * COLUMNS + (self.words + 2) * BYTES]
    }
}

/// What a thread reads of.
#[derive(Clone, Copy)]
struct Part<'a> {
    launch: &'a BytesLaunch,
    plane: *const u8,
    /// The first column that its first output reads, as an entry of the table.
    column: u32,
    /// The first row, as an entry of the table.
    row: u32,
    /// That column of the array, from the word on that has it, and the bytes of that word before it.
    first: i32,
    before: u32,
}

impl Part<'_> {
    /// Where a row of the array is that is the first one that is read, or the `number`th after it, and [`OUTSIDE`].
    #[inline(always)]
    #[track_caller]
    unsafe fn row(&self, number: u32) -> u32 {
        // SAFETY: the table has it.
        unsafe {
            global::load_constant(self.launch.rows.wrapping_add((self.row + number) as usize))
        }
    }

    /// A word that is read of a row, wherever its bytes lie.
    #[inline(always)]
    #[track_caller]
    unsafe fn gather(&self, row: u32, number: u32) -> u32 {
        if row == OUTSIDE {
            return self.launch.outside * 0x0101_0101;
        }
        let row = self.plane.wrapping_add(row as usize * self.launch.nx as usize);
        let (mut word, mut byte) = (0, 0);
        while byte < BYTES {
            let at = number * BYTES + byte;
            if at >= self.before {
                let entry = (self.column + at - self.before) as usize;
                // SAFETY: the table leads to places of the array.
                let value = unsafe {
                    match global::load_constant(self.launch.columns.wrapping_add(entry)) {
                        OUTSIDE => self.launch.outside,
                        column => u32::from(global::load_u8(row.wrapping_add(column as usize))),
                    }
                };
                word |= value << (8 * byte);
            }
            byte += 1;
        }
        word
    }

    /// The words that the outputs read of a row, from the first column on. Of an `INSIDE` part they are those of the array.
    #[inline(always)]
    #[track_caller]
    unsafe fn words<const COUNT: usize, const INSIDE: bool>(
        &self,
        number: u32,
    ) -> [u32; WORDS + 1] {
        let mut words = [0; WORDS + 2];
        // SAFETY: as the caller promises.
        unsafe {
            if INSIDE {
                let row = (self.row + number) as i32 + self.launch.first[0];
                let at = row as usize * self.launch.nx as usize + self.first as usize;
                let from = self.plane.wrapping_add(at).cast::<u32>();
                unroll!(word < 4 => if word < COUNT + 2 {
                    words[word] = global::load(from.wrapping_add(word));
                });
            } else {
                let row = self.row(number);
                unroll!(word < 4 => if word < COUNT + 2 {
                    words[word] = self.gather(row, word as u32);
                });
            }
        }
        let bit = 8 * self.before;
        [0, 1, 2].map(|word| joined(words[word], words[word + 1], bit))
    }

    /// The sums of its outputs.
    #[inline(always)]
    #[track_caller]
    unsafe fn sums<const COUNT: usize, const INSIDE: bool>(
        &self,
    ) -> [[i32; BYTES as usize]; LINES] {
        let mut sums = [[0; BYTES as usize]; LINES];
        let weights = |dy: usize, word: usize| {
            let at = self.launch.weights.wrapping_add(dy * COUNT + word);
            // SAFETY: there are as many weights.
            unsafe { global::load_constant(at) }
        };
        let mut dy = 0;
        // SAFETY: as the caller promises.
        unsafe {
            while dy < self.launch.span {
                let mut own = [0; WORDS];
                unroll!(word < COUNT => own[word] = weights(dy as usize, word));
                unroll!(line < LINES => {
                    let words = self.words::<COUNT, INSIDE>(line as u32 + dy);
                    add::<COUNT>(&mut sums[line], words, own);
                });
                dy += 1;
            }
        }
        sums
    }
}

/// A word of two, from a bit on.
#[inline(always)]
const fn joined(low: u32, high: u32, bit: u32) -> u32 {
    (((high as u64) << 32 | low as u64) >> bit) as u32
}

/// Adds the products of the words of a row with weights to four sums.
#[inline(always)]
unsafe fn add<const COUNT: usize>(
    sums: &mut [i32; BYTES as usize],
    words: [u32; WORDS + 1],
    weights: [u32; WORDS],
) {
    // SAFETY: in a kernel, as the caller promises.
    unroll!(word < COUNT => unroll!(byte < 4 => unsafe {
        let window = joined(words[word], words[word + 1], 8 * byte as u32);
        sums[byte] = math::add_byte_products(window, weights[word], sums[byte]);
    }));
}

#[inline(always)]
#[track_caller]
unsafe fn sum<const COUNT: usize>(input: *const u8, output: *mut u8, launch: &BytesLaunch) {
    let [across, down] = launch.blocks();
    // SAFETY: the launch is as the kernel's contract says.
    unsafe {
        let (block, thread) = (thread::block_idx_x(), thread::thread_idx_x());
        let (x, rest) = (block % across * COLUMNS, block / across);
        let (y, plane) = (rest % down * ROWS, rest / down);
        let x = x + thread % warp::SIZE * BYTES;
        let y = y + thread / warp::SIZE * LINES as u32;
        if x >= launch.nx || y >= launch.ny {
            return;
        }
        let points = launch.ny as usize * launch.nx as usize;
        let column = x as i32 + launch.first[1];
        let before = (column & 3) as u32;
        let first = column - before as i32;
        let row = y as i32 + launch.first[0];
        let plane = plane as usize * points;
        let part =
            Part { launch, plane: input.wrapping_add(plane), column: x, row: y, first, before };
        let is_inside = launch.is_aligned != 0
            && row >= 0
            && row + (LINES as u32 + launch.span) as i32 <= launch.ny as i32
            && first >= 0
            && first + (COUNT as i32 + 2) * BYTES as i32 <= launch.nx as i32;
        let sums = if is_inside { part.sums::<COUNT, true>() } else { part.sums::<COUNT, false>() };
        let output = output.wrapping_add(plane);
        unroll!(line < LINES => store(launch, output, (y + line as u32, x), sums[line]));
    }
}

/// Stores the outputs of a row.
#[inline(always)]
#[track_caller]
unsafe fn store(
    launch: &BytesLaunch,
    output: *mut u8,
    (y, x): (u32, u32),
    sums: [i32; BYTES as usize],
) {
    if y >= launch.ny {
        return;
    }
    let bytes = sums.map(|sum| {
        // Digits behind the point are cut off: of what is below 0 by a number that has the shift round up.
        let sum = if launch.below == 0 { sum } else { sum + (sum >> 31 & launch.below) };
        sum as u32 >> launch.shift
    });
    let to = output.wrapping_add(y as usize * launch.nx as usize + x as usize);
    // SAFETY: as the caller promises: outputs that no other thread has.
    unsafe {
        if launch.is_aligned != 0 {
            // Of each its lowest byte.
            let pair = |at: usize| math::permute(bytes[at], bytes[at + 1], 0x0040);
            global::store(to.cast(), math::permute(pair(0), pair(2), 0x5410));
        } else {
            unroll!(byte < 4 => global::store_u8(to.wrapping_add(byte), bytes[byte] as u8));
        }
    }
}

/// A sum of bytes over a small box.
///
/// # Safety
/// Launch with [`BLOCK`] threads, for each plane [`BytesLaunch::blocks`] blocks, along x first. `input` and `output` are different arrays of planes of the
/// extents that `launch` has, which begin at words if it says so; its tables have as many entries as [`BytesLaunch::tables`] says, of which each
/// is [`OUTSIDE`] or one of the array, and there are as many weights.
#[kernel(registers = 96)]
pub unsafe fn filter_bytes(input: *const u8, output: *mut u8, launch: BytesLaunch) {
    // SAFETY: the launch is as this function's contract says.
    unsafe {
        if launch.words == 1 {
            sum::<1>(input, output, &launch);
        } else {
            sum::<2>(input, output, &launch);
        }
    }
}

/// The names of all kernels of this module.
#[cfg(not(target_arch = "nvptx64"))]
pub const KERNELS: &[&str] = &["filter_bytes"];

/// The kernel.
#[cfg(not(target_arch = "nvptx64"))]
pub const SUM: Entry<(*const u8, *mut u8, BytesLaunch)> = Entry::of::<filter_bytes>();
