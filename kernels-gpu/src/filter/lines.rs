// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sum along y, and one along x of what it gave, in one launch. Either may be left out.
//!
//! A block has some columns, and goes down them. A ring in shared memory holds the rows that the sum along y reads:
//!
//! ```text
//! load the next 8 rows | all wait | sums along y of 8 rows, a column a thread | all wait | sums along x of 8 rows, 8
//! outputs a thread, a row a warp | its row leaves
//! ```
//!
//! The rows after those are under way from memory meanwhile. Between the two sums, whole numbers are cut off, and columns beyond
//! the array are what they are by themselves: as if the first sum had been stored.

use super::numbers::{self, SumType};
use super::sum::{OutputSums, WeightLines};
use super::{
    ColumnLoads, Counts, GROUP, InputArray, OUTPUTS, OUTSIDE, Part, RowLayout, Weights, load_rows,
    put_outputs, store_outputs, store_row,
};
use crate::unroll::unroll;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::shared::Shared;
use cuda_std::{kernel, shared, thread, warp};

/// The most threads of a block.
const MOST: u32 = 384;

/// What a launch computes. `V` is the type of sums.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq)]
pub struct LinesLaunch<V> {
    /// The array.
    pub source: InputArray<V>,
    /// Weights along y, their masks, weights along x, their masks.
    pub weights: *const u32,
    /// What sums along y and along x are divided by.
    pub divisors: [V; 2],
    /// Weights along y, a multiple of [`GROUP`]; 0: there is no such sum.
    pub span: u32,
    /// Rows that a sum along y reads, 1 if there is none.
    pub reach: u32,
    /// Whether there is a sum along x.
    pub has_x: u32,
    /// Columns of a block; without a sum along x the span of weights is 0.
    pub row: RowLayout,
    /// Rows of a block, a multiple of [`OUTPUTS`].
    pub rows: u32,
    /// Weights along y and x that count.
    pub counts: [Counts; 2],
    /// Whether rows of an array that is written begin at multiples of 16 bytes, and values that belong together are one.
    pub is_aligned: u32,
}

impl<V> LinesLaunch<V> {
    /// Blocks along x and along y, for each plane.
    #[inline(always)]
    #[must_use]
    pub const fn blocks(&self) -> [u32; 2] {
        [self.source.nx.div_ceil(self.row.tile), self.source.ny.div_ceil(self.rows)]
    }

    /// Warps share a row of so many threads, a power of two.
    #[inline(always)]
    const fn threads_of_row(&self) -> u32 {
        let threads = (self.row.tile / OUTPUTS).next_power_of_two();
        if threads < 4 { 4 } else { threads }
    }

    /// Threads of a block: one for each column, if that is possible.
    #[inline(always)]
    #[must_use]
    pub const fn threads(&self) -> u32 {
        let columns = self.row.columns().next_multiple_of(warp::SIZE);
        let columns = if columns < MOST { columns } else { MOST };
        let outputs = self.threads_of_row() * OUTPUTS;
        if outputs < columns { columns } else { outputs }
    }

    /// Rows of the ring.
    #[inline(always)]
    #[must_use]
    pub const fn ring(&self) -> u32 {
        (self.reach + OUTPUTS - 1).next_multiple_of(OUTPUTS)
    }

    /// Dynamic shared memory, for sums of so many bytes.
    #[inline(always)]
    #[must_use]
    pub const fn shared_bytes<const OWN: bool>(&self, bytes: u32) -> u32 {
        let between = if self.span > 0 && self.has_x != 0 { OUTPUTS } else { 0 };
        Weights::bytes(self.span, bytes)
            + Weights::bytes(self.row.span, bytes)
            + (between + self.ring()) * self.row.pitch::<OWN>(bytes)
    }

    /// Rows and columns that the tables have.
    #[must_use]
    pub const fn tables(&self) -> [u32; 2] {
        let [across, down] = self.blocks();
        [down * self.rows + self.ring(), across * self.row.tile + self.row.step * self.row.span]
    }
}

/// What a block has.
struct Block<'a, V: SumType, const OWN: bool> {
    launch: &'a LinesLaunch<V>,
    part: Part<'a, V, OWN>,
    output: *mut u8,
    /// First row and column of its outputs.
    at: [u32; 2],
    weights: [Weights; 2],
    between: Shared,
    ring: Shared,
}

