// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sum over a box of a plane, in f32, without shared memory. A thread goes down the rows of a strip, with four outputs side by side:
//! it loads each row once, and adds it to the sums of all rows of outputs that read it. The weights are parameters, which
//! instructions read as constants.

use super::{GROUP, OUTSIDE, row_place};
use crate::unroll::unroll;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::{global, kernel, math, thread};

/// Threads of a block.
pub const BLOCK: u32 = 64;
/// Columns of a block.
pub const COLUMNS: u32 = BLOCK * GROUP;
/// Weights along y or x, at most.
pub const SPAN: usize = 15;
/// Weights along y in kernels of at most so many along x: those have fewer sums.
pub const SMALL: usize = 7;
/// Registers of a thread in kernels of at most so many weights along y.
#[must_use]
pub const fn registers(most: usize) -> u32 {
    if most > SMALL { 128 } else { 72 }
}

/// Rows that are loaded ahead, at most.
const MOST_AHEAD: usize = 2;
const OUTPUTS: usize = GROUP as usize;
/// Values of a row that the outputs of a thread read, at most.
const WINDOW: usize = SPAN + OUTPUTS - 1;

/// Rows that are loaded ahead, where there are at most so many weights along y. With many, one takes long enough.
const fn ahead(most: usize) -> usize {
    if most > SMALL { 1 } else { MOST_AHEAD }
}

/// What a launch computes.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq)]
pub struct StripsLaunch {
    /// Columns of the array by those that are read: the first is that of the first weight of the first output.
    pub columns: *const u32,
    /// Rows of the array by those that are read.
    pub rows: *const u32,
    /// The value of what has no place in the array.
    pub outside: f32,
    /// Rows of a plane.
    pub ny: u32,
    /// Columns of a row.
    pub nx: u32,
    /// Row and column of the first weight of the first output.
    pub first: [i32; 2],
    /// Weights along y.
    pub span: u32,
    /// Rows of a strip.
    pub height: u32,
    /// Whether rows of the array that is written begin at multiples of 16 bytes.
    pub is_aligned: u32,
    /// The weights of the last row of the box, then those of the row before it, and so on.
    pub weights: [f32; SPAN * SPAN],
}

impl StripsLaunch {
    /// Blocks along x and along y, for each plane.
    #[inline(always)]
    #[must_use]
    pub const fn blocks(&self) -> [u32; 2] {
        [self.nx.div_ceil(COLUMNS), self.ny.div_ceil(self.height)]
    }

    /// Rows and columns that the tables have.
    #[must_use]
    pub const fn tables(&self) -> [u32; 2] {
        let [across, down] = self.blocks();
        [down * self.height + self.span + MOST_AHEAD as u32, across * COLUMNS + SPAN as u32]
    }
}

/// What a thread reads of a plane, row after row.
struct Part<'a> {
    launch: &'a StripsLaunch,
    plane: *const u8,
    /// The next row, as an entry of the table.
    row: u32,
    /// The first column that it reads, as an entry of the table, and in the array, if all of them are there.
    column: u32,
    first: i32,
    is_inside: bool,
    /// The first value of the next row, if all rows of the strip are in the array.
    next: *const f32,
}

impl Part<'_> {
    /// The values of the next row that the outputs read; where all that a block reads is `INSIDE` the array, nothing is asked for.
    #[inline(always)]
    #[track_caller]
    unsafe fn window<const SPAN_X: usize, const INSIDE: bool>(&mut self) -> [f32; WINDOW] {
        let mut window = [self.launch.outside; WINDOW];
        // SAFETY: the tables lead to places of the array.
        unsafe {
            if INSIDE {
                load::<SPAN_X>(self.next, &mut window);
                self.next = self.next.wrapping_add(self.launch.nx as usize);
                return window;
            }
            let row = row_place(self.launch.rows, self.row, self.launch.first[0], self.launch.ny);
            self.row += 1;
            if row == OUTSIDE {
                return window;
            }
            let from =
                self.plane.cast::<f32>().wrapping_add(row as usize * self.launch.nx as usize);
            if self.is_inside {
                load::<SPAN_X>(from.wrapping_offset(self.first as isize), &mut window);
            } else {
                unroll!(at < SPAN_X => self.gather(from, at, &mut window));
                unroll!(at < 3 => self.gather(from, SPAN_X + at, &mut window));
            }
        }
        window
    }

    /// A value of a row, wherever it lies.
    #[inline(always)]
    #[track_caller]
    unsafe fn gather(&self, row: *const f32, at: usize, window: &mut [f32; WINDOW]) {
        let entry = self.column as usize + at;
        // SAFETY: as the caller promises.
        unsafe {
            let column = global::load_constant(self.launch.columns.wrapping_add(entry));
            if column != OUTSIDE {
                window[at] = global::load_f32(row.wrapping_add(column as usize));
            }
        }
    }
}

