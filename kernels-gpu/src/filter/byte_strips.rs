// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sum of bytes over a box of up to 5 × 5 points, into bytes: four products in one instruction. The weights are whole numbers of eight
//! bits, and what they are divided by is a power of two, so that sums are exact.
//!
//! A thread goes down the rows of a strip, with outputs side by side: it loads the words of each row once, with one word to either
//! side, and adds them to the sums of all rows of outputs that read them.

use super::{OUTSIDE, row_place};
use crate::unroll::unroll;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::{global, kernel, math, thread};

/// Threads of a block.
pub const BLOCK: u32 = 64;
/// Bytes of a word.
const BYTES: u32 = 4;
/// The first column that tables have: a word before the first output.
pub const BEFORE: i32 = -4;
/// Words of a row that a thread reads, at most: those of its outputs, and one to either side.
const WORDS: usize = 6;
/// Rows that are loaded ahead.
const AHEAD: usize = 3;
/// Outputs of a thread, at most.
const MOST: usize = 16;

/// What a launch computes.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq)]
pub struct ByteStripsLaunch {
    /// Columns of the array by those that are read, from [`BEFORE`] on.
    pub columns: *const u32,
    /// Rows of the array by those that are read.
    pub rows: *const u32,
    /// The byte of what has no place in the array.
    pub outside: u32,
    /// Rows of a plane.
    pub ny: u32,
    /// Columns of a row, a multiple of four.
    pub nx: u32,
    /// Row of the first weight of the first output.
    pub first: i32,
    /// Weights along y.
    pub span: u32,
    /// Rows of a strip.
    pub height: u32,
    /// Sums are divided by two to this.
    pub shift: u32,
    /// That power of two, less one; 0 where no sum is below 0.
    pub below: i32,
    /// What both arrays, and rows in them, begin at multiples of: 1, 4 or 16 bytes.
    pub aligned: u32,
    /// Weights of the last row of the box, four in a word, then those of the row before it, and so on.
    pub weights: [u32; 10],
}

/// What kernels differ in: weights along x and y at most, and words of weights of a row and of outputs of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteSumShape {
    /// Weights along x and y, at most.
    pub span: usize,
    /// Words of the weights of a row.
    pub words: usize,
    /// Words of the outputs of a thread.
    pub outputs: usize,
    /// Registers of a thread.
    pub registers: u32,
}

impl ByteSumShape {
    /// Up to 3 × 3 weights.
    pub const THREE: Self = Self { span: 3, words: 1, outputs: 4, registers: 104 };
    /// Up to 5 × 5 weights.
    pub const FIVE: Self = Self { span: 5, words: 2, outputs: 2, registers: 80 };

    /// Columns of a block.
    #[inline(always)]
    #[must_use]
    pub const fn columns(self) -> u32 {
        BLOCK * self.outputs as u32 * BYTES
    }

    /// The column of the first weight of a word, by that of the output.
    #[must_use]
    pub const fn first(self) -> i32 {
        -(self.span as i32 / 2)
    }
}

impl ByteStripsLaunch {
    /// Blocks along x and along y, for each plane.
    #[inline(always)]
    #[must_use]
    pub const fn blocks(&self, shape: ByteSumShape) -> [u32; 2] {
        [self.nx.div_ceil(shape.columns()), self.ny.div_ceil(self.height)]
    }

    /// Rows and columns that the tables have.
    #[must_use]
    pub const fn tables(&self, shape: ByteSumShape) -> [u32; 2] {
        let [across, down] = self.blocks(shape);
        [down * self.height + self.span + AHEAD as u32, across * shape.columns() + 2 * BYTES]
    }
}

/// What a thread reads of a plane, row after row, and where its outputs are.
struct Part<'a> {
    launch: &'a ByteStripsLaunch,
    input: *const u8,
    output: *mut u8,
    /// The next row, as an entry of the table.
    row: u32,
    /// The column of its first output.
    x: u32,
    /// Whether its words are read together.
    is_whole: bool,
    /// The first output's place in the next row, if all rows of the strip are in the array.
    next: *const u8,
}