#[inline(always)]
#[track_caller]
unsafe fn march<V: SumType, const OWN: bool>(
    input: *const u8,
    output: *mut u8,
    launch: &LinesLaunch<V>,
) {
    // SAFETY: the launch is as the kernel's contract says.
    unsafe {
        let block = Block::<V, OWN>::new(input, output, launch);
        let end = launch.rows.min(launch.source.ny - block.at[0]);
        let ring = launch.ring();
        load_rows(&block.part, &launch.row, 0, ring - OUTPUTS, |row| block.ring_row(row));
        let own = thread::thread_idx_x();
        let is_own = own < launch.row.columns();
        let column = if is_own { block.part.column(own) } else { OUTSIDE };
        let place = launch.row.column::<OWN>(own, V::BYTES);
        let fetch = |row: u32| ColumnLoads::load(&block.part, row, u32::MAX, column);
        let mut done = 0;
        // Where the rows of the next outputs begin in the ring.
        let mut first = 0;
        let mut coming = fetch(ring - OUTPUTS);
        while done < end {
            let newest = if first == 0 { ring - OUTPUTS } else { first - OUTPUTS };
            if is_own {
                let to = |index: u32| block.ring_row(newest + index).offset(place);
                coming.put::<OWN>(&launch.source, OUTPUTS, &to);
            }
            block.load_beside(done + ring - OUTPUTS, newest);
            thread::sync_threads();
            if done + OUTPUTS < end {
                coming = fetch(done + ring);
            }
            if launch.span > 0 {
                block.along_y(first, done, end, column);
            }
            if launch.has_x != 0 {
                if launch.span > 0 {
                    thread::sync_threads();
                }
                block.along_x(first, done, end);
            }
            if launch.span == 0 || launch.has_x == 0 {
                thread::sync_threads();
            }
            done += OUTPUTS;
            first = if first + OUTPUTS == ring { 0 } else { first + OUTPUTS };
        }
    }
}

impl<'a, V: SumType, const OWN: bool> Block<'a, V, OWN> {
    /// # Safety
    /// All threads of a block execute it.
    #[inline(always)]
    #[track_caller]
    unsafe fn new(input: *const u8, output: *mut u8, launch: &'a LinesLaunch<V>) -> Self {
        let source = &launch.source;
        let [across, down] = launch.blocks();
        // SAFETY: the launch is as the kernel's contract says.
        unsafe {
            let block = thread::block_idx_x();
            let (x, rest) = (block % across, block / across);
            let (y, plane) = (rest % down, rest / down);
            let at = [y * launch.rows, x * launch.row.tile];
            let points = plane as usize * source.ny as usize * source.nx as usize;
            let bytes = [0, 1].map(|which| points * source.kind::<OWN>(which).bytes as usize);
            let part = Part { source, input: input.wrapping_add(bytes[0]), first: at };
            let all = shared::dynamic();
            let along_y = Weights::copy::<V>(launch.weights, all, 1, launch.span, launch.counts[0]);
            let of_x = launch.span * V::BYTES / 4 + launch.span / GROUP;
            let to = all.offset(Weights::bytes(launch.span, V::BYTES));
            let from = launch.weights.wrapping_add(of_x as usize);
            let along_x = Weights::copy::<V>(from, to, 1, launch.row.span, launch.counts[1]);
            let between = to.offset(Weights::bytes(launch.row.span, V::BYTES));
            let pitch = launch.row.pitch::<OWN>(V::BYTES);
            let has_both = launch.span > 0 && launch.has_x != 0;
            let ring = if has_both { between.offset(OUTPUTS * pitch) } else { between };
            let output = output.wrapping_add(bytes[1]);
            Self { launch, part, output, at, weights: [along_y, along_x], between, ring }
        }
    }

    /// Bytes from a row of shared memory to the next.
    #[inline(always)]
    const fn pitch(&self) -> u32 {
        self.launch.row.pitch::<OWN>(V::BYTES)
    }

    #[inline(always)]
    const fn ring_row(&self, row: u32) -> Shared {
        self.ring.offset(row * self.pitch())
    }

