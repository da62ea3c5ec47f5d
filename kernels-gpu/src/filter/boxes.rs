// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sum over a box. A block loads one plane of what its outputs read after the other; a thread has 8 outputs of each of
//! some rows in registers, and takes each row that these read from shared memory once.

use super::numbers::SumType;
use super::sum::{OutputSums, WeightLines};
use super::{
    Counts, InputArray, OUTPUTS, OUTSIDE, Part, RowLayout, Weights, load_rows, put_outputs,
    store_outputs, store_row,
};
use crate::element::Real;
use crate::unroll::unroll;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::shared::Shared;
use cuda_std::{global, kernel, shared, thread, warp};

/// Threads of a block: with as many registers as theirs, a multiprocessor has several blocks.
pub const BLOCK: u32 = 256;

/// Rows of a thread, for sums of so many bytes: as many as its registers hold.
#[inline(always)]
const fn lines(bytes: u32) -> u32 {
    16 / bytes
}

/// What a launch computes. `V` is the type of sums.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq)]
pub struct BoxesLaunch<V> {
    /// The array.
    pub source: InputArray<V>,
    /// Planes of an array by those that are read.
    pub planes: *const u32,
    /// Weights of all planes and rows, in C order; then their masks.
    pub weights: *const u32,
    /// What sums are divided by.
    pub divisor: V,
    /// Planes of an array.
    pub nz: u32,
    /// Weights along z and y.
    pub spans: [u32; 2],
    /// Columns of a block, and weights along x.
    pub row: RowLayout,
    /// Weights of each row that count.
    pub counts: Counts,
    /// Whether rows of an array that is written begin at multiples of 16 bytes, and values that belong together are one.
    pub is_aligned: u32,
}

impl<V> BoxesLaunch<V> {
    /// Threads that have the columns of a row.
    #[inline(always)]
    const fn threads_of_row(&self) -> u32 {
        let threads = (self.row.tile / OUTPUTS).next_power_of_two();
        if threads < 8 { 8 } else { threads }
    }

    /// Rows of a block, for sums of so many bytes, as below.
    #[inline(always)]
    #[must_use]
    pub const fn rows(&self, bytes: u32) -> u32 {
        BLOCK / self.threads_of_row() * lines(bytes)
    }

    /// Blocks along x and along y, for each plane.
    #[inline(always)]
    #[must_use]
    pub const fn blocks(&self, bytes: u32) -> [u32; 2] {
        [self.source.nx.div_ceil(self.row.tile), self.source.ny.div_ceil(self.rows(bytes))]
    }

    #[inline(always)]
    const fn weights(&self) -> u32 {
        self.spans[0] * self.spans[1] * self.row.span
    }

    #[inline(always)]
    const fn loaded(&self, bytes: u32) -> u32 {
        self.rows(bytes) + self.spans[1] - 1
    }

    /// Dynamic shared memory, for sums of so many bytes.
    #[inline(always)]
    #[must_use]
    pub const fn shared_bytes<const OWN: bool>(&self, bytes: u32) -> u32 {
        Weights::bytes(self.weights(), bytes) + self.loaded(bytes) * self.row.pitch::<OWN>(bytes)
    }

    /// Planes, rows and columns that the tables have.
    #[must_use]
    pub const fn tables(&self, bytes: u32) -> [u32; 3] {
        let [across, down] = self.blocks(bytes);
        [
            self.nz + self.spans[0] - 1,
            down * self.rows(bytes) + self.spans[1] - 1,
            across * self.row.tile + self.row.step * self.row.span,
        ]
    }
}