/// Values side by side.
#[inline(always)]
#[track_caller]
unsafe fn load<const SPAN_X: usize>(from: *const f32, window: &mut [f32; WINDOW]) {
    // SAFETY: as the caller promises: values of the array.
    unsafe {
        unroll!(at < SPAN_X => window[at] = global::load_f32(from.wrapping_add(at)));
        unroll!(at < 3 => {
            window[SPAN_X + at] = global::load_f32(from.wrapping_add(SPAN_X + at))
        });
    }
}

/// Adds a row to the sums of the outputs of which it is the `step`th before the last: what they were of the rows before is with
/// the next step.
#[inline(always)]
unsafe fn add<const SPAN_X: usize, const MOST: usize>(
    sums: &mut [[f32; OUTPUTS]; MOST],
    step: usize,
    window: &[f32; WINDOW],
    launch: &StripsLaunch,
) {
    let mut own = if step + 1 < MOST { sums[step + 1] } else { [0.0; OUTPUTS] };
    unroll!(tap < SPAN_X => {
        let weight = launch.weights[step * SPAN_X + tap];
        // SAFETY: in a kernel, as the caller promises.
        unroll!(output < OUTPUTS => unsafe {
            own[output] = math::fma_f32(window[output + tap], weight, own[output])
        });
    });
    sums[step] = own;
}

/// Stores outputs side by side.
#[inline(always)]
#[track_caller]
unsafe fn store(launch: &StripsLaunch, plane: *mut u8, (y, x): (u32, u32), sums: [f32; OUTPUTS]) {
    let at = y as usize * launch.nx as usize + x as usize;
    let to = plane.cast::<f32>().wrapping_add(at);
    // SAFETY: as the caller promises: outputs that no other thread has.
    unsafe {
        if launch.is_aligned != 0 {
            global::store_v4(to.cast(), sums.map(f32::to_bits));
        } else {
            unroll!(output < OUTPUTS => if x + (output as u32) < launch.nx {
                global::store_f32(to.wrapping_add(output), sums[output]);
            });
        }
    }
}