    /// Loads the rows of columns beyond those that threads fetch ahead.
    #[inline(always)]
    #[track_caller]
    unsafe fn load_beside(&self, first: u32, newest: u32) {
        if OWN {
            return;
        }
        let row = &self.launch.row;
        // SAFETY: as the caller promises.
        unsafe {
            let mut column = thread::thread_idx_x() + thread::block_dim_x();
            while column < row.columns() {
                let (own, place) = (self.part.column(column), row.column::<OWN>(column, V::BYTES));
                let coming = ColumnLoads::load(&self.part, first, u32::MAX, own);
                let to = |index: u32| self.ring_row(newest + index).offset(place);
                coming.put::<OWN>(&self.launch.source, OUTPUTS, &to);
                column += thread::block_dim_x();
            }
        }
    }

    /// Sums along y of the rows that begin at `first` in the ring; `first_column` is where the thread's first column lies in the array.
    #[inline(always)]
    #[track_caller]
    unsafe fn along_y(&self, first: u32, done: u32, end: u32, first_column: u32) {
        let (launch, source) = (self.launch, &self.launch.source);
        let (row, ring) = (&launch.row, launch.ring());
        // SAFETY: as the caller promises.
        unsafe {
            let mut column = thread::thread_idx_x();
            let mut is_outside = first_column == OUTSIDE;
            while column < row.columns() {
                let place = row.column::<OWN>(column, V::BYTES);
                let mut sums = OutputSums::<V, 1>::ZERO;
                let (start, end_of_ring) =
                    (self.ring.offset(place), self.ring_row(ring).offset(place));
                let mut from = self.ring_row(first).offset(place);
                let inputs = || {
                    let row = |index: u32| V::load_shared(from.offset(index * self.pitch()));
                    let values = [row(0), row(1), row(2), row(3)];
                    from = from.offset(GROUP * self.pitch());
                    from = if from == end_of_ring { start } else { from };
                    values
                };
                let taken = WeightLines { weights: &self.weights[0], first: 0, has: 1 };
                sums.add_groups(&taken, inputs);
                let [sums] = sums.of.map(|sums| self.divided(sums, 0));
                if launch.has_x == 0 {
                    let x = self.at[1] + column;
                    if x < source.nx {
                        unroll!(index < 8 => self.store(done, end, x, index, sums[index]));
                    }
                } else {
                    unroll!(index < 8 => self.keep(place, is_outside, index, sums[index]));
                }
                if OWN {
                    // There is a thread for each column of a plain row.
                    break;
                }
                column += thread::block_dim_x();
                is_outside = column < row.columns() && self.part.column(column) == OUTSIDE;
            }
        }
    }

    /// Sums along x, of which each warp has rows of its own.
    #[inline(always)]
    #[track_caller]
    unsafe fn along_x(&self, first: u32, done: u32, end: u32) {
        let launch = self.launch;
        let (row, threads) = (&launch.row, launch.threads_of_row());
        let rows = if launch.span > 0 { self.between } else { self.ring_row(first) };
        // SAFETY: as the caller promises.
        unsafe {
            let thread = thread::thread_idx_x();
            let (number, own) = (thread % threads, thread / threads);
            let from = rows.offset(own * self.pitch());
            if warp::shuffle(own, 0) >= OUTPUTS {
                // Warps of columns that outputs read besides.
                return;
            }
            let has_some = number * OUTPUTS < row.tile;
            let place = row.outputs::<OWN>(if has_some { number } else { 0 });
            let mut sums = OutputSums::<V, 1>::ZERO;
            let taken = WeightLines { weights: &self.weights[1], first: 0, has: 1 };
            sums.add_groups(&taken, row.groups::<V, OWN>(from, place));
            let [sums] = sums.of.map(|sums| self.divided(sums, 1));
            if OWN && launch.is_aligned != 0 {
                let (x, y) = (self.at[1] + number * OUTPUTS, done + own);
                let nx = launch.source.nx;
                if has_some && y < end && x < nx {
                    let at = (self.at[0] + y) as usize * nx as usize + x as usize;
                    store_outputs(self.output, at, nx - x, sums);
                }
                return;
            }
            warp::sync();
            if has_some {
                put_outputs::<V, OWN>(row, from, place, sums);
            }
            warp::sync();
            let each = warp::SIZE / threads.min(warp::SIZE);
            let own = thread / warp::SIZE * each;
            let mut index = 0;
            while index < each {
                let y = done + own + index;
                if y < end {
                    let from = rows.offset((own + index) * self.pitch());
                    let place = (self.at[0] + y, self.at[1]);
                    store_row::<V, OWN>(&launch.source, row, from, self.output, place);
                }
                index += 1;
            }
        }
    }