#[inline(always)]
#[track_caller]
unsafe fn sum<V: SumType, const LINES: usize, const OWN: bool>(
    input: *const u8,
    output: *mut u8,
    launch: &BoxesLaunch<V>,
) {
    let (source, row) = (&launch.source, &launch.row);
    let [across, down] = launch.blocks(V::BYTES);
    let (loaded, lines) = (launch.loaded(V::BYTES), LINES as u32);
    // SAFETY: the launch is as the kernel's contract says.
    unsafe {
        let block = thread::block_idx_x();
        let (x, rest) = (block % across * row.tile, block / across);
        let (y, plane) = (rest % down * launch.rows(V::BYTES), rest / down);
        let (z, array) = (plane % launch.nz, plane / launch.nz);
        let all = shared::dynamic();
        let weights = Weights::copy::<V>(
            launch.weights,
            all,
            launch.spans[0] * launch.spans[1],
            row.span,
            launch.counts,
        );
        let rows = all.offset(Weights::bytes(launch.weights(), V::BYTES));
        let pitch = row.pitch::<OWN>(V::BYTES);
        let thread = thread::thread_idx_x();
        let threads = launch.threads_of_row();
        let (number, own) = (thread % threads, thread / threads * lines);
        let has_some = number * OUTPUTS < row.tile;
        let place = row.outputs::<OWN>(if has_some { number } else { 0 });
        let mut sums = OutputSums::<V, LINES>::ZERO;
        let points = source.ny as usize * source.nx as usize;
        let bytes = [0, 1].map(|which| points * source.kind::<OWN>(which).bytes as usize);
        let mut dz = 0;
        while dz < launch.spans[0] {
            let from = global::load_constant(launch.planes.wrapping_add((z + dz) as usize));
            if from == OUTSIDE {
                fill::<V, OWN>(row, loaded, |at| rows.offset(at * pitch), source.outside);
            } else {
                let from = array as usize * launch.nz as usize + from as usize;
                let input = input.wrapping_add(from * bytes[0]);
                let part = Part::<V, OWN> { source, input, first: [y, x] };
                load_rows(&part, row, 0, loaded, |at| rows.offset(at * pitch));
            }
            thread::sync_threads();
            let mut line = 0;
            while line < lines + launch.spans[1] - 1 {
                let from = rows.offset((own + line) * pitch);
                let first = dz * launch.spans[1] + line;
                let has = having(launch.spans[1], line) & ((1 << LINES) - 1);
                let taken = WeightLines { weights: &weights, first, has };
                sums.add_groups(&taken, row.groups::<V, OWN>(from, place));
                line += 1;
            }
            thread::sync_threads();
            dz += 1;
        }
        let output = output.wrapping_add(plane as usize * bytes[1]);
        if OWN && launch.is_aligned != 0 {
            let x = x + number * OUTPUTS;
            let store = |line: usize, sums| {
                let y = y + own + line as u32;
                if has_some && y < source.ny && x < source.nx {
                    let at = y as usize * source.nx as usize + x as usize;
                    store_outputs(output, at, source.nx - x, divided(launch, sums));
                }
            };
            unroll!(line < LINES => store(line, sums.of[line]));
            return;
        }
        if has_some {
            unroll!(line < LINES => {
                put_outputs::<V, OWN>(
                    row, rows.offset((own + line as u32) * pitch), place, divided(launch, sums.of[line]),
                )
            });
        }
        // Its rows are all of this warp.
        warp::sync();
        let each = warp::SIZE / threads * lines;
        let own = thread / warp::SIZE * each;
        let mut index = 0;
        while index < each && y + own + index < source.ny {
            let from = rows.offset((own + index) * pitch);
            store_row::<V, OWN>(source, row, from, output, (y + own + index, x));
            index += 1;
        }
    }
}

/// A bit for each line of outputs that reads a row: line k reads rows k to k + span - 1.
#[inline(always)]
const fn having(span: u32, row: u32) -> u32 {
    let all = if row < 31 { (2 << row) - 1 } else { u32::MAX };
    let gone = if row < span { 0 } else { (2u32 << (row - span)) - 1 };
    all & !gone
}

