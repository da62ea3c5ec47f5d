// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sum along y and then one along x of f32, of as many weights, in one launch. A thread goes down the rows of a strip with four columns: it
//! loads each row once, and adds it to the sums along y of all rows that read it, which are in registers. Each row of these that
//! is whole goes through shared memory, where sums along x read it. The weights are parameters, which instructions read as constants.

use super::{GROUP, OUTSIDE, row_place};
use crate::unroll::unroll;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::shared::Shared;
use cuda_std::{global, kernel, math, shared, thread};

/// Weights of a line, at most.
pub const SPAN: usize = 17;
/// Blocks have as many threads as one of these.
pub const THREADS: [u32; 3] = [64, 96, 128];

/// Rows that are loaded ahead, and rows of shared memory.
const AHEAD: usize = 2;
const OUTPUTS: usize = GROUP as usize;
/// Bytes of the values of a thread.
const BYTES: u32 = 16;
/// Values that sums along x of a thread read, at most.
const WINDOW: usize = 24;

/// What a launch computes.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq)]
pub struct LineStripsLaunch {
    /// Columns of the array by those that are read: the first is that of the first thread of the first block, [`before`] its outputs.
    pub columns: *const u32,
    /// Rows of the array by those that are read.
    pub rows: *const u32,
    /// The value of what has no place in the array.
    pub outside: f32,
    /// Rows of a plane.
    pub ny: u32,
    /// Columns of a row.
    pub nx: u32,
    /// Row of the first weight of the first output.
    pub first: i32,
    /// Rows of a strip.
    pub height: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Whether rows of the array that is read begin at multiples of 16 bytes, and whether those of the one that is written do.
    pub is_aligned: [u32; 2],
    /// What sums along y and along x are divided by.
    pub divisors: [f32; 2],
    /// Weights along y, the last one first.
    pub along_y: [f32; SPAN],
    /// Weights along x.
    pub along_x: [f32; SPAN],
}

/// Columns that a block has before its first output, for so many weights.
#[inline(always)]
#[must_use]
pub const fn before(span: usize) -> u32 {
    (span as u32 / 2).next_multiple_of(GROUP)
}

impl LineStripsLaunch {
    /// Outputs of a row of a block, for so many weights.
    #[inline(always)]
    #[must_use]
    pub const fn tile(&self, span: usize) -> u32 {
        self.threads * GROUP - 2 * before(span)
    }

    /// Blocks along x and along y, for each plane, for so many weights.
    #[inline(always)]
    #[must_use]
    pub const fn blocks(&self, span: usize) -> [u32; 2] {
        [self.nx.div_ceil(self.tile(span)), self.ny.div_ceil(self.height)]
    }

    /// Dynamic shared memory.
    #[must_use]
    pub const fn shared_bytes(&self) -> u32 {
        2 * self.threads * BYTES
    }

    /// Rows and columns that the tables have, for so many weights.
    #[must_use]
    pub const fn tables(&self, span: usize) -> [u32; 2] {
        let [across, down] = self.blocks(span);
        [down * self.height + (span + AHEAD) as u32, across * self.tile(span) + 2 * before(span)]
    }
}

/// The columns of a thread, row after row.
struct Part<'a> {
    launch: &'a LineStripsLaunch,
    plane: *const f32,
    /// The next row, as an entry of the table.
    row: u32,
    /// The first column, as an entry of the table, and in the array.
    entry: u32,
    column: i32,
    /// Whether the columns are in the array, and read together.
    is_whole: bool,
    /// The first value of the next row, if all rows of the strip are in the array.
    next: *const f32,
}