impl Part<'_> {
    /// The words of the next row that the outputs read; where all that a block reads is `INSIDE` the array, nothing is asked for.
    #[inline(always)]
    #[track_caller]
    unsafe fn words<const OUTPUTS: usize, const INSIDE: bool>(&mut self) -> [u32; WORDS] {
        let mut words = [self.launch.outside * 0x0101_0101; WORDS];
        // SAFETY: the tables lead to places of the array.
        unsafe {
            if INSIDE {
                load::<OUTPUTS>(self.next, &mut words);
                self.next = self.next.wrapping_add(self.launch.nx as usize);
                return words;
            }
            let row = row_place(self.launch.rows, self.row, self.launch.first, self.launch.ny);
            self.row += 1;
            if row == OUTSIDE {
                return words;
            }
            let row = self.input.wrapping_add(row as usize * self.launch.nx as usize);
            if self.is_whole {
                load::<OUTPUTS>(row.wrapping_add(self.x as usize), &mut words);
            } else {
                unroll!(word < OUTPUTS + 2 => words[word] = self.word(row, word as u32));
            }
        }
        words
    }

    /// A word of a row, wherever its bytes lie.
    #[inline(always)]
    #[track_caller]
    unsafe fn word(&self, row: *const u8, number: u32) -> u32 {
        let entry = self.x + number * BYTES;
        let column = entry.wrapping_add_signed(BEFORE);
        // SAFETY: as the caller promises.
        unsafe {
            // A column before the first one is a large number.
            if self.launch.aligned > 1 && column < self.launch.nx {
                return global::load(row.wrapping_add(column as usize).cast());
            }
            let (mut word, mut byte) = (0, 0);
            while byte < BYTES {
                let entry = (entry + byte) as usize;
                let value = match global::load_constant(self.launch.columns.wrapping_add(entry)) {
                    OUTSIDE => self.launch.outside,
                    column => u32::from(global::load_u8(row.wrapping_add(column as usize))),
                };
                word |= value << (8 * byte);
                byte += 1;
            }
            word
        }
    }

    /// Stores the outputs of a row.
    #[inline(always)]
    #[track_caller]
    unsafe fn store<const OUTPUTS: usize>(&self, y: u32, mut sums: [i32; MOST]) {
        let launch = self.launch;
        // Of each output the byte that begins at this bit.
        let mut from = launch.shift;
        if launch.below != 0 || !launch.shift.is_multiple_of(8) {
            // Digits behind the point are cut off: of what is below 0 by a number that has the shift round up.
            let cut = |sum: i32| (sum + (sum >> 31 & launch.below)) >> launch.shift;
            unroll!(output < 16 => if output < 4 * OUTPUTS { sums[output] = cut(sums[output]) });
            from = 0;
        }
        let byte = from / 8;
        let selector = (byte + 4) << 4 | byte;
        let at = y as usize * launch.nx as usize + self.x as usize;
        let to = self.output.wrapping_add(at);
        // SAFETY: as the caller promises: outputs that no other thread has.
        unsafe {
            let pair = |at: usize| math::permute(sums[at] as u32, sums[at + 1] as u32, selector);
            let mut words = [0; 4];
            unroll!(word < OUTPUTS => {
                words[word] = math::permute(pair(4 * word), pair(4 * word + 2), 0x5410)
            });
            if launch.aligned == 16 {
                if OUTPUTS == 4 {
                    global::store_v4(to.cast(), words);
                } else {
                    global::store_v2(to.cast(), [words[0], words[1]]);
                }
            } else {
                unroll!(word < OUTPUTS => self.store_word(to, word as u32, words[word]));
            }
        }
    }

    /// Stores a word of outputs, if the array has it.
    #[inline(always)]
    #[track_caller]
    unsafe fn store_word(&self, to: *mut u8, number: u32, word: u32) {
        if self.x + number * BYTES >= self.launch.nx {
            return;
        }
        let to = to.wrapping_add((number * BYTES) as usize);
        // SAFETY: as the caller promises.
        unsafe {
            if self.launch.aligned > 1 {
                global::store(to.cast(), word);
            } else {
                unroll!(byte < 4 => {
                    global::store_u8(to.wrapping_add(byte), (word >> (8 * byte)) as u8)
                });
            }
        }
    }
}