/// Sums, divided.
#[inline(always)]
fn divided<V: SumType>(
    launch: &BoxesLaunch<V>,
    sums: [V; OUTPUTS as usize],
) -> [V; OUTPUTS as usize] {
    let by = launch.divisor;
    if by.is_one() { sums } else { sums.map(|sum| sum.over(by)) }
}

/// Fills rows with one value.
#[inline(always)]
#[track_caller]
unsafe fn fill<V: SumType, const OWN: bool>(
    row: &RowLayout,
    count: u32,
    to: impl Fn(u32) -> Shared,
    value: V,
) {
    // SAFETY: as the caller promises.
    unsafe {
        let mut column = thread::thread_idx_x();
        while column < row.columns() {
            let place = row.column::<OWN>(column, V::BYTES);
            let mut number = 0;
            while number < count {
                V::store_shared(to(number).offset(place), value);
                number += 1;
            }
            column += thread::block_dim_x();
        }
    }
}

macro_rules! kernels {
    ($($number:ty: $name:ident, $registers:literal, $own:ident, $of_own:literal;)*) => {
        $(
            /// A sum over a box, in
            #[doc = stringify!($number)]
            ///.
            ///
            /// # Safety
            /// Launch with [`BLOCK`] threads, for each plane of each array [`BoxesLaunch::blocks`] blocks, along x first, with
            /// [`BoxesLaunch::shared_bytes`] of dynamic shared memory. A row has at most 256 outputs of a block.
            /// `input` and `output` are different arrays of the extents and types that `launch` has, aligned to their
            /// values. Its tables have as many entries as [`BoxesLaunch::tables`] says; each is [`OUTSIDE`] or one of
            /// the array. There are as many weights.
            #[kernel(registers = $registers)]
            pub unsafe fn $name(input: *const u8, output: *mut u8, launch: BoxesLaunch<$number>) {
                // SAFETY: the launch is as this function's contract says.
                unsafe {
                    sum::<_, { lines(<$number as Real>::BYTES) as usize }, false>(
                        input, output, &launch,
                    );
                }
            }

            /// A sum over a box of arrays of the type of the sums.
            ///
            /// # Safety
            /// Launch with [`BLOCK`] threads, for each plane of each array [`BoxesLaunch::blocks`] blocks, along x first, with
            /// [`BoxesLaunch::shared_bytes`] of dynamic shared memory. A row has at most 256 outputs of a block, and is plain
            /// ([`RowLayout::is_plain`]). `input` and `output` are different arrays of the extents that `launch` has, of values
            /// of the sums' type, aligned to them. The tables of `launch` have as many entries as [`BoxesLaunch::tables`] says, of
            /// which each is [`OUTSIDE`] or one of the array, and there are as many weights.
            #[kernel(registers = $of_own)]
            pub unsafe fn $own(input: *const u8, output: *mut u8, launch: BoxesLaunch<$number>) {
                // SAFETY: the launch is as this function's contract says.
                unsafe {
                    sum::<_, { lines(<$number as Real>::BYTES) as usize }, true>(
                        input, output, &launch,
                    );
                }
            }

            #[cfg(not(target_arch = "nvptx64"))]
            impl BoxKernels for $number {
                const BOXES: [Entry<Parameters<$number>>; 2] = [Entry::of::<$name>(), Entry::of::<$own>()];
            }
        )*

        /// The names of all kernels of this module.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const KERNELS: &[&str] = &[$(stringify!($name), stringify!($own)),*];
    };
}

/// Parameters, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters<V> = (*const u8, *mut u8, BoxesLaunch<V>);

/// The kernel of a type of sums.
#[cfg(not(target_arch = "nvptx64"))]
pub trait BoxKernels: SumType {
    /// Of any types of values, and of arrays of the type of the sums.
    const BOXES: [Entry<Parameters<Self>>; 2];
}

kernels! {
    f32: filter_boxes_f32, 128, filter_boxes_f32_own, 128;
    f64: filter_boxes_f64, 160, filter_boxes_f64_own, 128;
}