    /// Stores a sum along y.
    #[inline(always)]
    #[track_caller]
    unsafe fn store(&self, done: u32, end: u32, x: u32, index: usize, sum: V) {
        let (source, row) = (&self.launch.source, done + index as u32);
        if row < end {
            let at = (self.at[0] + row) as usize * source.nx as usize + x as usize;
            let kind = source.kind::<OWN>(1);
            // SAFETY: an output that no other thread has.
            unsafe { numbers::store(kind, self.output, at, sum.cut(kind.number)) };
        }
    }

    /// Keeps a sum along y for those along x.
    #[inline(always)]
    #[track_caller]
    unsafe fn keep(&self, place: u32, is_outside: bool, index: usize, sum: V) {
        let source = &self.launch.source;
        // SAFETY: as the caller promises.
        unsafe {
            let sum = sum.cut_off(source.kind::<OWN>(1).number);
            let value = if is_outside { source.outside } else { sum };
            V::store_shared(self.between.offset(index as u32 * self.pitch() + place), value);
        }
    }

    /// Sums, divided.
    #[inline(always)]
    fn divided(&self, sums: [V; OUTPUTS as usize], axis: usize) -> [V; OUTPUTS as usize] {
        let by = self.launch.divisors[axis];
        if by.is_one() { sums } else { sums.map(|sum| sum.over(by)) }
    }
}

macro_rules! kernels {
    ($($number:ty: $name:ident, $registers:literal, $own:ident, $of_own:literal;)*) => {
        $(
            /// Sums along y and x of planes of any types, in
            #[doc = stringify!($number)]
            ///.
            ///
            /// # Safety
            /// Launch with [`LinesLaunch::threads`] threads, for each plane [`LinesLaunch::blocks`] blocks, along x first, with
            /// [`LinesLaunch::shared_bytes`] of dynamic shared memory. A row has at most 256 outputs of a block.
            /// `input` and `output` are different arrays of planes of the extents and types that `launch` has,
            /// aligned to their values. Its tables have as many entries as [`LinesLaunch::tables`] says; each is
            /// [`super::OUTSIDE`] or one of the array. There are as many weights.
            #[kernel(registers = $registers)]
            pub unsafe fn $name(input: *const u8, output: *mut u8, launch: LinesLaunch<$number>) {
                // SAFETY: the launch is as this function's contract says.
                unsafe { march::<_, false>(input, output, &launch) };
            }

            /// Sums along y and x of planes of the type of the sums.
            ///
            /// # Safety
            /// Launch with [`LinesLaunch::threads`] threads, for each plane [`LinesLaunch::blocks`] blocks, along x first, with
            /// [`LinesLaunch::shared_bytes`] of dynamic shared memory. A row has at most 256 outputs of a block, and is plain
            /// ([`RowLayout::is_plain`]). `input` and `output` are different arrays of planes of the extents that `launch` has, of values
            /// of the sums' type, aligned to them. The tables of `launch` have as many entries as [`LinesLaunch::tables`] says, of
            /// which each is [`super::OUTSIDE`] or one of the array, and there are as many weights.
            #[kernel(registers = $of_own)]
            pub unsafe fn $own(input: *const u8, output: *mut u8, launch: LinesLaunch<$number>) {
                // SAFETY: the launch is as this function's contract says.
                unsafe { march::<_, true>(input, output, &launch) };
            }

            #[cfg(not(target_arch = "nvptx64"))]
            impl LineKernels for $number {
                const LINES: [Entry<Parameters<$number>>; 2] = [Entry::of::<$name>(), Entry::of::<$own>()];
            }
        )*

        /// The names of all kernels of this module.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const KERNELS: &[&str] = &[$(stringify!($name), stringify!($own)),*];
    };
}

/// Parameters, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters<V> = (*const u8, *mut u8, LinesLaunch<V>);

/// The kernel of a type of sums.
#[cfg(not(target_arch = "nvptx64"))]
pub trait LineKernels: SumType {
    /// Of any types of values, and of arrays of the type of the sums.
    const LINES: [Entry<Parameters<Self>>; 2];
}

kernels! {
    f32: filter_lines_f32, 128, filter_lines_f32_own, 72;
    f64: filter_lines_f64, 160, filter_lines_f64_own, 160;
}