impl Part<'_> {
    /// Where a column lies, or [`OUTSIDE`].
    #[inline(always)]
    #[track_caller]
    unsafe fn place(&self, at: usize) -> u32 {
        let entry = self.entry as usize + at;
        // SAFETY: the table has it.
        unsafe { global::load_constant(self.launch.columns.wrapping_add(entry)) }
    }

    /// The values of the next row; where all that a block reads is `INSIDE` the array, nothing is asked for.
    #[inline(always)]
    #[track_caller]
    unsafe fn values<const INSIDE: bool>(&mut self) -> [f32; OUTPUTS] {
        let mut values = [self.launch.outside; OUTPUTS];
        // SAFETY: the tables lead to places of the array.
        unsafe {
            if INSIDE {
                let next = self.next;
                self.next = next.wrapping_add(self.launch.nx as usize);
                return global::load_v4(next.cast()).map(f32::from_bits);
            }
            let row = row_place(self.launch.rows, self.row, self.launch.first, self.launch.ny);
            self.row += 1;
            if row == OUTSIDE {
                return values;
            }
            let from = self.plane.wrapping_add(row as usize * self.launch.nx as usize);
            if self.is_whole {
                let from = from.wrapping_offset(self.column as isize);
                return global::load_v4(from.cast()).map(f32::from_bits);
            }
            unroll!(at < OUTPUTS => self.gather(from, at, &mut values));
        }
        values
    }

    /// A value of a row, wherever it lies.
    #[inline(always)]
    #[track_caller]
    unsafe fn gather(&self, row: *const f32, at: usize, values: &mut [f32; OUTPUTS]) {
        // SAFETY: as the caller promises.
        unsafe {
            let column = self.place(at);
            if column != OUTSIDE {
                values[at] = global::load_f32(row.wrapping_add(column as usize));
            }
        }
    }

    /// A bit for each column that is beyond the array and no image of one in it.
    #[inline(always)]
    #[track_caller]
    unsafe fn outside(&self) -> u32 {
        let mut outside = 0;
        if !self.is_whole {
            // SAFETY: as the caller promises.
            unroll!(at < OUTPUTS => if unsafe { self.place(at) } == OUTSIDE { outside |= 1 << at });
        }
        outside
    }
}

/// Adds values of a row to sums along y.
#[inline(always)]
unsafe fn add<const SPAN_Y: usize>(
    sums: &mut [[f32; OUTPUTS]; SPAN_Y],
    step: usize,
    values: [f32; OUTPUTS],
    weight: f32,
) {
    let mut own = if step + 1 < SPAN_Y { sums[step + 1] } else { [0.0; OUTPUTS] };
    // SAFETY: in a kernel, as the caller promises.
    unroll!(at < OUTPUTS => unsafe { own[at] = math::fma_f32(values[at], weight, own[at]) });
    sums[step] = own;
}

/// Sums along x of a row, of which four values lie at `from` and the others behind them.
#[inline(always)]
#[track_caller]
unsafe fn along_x<const SPAN_X: usize>(launch: &LineStripsLaunch, from: Shared) -> [f32; OUTPUTS] {
    let first = const { before(SPAN_X) as usize - SPAN_X / 2 };
    let mut window = [0.0; WINDOW];
    let mut sums = [0.0; OUTPUTS];
    // SAFETY: the row has these values, which have been waited for.
    unsafe {
        unroll!(group < 6 => if 4 * group < first + SPAN_X + 3 {
            let four = shared::load_v4(from.offset(group as u32 * BYTES)).map(f32::from_bits);
            unroll!(at < 4 => window[4 * group + at] = four[at]);
        });
        unroll!(tap < SPAN_X => {
            let weight = launch.along_x[tap];
            unroll!(at < OUTPUTS => {
                sums[at] = math::fma_f32(window[first + tap + at], weight, sums[at])
            });
        });
    }
    sums
}

/// Sums, divided.
#[inline(always)]
fn divided(sums: [f32; OUTPUTS], by: f32) -> [f32; OUTPUTS] {
    if by == 1.0 { sums } else { sums.map(|sum| sum / by) }
}

/// Stores outputs side by side.
#[inline(always)]
#[track_caller]
unsafe fn store(
    launch: &LineStripsLaunch,
    plane: *mut f32,
    (y, x): (u32, u32),
    sums: [f32; OUTPUTS],
) {
    let to = plane.wrapping_add(y as usize * launch.nx as usize + x as usize);
    // SAFETY: as the caller promises: outputs that no other thread has.
    unsafe {
        if launch.is_aligned[1] != 0 {
            global::store_v4(to.cast(), sums.map(f32::to_bits));
        } else {
            unroll!(at < OUTPUTS => if x + (at as u32) < launch.nx {
                global::store_f32(to.wrapping_add(at), sums[at]);
            });
        }
    }
}