/// Words side by side: that before an address, and those from there on.
#[inline(always)]
#[track_caller]
unsafe fn load<const OUTPUTS: usize>(from: *const u8, words: &mut [u32; WORDS]) {
    let own = from.cast::<u32>();
    // SAFETY: as the caller promises: words of the array.
    unsafe {
        words[0] = global::load(own.wrapping_sub(1));
        if OUTPUTS == 4 {
            [words[1], words[2], words[3], words[4]] = global::load_v4(own);
        } else {
            [words[1], words[2]] = global::load_v2(own);
        }
        words[OUTPUTS + 1] = global::load(own.wrapping_add(OUTPUTS));
    }
}

/// A word of two, from a byte on.
#[inline(always)]
const fn joined(low: u32, high: u32, byte: usize) -> u32 {
    (((high as u64) << 32 | low as u64) >> (8 * byte)) as u32
}

/// The four bytes from that of the first weight of an output on; beyond the words there are zeros.
#[inline(always)]
fn window(words: &[u32; WORDS], first: usize) -> u32 {
    let word = |at: usize| if at < WORDS { words[at] } else { 0 };
    joined(word(first / 4), word(first / 4 + 1), first % 4)
}

/// Adds a row to the sums of the outputs of which it is the `step`th before the last: what they were of the rows before is with
/// the next step.
#[inline(always)]
unsafe fn add<const SPAN: usize, const COUNT: usize, const OUTPUTS: usize>(
    sums: &mut [[i32; MOST]; SPAN],
    step: usize,
    windows: &[u32; MOST + 4],
    launch: &ByteStripsLaunch,
) {
    let mut own = if step + 1 < SPAN { sums[step + 1] } else { [0; MOST] };
    let weights = [0, 1].map(|word| launch.weights[step * COUNT + word % COUNT]);
    unroll!(output < 16 => if output < 4 * OUTPUTS {
        // SAFETY: in a kernel, as the caller promises.
        unsafe {
            own[output] = math::add_byte_products(windows[output], weights[0], own[output]);
            if COUNT > 1 {
                let next = windows[output + 4];
                own[output] = math::add_byte_products(next, weights[1], own[output]);
            }
        }
    });
    sums[step] = own;
}

/// Goes down the rows of a strip, whose first row of outputs is `y`.
#[inline(always)]
#[track_caller]
unsafe fn rows<const SPAN: usize, const COUNT: usize, const OUTPUTS: usize, const INSIDE: bool>(
    mut part: Part,
    y: u32,
    rows: u32,
) {
    let launch = part.launch;
    // SAFETY: as the caller promises.
    unsafe {
        let mut sums = [[0; MOST]; SPAN];
        let mut row = 0;
        // Rows that are on their way while products are computed.
        let mut ahead = [[0; WORDS]; AHEAD];
        unroll!(slot < AHEAD => ahead[slot] = part.words::<OUTPUTS, INSIDE>());
        'rows: loop {
            unroll!(slot < AHEAD => {
                let mut windows = [0; MOST + 4];
                let first = 4 - SPAN / 2;
                unroll!(at < 16 => if at < 4 * (OUTPUTS + COUNT - 1) {
                    windows[at] = window(&ahead[slot], first + at)
                });
                // Into the same registers: a loop in which values change places waits for them there.
                ahead[slot] = part.words::<OUTPUTS, INSIDE>();
                unroll!(step < SPAN => if (step as u32) < launch.span {
                    add::<SPAN, COUNT, OUTPUTS>(&mut sums, step, &windows, launch);
                });
                row += 1;
                if row >= launch.span {
                    part.store::<OUTPUTS>(y + row - launch.span, sums[0]);
                }
                if row == rows {
                    break 'rows;
                }
            });
        }
    }
}