/// Goes down the rows of a strip; `(y, x)` is its first output.
#[inline(always)]
#[track_caller]
unsafe fn rows<const SPAN_X: usize, const MOST: usize, const AHEAD: usize, const INSIDE: bool>(
    mut part: Part,
    output: *mut u8,
    (y, x): (u32, u32),
    rows: u32,
) {
    let launch = part.launch;
    // SAFETY: as the caller promises.
    unsafe {
        let mut sums = [[0.0; OUTPUTS]; MOST];
        let mut row = 0;
        // Rows that are on their way while products are computed.
        let mut ahead = [[0.0; WINDOW]; AHEAD];
        unroll!(slot < AHEAD => ahead[slot] = part.window::<SPAN_X, INSIDE>());
        'rows: loop {
            unroll!(slot < AHEAD => {
                let window = ahead[slot];
                if AHEAD == 1 {
                    ahead[slot] = part.window::<SPAN_X, INSIDE>();
                }
                unroll!(step < MOST => if (step as u32) < launch.span {
                    add::<SPAN_X, MOST>(&mut sums, step, &window, launch);
                });
                if AHEAD > 1 {
                    // Into the same registers: a loop in which values change places waits for them there.
                    ahead[slot] = part.window::<SPAN_X, INSIDE>();
                }
                row += 1;
                if row >= launch.span {
                    store(launch, output, (y + row - launch.span, x), sums[0]);
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
unsafe fn sum<const SPAN_X: usize, const MOST: usize, const AHEAD: usize>(
    input: *const u8,
    output: *mut u8,
    launch: &StripsLaunch,
) {
    let [across, down] = launch.blocks();
    let nx = launch.nx as i32;
    // SAFETY: the launch is as the kernel's contract says.
    unsafe {
        let block = thread::block_idx_x();
        let own = thread::thread_idx_x() * GROUP;
        let (x, rest) = (block % across * COLUMNS, block / across);
        let (y, plane) = (rest % down * launch.height, rest / down);
        let plane = plane as usize * launch.ny as usize * launch.nx as usize * 4;
        let (input, output) = (input.wrapping_add(plane), output.wrapping_add(plane));
        let height = if launch.height < launch.ny - y { launch.height } else { launch.ny - y };
        let count = height + launch.span - 1;
        let [row, column] = [y as i32 + launch.first[0], x as i32 + launch.first[1]];
        // A second loop of as many products as those of large boxes makes both slower.
        let is_inside = MOST == SMALL
            && row >= 0
            && row + (count as i32 + AHEAD as i32) <= launch.ny as i32
            && column >= 0
            && column + (COLUMNS as i32 + SPAN_X as i32) <= nx
            && x + COLUMNS <= launch.nx;
        let first = column + own as i32;
        let mut part = Part {
            launch,
            plane: input,
            row: y,
            column: x + own,
            first,
            is_inside: first >= 0 && first + (SPAN_X + 3) as i32 <= nx,
            next: input.cast(),
        };
        let at = (y, x + own);
        if is_inside {
            let first = row as usize * launch.nx as usize + first as usize;
            part.next = part.next.wrapping_add(first);
            rows::<SPAN_X, MOST, AHEAD, true>(part, output, at, count);
        } else if x + own < launch.nx {
            rows::<SPAN_X, MOST, AHEAD, false>(part, output, at, count);
        }
    }
}

macro_rules! kernels {
    ($($name:ident: $span:literal, $most:ident, $registers:literal;)*) => {
        $(
            /// A sum over a box of
            #[doc = stringify!($span)]
            /// weights along x.
            ///
            /// # Safety
            /// Launch with [`BLOCK`] threads, for each plane [`StripsLaunch::blocks`] blocks, along x first. `input`
            /// and `output` are different arrays of planes of f32 of the extents that `launch` has. Its tables have
            /// as many entries as [`StripsLaunch::tables`] says; each is [`OUTSIDE`] or one of the array. It has at
            /// most as many weights along y as the kernel takes.
            #[kernel(registers = $registers)]
            pub unsafe fn $name(input: *const u8, output: *mut u8, launch: StripsLaunch) {
                // SAFETY: the launch is as this function's contract says.
                unsafe { sum::<$span, $most, { ahead($most) }>(input, output, &launch) };
            }
        )*

        /// The names of all kernels of this module.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const KERNELS: &[&str] = &[$(stringify!($name)),*];

        /// Each kernel, with its weights along x, and along y at most.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const SUMS: &[(usize, usize, Entry<Parameters>)] = &[$(($span, $most, Entry::of::<$name>())),*];
    };
}

/// Parameters, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters = (*const u8, *mut u8, StripsLaunch);

kernels! {
    filter_strips_2: 2, SMALL, 72;
    filter_strips_3: 3, SMALL, 72;
    filter_strips_4: 4, SMALL, 72;
    filter_strips_5: 5, SMALL, 72;
    filter_strips_6: 6, SMALL, 72;
    filter_strips_7: 7, SMALL, 72;
    filter_strips_8: 8, SPAN, 128;
    filter_strips_9: 9, SPAN, 128;
    filter_strips_10: 10, SPAN, 128;
    filter_strips_11: 11, SPAN, 128;
    filter_strips_12: 12, SPAN, 128;
    filter_strips_13: 13, SPAN, 128;
    filter_strips_14: 14, SPAN, 128;
    filter_strips_15: 15, SPAN, 128;
}