/// Goes down the rows of a strip, whose first row of outputs is `y`; `own` is the first column of the thread in the block.
#[inline(always)]
#[track_caller]
unsafe fn rows<const SPAN_OF: usize, const INSIDE: bool>(
    mut part: Part,
    output: *mut f32,
    (y, own): (u32, u32),
    rows: u32,
) {
    let launch = part.launch;
    // SAFETY: as the caller promises.
    unsafe {
        let outside = if INSIDE { 0 } else { part.outside() };
        // As an entry of the table its first column is that of its first output.
        let x = part.entry;
        let has_outputs = own < launch.tile(SPAN_OF) && x < launch.nx;
        let to = shared::dynamic().offset(own * 4);
        let both = [to, to.offset(launch.threads * BYTES)];
        let mut sums = [[0.0; OUTPUTS]; SPAN_OF];
        // Rows that are on their way while products are computed.
        let mut ahead = [[0.0; OUTPUTS]; AHEAD];
        unroll!(slot < AHEAD => ahead[slot] = part.values::<INSIDE>());
        let mut row = 0;
        'rows: loop {
            unroll!(slot < AHEAD => {
                unroll!(step < SPAN_OF => {
                    add(&mut sums, step, ahead[slot], launch.along_y[step])
                });
                // Into the same registers: a loop in which values change places waits for them there.
                ahead[slot] = part.values::<INSIDE>();
                row += 1;
                if row >= SPAN_OF as u32 {
                    let mut done = divided(sums[0], launch.divisors[0]);
                    if !INSIDE {
                        unroll!(at < OUTPUTS => if outside >> at & 1 != 0 {
                            done[at] = launch.outside
                        });
                    }
                    let to = both[slot % 2];
                    shared::store_v4(to, done.map(f32::to_bits));
                    // Of two rows of shared memory this waits for the readers of the other one, too.
                    thread::sync_threads();
                    if has_outputs {
                        let sums = divided(along_x::<SPAN_OF>(launch, to), launch.divisors[1]);
                        store(launch, output, (y + row - SPAN_OF as u32, x), sums);
                    }
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
unsafe fn sum<const SPAN_OF: usize>(input: *const u8, output: *mut u8, launch: &LineStripsLaunch) {
    let [across, down] = launch.blocks(SPAN_OF);
    let left = before(SPAN_OF);
    // SAFETY: the launch is as the kernel's contract says.
    unsafe {
        let (block, own) = (thread::block_idx_x(), thread::thread_idx_x() * GROUP);
        let (first, rest) = (block % across * launch.tile(SPAN_OF), block / across);
        let (y, plane) = (rest % down * launch.height, rest / down);
        let plane = plane as usize * launch.ny as usize * launch.nx as usize;
        let input = input.cast::<f32>().wrapping_add(plane);
        let output = output.cast::<f32>().wrapping_add(plane);
        let height = if launch.height < launch.ny - y { launch.height } else { launch.ny - y };
        let count = height + SPAN_OF as u32 - 1;
        let row = y as i32 + launch.first;
        let is_aligned = launch.is_aligned[0] != 0;
        let is_inside = is_aligned
            && row >= 0
            && row + (count as i32 + AHEAD as i32) <= launch.ny as i32
            && first >= left
            && first - left + launch.threads * GROUP <= launch.nx;
        let column = (first + own) as i32 - left as i32;
        let mut part = Part {
            launch,
            plane: input,
            row: y,
            entry: first + own,
            column,
            is_whole: is_aligned && column >= 0 && column + GROUP as i32 <= launch.nx as i32,
            next: input,
        };
        if is_inside {
            let next = row as usize * launch.nx as usize + column as usize;
            part.next = part.next.wrapping_add(next);
            rows::<SPAN_OF, true>(part, output, (y, own), count);
        } else {
            rows::<SPAN_OF, false>(part, output, (y, own), count);
        }
    }
}

macro_rules! kernels {
    ($($name:ident: $span:literal, $registers:literal;)*) => {
        $(
            /// Sums along y and x of
            #[doc = stringify!($span)]
            /// weights.
            ///
            /// # Safety
            /// Launch with as many threads as `launch` says, one of [`THREADS`], for each plane [`LineStripsLaunch::blocks`] blocks, along x first, with
            /// [`LineStripsLaunch::shared_bytes`] of dynamic shared memory. `input` and `output` are different arrays of planes of f32 of the extents that
            /// `launch` has, its tables have as many entries as [`LineStripsLaunch::tables`] says, of which each is [`OUTSIDE`] or one of the array.
            #[kernel(registers = $registers)]
            pub unsafe fn $name(input: *const u8, output: *mut u8, launch: LineStripsLaunch) {
                // SAFETY: the launch is as this function's contract says.
                unsafe { sum::<$span>(input, output, &launch) };
            }
        )*

        /// The names of all kernels of this module.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const KERNELS: &[&str] = &[$(stringify!($name)),*];

        /// Each kernel, with its weights, and registers of a thread.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const SUMS: &[(usize, u32, Entry<Parameters>)] =
            &[$(($span, $registers, Entry::of::<$name>())),*];
    };
}

/// Parameters, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters = (*const u8, *mut u8, LineStripsLaunch);

kernels! {
    filter_line_strips_3: 3, 64;
    filter_line_strips_5: 5, 64;
    filter_line_strips_7: 7, 72;
    filter_line_strips_9: 9, 80;
    filter_line_strips_11: 11, 96;
    filter_line_strips_13: 13, 96;
    filter_line_strips_15: 15, 128;
    filter_line_strips_17: 17, 128;
}