#[inline(always)]
#[track_caller]
unsafe fn sum<const SPAN: usize, const COUNT: usize, const OUTPUTS: usize>(
    input: *const u8,
    output: *mut u8,
    launch: &ByteStripsLaunch,
) {
    let shape = const {
        if SPAN == ByteSumShape::THREE.span { ByteSumShape::THREE } else { ByteSumShape::FIVE }
    };
    let [across, down] = launch.blocks(shape);
    // SAFETY: the launch is as the kernel's contract says.
    unsafe {
        let block = thread::block_idx_x();
        let (own, columns) = (OUTPUTS as u32 * BYTES, shape.columns());
        let (first, rest) = (block % across * columns, block / across);
        let x = first + thread::thread_idx_x() * own;
        let (y, plane) = (rest % down * launch.height, rest / down);
        let plane = plane as usize * launch.ny as usize * launch.nx as usize;
        let (input, output) = (input.wrapping_add(plane), output.wrapping_add(plane));
        let height = if launch.height < launch.ny - y { launch.height } else { launch.ny - y };
        let count = height + launch.span - 1;
        let row = y as i32 + launch.first;
        let is_aligned = launch.aligned == 16;
        let is_inside = is_aligned
            && row >= 0
            && row + (count as i32 + AHEAD as i32) <= launch.ny as i32
            && first >= BYTES
            && first + columns + BYTES <= launch.nx;
        let mut part = Part {
            launch,
            input,
            output,
            row: y,
            x,
            is_whole: is_aligned && x >= BYTES && x + own + BYTES <= launch.nx,
            next: input,
        };
        if is_inside {
            part.next = part.next.wrapping_add(row as usize * launch.nx as usize + x as usize);
            rows::<SPAN, COUNT, OUTPUTS, true>(part, y, count);
        } else if x < launch.nx {
            rows::<SPAN, COUNT, OUTPUTS, false>(part, y, count);
        }
    }
}

/// A sum over a box of up to 3 × 3 points.
///
/// # Safety
/// Launch with [`BLOCK`] threads, for each plane [`ByteStripsLaunch::blocks`] blocks of [`ByteSumShape::THREE`], along x first. `input` and `output` are
/// different arrays of planes of the extents that `launch` has, which begin as it says; its tables have as many entries as
/// [`ByteStripsLaunch::tables`] says, of which each is [`OUTSIDE`] or one of the array, and there are as many weights.
#[kernel(registers = 104)]
pub unsafe fn filter_byte_strips_3(input: *const u8, output: *mut u8, launch: ByteStripsLaunch) {
    // SAFETY: the launch is as this function's contract says.
    unsafe { sum::<3, 1, 4>(input, output, &launch) };
}

/// A sum over a box of up to 5 × 5 points.
///
/// # Safety
/// Launch with [`BLOCK`] threads, for each plane [`ByteStripsLaunch::blocks`] blocks of [`ByteSumShape::FIVE`], along x first. `input`
/// and `output` are different arrays of planes of the extents that `launch` has, which begin as it says. Its tables have
/// as many entries as [`ByteStripsLaunch::tables`] says, of which each is [`OUTSIDE`] or one of the array, and there are as
/// many weights.
#[kernel(registers = 80)]
pub unsafe fn filter_byte_strips_5(input: *const u8, output: *mut u8, launch: ByteStripsLaunch) {
    // SAFETY: the launch is as this function's contract says.
    unsafe { sum::<5, 2, 2>(input, output, &launch) };
}

/// The names of all kernels of this module.
#[cfg(not(target_arch = "nvptx64"))]
pub const KERNELS: &[&str] = &["filter_byte_strips_3", "filter_byte_strips_5"];

/// A kernel, with its shape.
#[cfg(not(target_arch = "nvptx64"))]
pub type ByteSum = (ByteSumShape, Entry<(*const u8, *mut u8, ByteStripsLaunch)>);

/// Each kernel.
#[cfg(not(target_arch = "nvptx64"))]
pub static SUMS: [ByteSum; 2] = [
    (ByteSumShape::THREE, Entry::of::<filter_byte_strips_3>()),
    (ByteSumShape::FIVE, Entry::of::<filter_byte_strips_5>()),
];
