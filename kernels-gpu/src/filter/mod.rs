// SPDX-License-Identifier: MIT OR Apache-2.0
//! Filters of arrays of any types that lie in C order without a halo, as `scipy.ndimage` has them: weighted sums, whose
//! neighbours beyond the array are where tables say.
//!
//! | module | kernels | for |
//! | --- | --- | --- |
//! | [`lines`] | a sum along y and then one along x of what it gave, in one launch | weights that are products of lines, any reach |
//! | [`line_strips`] | a sum along y and then one along x of f32, of as many weights each, up to 17, without zeros among them | |
//! | [`boxes`] | a sum over a box | any weights |
//! | [`strips`] | a sum over a box of up to 15 × 15 points of f32 without zeros among its weights | |
//! | [`bytes`] | a sum of bytes over a small box whose weights are whole numbers, or such divided by a power of two | images |
//! | [`byte_strips`] | a sum of that kind over up to 5 × 5 points | images |
//! | [`ordered`] | a sum whose terms are added in a given order, each product rounded by itself | whole numbers, whose digits are cut off |
//!
//! A block loads what its outputs read, converted to the type of the sums, into shared memory; threads that go down strips load it into
//! registers. Tables say for each row and
//! column that blocks read, also beyond the array, where it lies ([`InputArray`]); so kernels know of no rules for sides.

// Indices, because iterators that are cut short keep arrays out of registers.
#![allow(clippy::needless_range_loop)]

pub mod boxes;
pub mod byte_strips;
pub mod bytes;
pub mod line_strips;
pub mod lines;
pub mod numbers;
pub mod ordered;
pub mod strips;
mod sum;

use crate::unroll::unroll;
use cuda_std::shared::Shared;
use cuda_std::{global, shared, thread, warp};
use numbers::{SumType, ValueType};

/// What a table says of rows and columns beyond the array that are no image of one in it: their values are
/// [`InputArray::outside`].
pub const OUTSIDE: u32 = u32::MAX;
/// Outputs of a thread side by side.
pub const OUTPUTS: u32 = 8;
/// Weights that are taken at a time.
pub const GROUP: u32 = 4;
/// The most threads of a block.
pub const THREADS: u32 = 256;
/// Columns of a row of shared memory in kernels of arrays of the type of the sums: the compiler knows then how far apart rows are.
pub const COLUMNS: u32 = 352;

/// An array of planes, and where what is read beyond it lies.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq)]
pub struct InputArray<V> {
    /// Columns of the array by those that are read: the first is that of the first weight of the first output.
    pub columns: *const u32,
    /// Rows of the array by those that are read.
    pub rows: *const u32,
    /// The value of what has none in the array.
    pub outside: V,
    /// Type of the values that are read, and of those that are written ([`numbers`]).
    pub kinds: [ValueType; 2],
    /// Rows of a plane.
    pub ny: u32,
    /// Columns of a row.
    pub nx: u32,
    /// The row of the array that is the first to be read: what the table says, if it is one.
    pub first: i32,
}

impl<V: SumType> InputArray<V> {
    /// Type of the values that are read (0) or written (1). Of `OWN` arrays it is that of the sums, which the compiler knows.
    #[inline(always)]
    const fn kind<const OWN: bool>(&self, which: usize) -> ValueType {
        if OWN { V::OWN } else { self.kinds[which] }
    }
}

/// How the columns of a block lie in a row of shared memory: those of the same place among values that belong together side
/// by side, so that neighbours are neighbours there.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLayout {
    /// Outputs of a row of a block: a multiple of [`OUTPUTS`] times the values that belong together.
    pub tile: u32,
    /// Weights along x, a multiple of [`GROUP`].
    pub span: u32,
    /// Values that belong together.
    pub step: u32,
}

impl RowLayout {
    /// Columns that are loaded.
    #[inline(always)]
    #[must_use]
    pub const fn columns(&self) -> u32 {
        self.tile + self.step * self.span
    }

    /// Outputs of one of the values that belong together.
    #[inline(always)]
    const fn alone(&self) -> u32 {
        self.tile / self.step
    }

    /// Values from those of one to those of the next.
    #[inline(always)]
    const fn part(&self) -> u32 {
        (self.alone() + self.span).next_multiple_of(OUTPUTS)
    }

    /// The number of a column in a row of shared memory.
    #[inline(always)]
    const fn place<const OWN: bool>(&self, column: u32) -> u32 {
        if OWN || self.step == 1 {
            return column;
        }
        column % self.step * self.part() + column / self.step
    }

    /// The number of the first of [`OUTPUTS`] outputs in a row of shared memory, of those with this number.
    #[inline(always)]
    const fn outputs<const OWN: bool>(&self, number: u32) -> u32 {
        let first = number * OUTPUTS;
        if OWN || self.step == 1 {
            return first;
        }
        first / self.alone() * self.part() + first % self.alone()
    }

    /// Whether kernels of arrays of the type of the sums take such rows.
    #[must_use]
    pub const fn is_plain(&self) -> bool {
        self.step == 1 && self.columns() <= COLUMNS
    }

    /// Bytes of half a row. The groups of [`GROUP`] values with even numbers are the first half, the others the second, so that threads
    /// which load groups of eight outputs each meet in no bank; neither do those that store one value each.
    #[inline(always)]
    const fn half<const OWN: bool>(&self, bytes: u32) -> u32 {
        let columns = if OWN { COLUMNS } else { self.step * self.part() };
        (columns / 2 * bytes + 63) / 128 * 128 + 64
    }

    /// Bytes of a row of values of so many.
    #[inline(always)]
    #[must_use]
    pub const fn pitch<const OWN: bool>(&self, bytes: u32) -> u32 {
        2 * self.half::<OWN>(bytes)
    }

    /// Bytes from the start of a row to the value with a number.
    #[inline(always)]
    const fn offset<const OWN: bool>(&self, place: u32, bytes: u32) -> u32 {
        let half = place / GROUP % 2 * self.half::<OWN>(bytes);
        half + place / OUTPUTS * GROUP * bytes + place % GROUP * bytes
    }

    /// Bytes from the start of a row to the value of a column.
    #[inline(always)]
    const fn column<const OWN: bool>(&self, column: u32, bytes: u32) -> u32 {
        self.offset::<OWN>(self.place::<OWN>(column), bytes)
    }

    /// What gives the groups of values in a row of shared memory, from that of the output with a number on.
    ///
    /// # Safety
    /// Only in a kernel; the row has as many as are asked for, which are written and waited for.
    #[inline(always)]
    unsafe fn groups<V: SumType, const OWN: bool>(
        &self,
        row: Shared,
        place: u32,
    ) -> impl FnMut() -> [V; GROUP as usize] {
        let even = row.offset(place / OUTPUTS * GROUP * V::BYTES);
        let mut next = [even, even.offset(self.half::<OWN>(V::BYTES))];
        move || {
            let [now, later] = next;
            next = [later, now.offset(GROUP * V::BYTES)];
            // SAFETY: as the caller promises.
            unsafe { V::load_four(now) }
        }
    }
}

/// Weights in shared memory, in groups of [`GROUP`]. Those that do not count are not multiplied, so that what is infinite
/// reaches no further than the weights.
#[derive(Clone, Copy)]
struct Weights {
    values: Shared,
    /// A mask for each group.
    masks: Shared,
    /// Groups of a line.
    groups: u32,
    /// Which of them count.
    counts: Counts,
}

/// How many weights of all lines count, from the first on.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Groups without a zero.
    pub full: u32,
    /// Weights of the next group, which is the last; 0: there is none, or masks say which weights of the others count.
    pub tail: u32,
}

impl Weights {
    /// Bytes of so many weights, in groups, of so many bytes each.
    #[inline(always)]
    const fn bytes(count: u32, bytes: u32) -> u32 {
        count * bytes + (count / GROUP * 4).next_multiple_of(16)
    }

    /// Copies weights of lines of `span` to shared memory, where they are once all threads have waited.
    ///
    /// # Safety
    /// All threads of a block execute it. There are as many weights at `from`, and masks behind them, and as much room.
    #[inline(always)]
    #[track_caller]
    unsafe fn copy<V: SumType>(
        from: *const u32,
        to: Shared,
        lines: u32,
        span: u32,
        counts: Counts,
    ) -> Self {
        let count = lines * span;
        let words = count * V::BYTES / 4;
        // SAFETY: as the caller promises.
        unsafe {
            let mut word = thread::thread_idx_x();
            while word < words + count / GROUP {
                let value = global::load_constant(from.wrapping_add(word as usize));
                shared::store(to.offset(4 * word), value);
                word += thread::block_dim_x();
            }
        }
        Self { values: to, masks: to.offset(4 * words), groups: span / GROUP, counts }
    }

    /// Bytes of a line of weights.
    #[inline(always)]
    const fn line<V: SumType>(&self) -> u32 {
        self.groups * GROUP * V::BYTES
    }

    /// Which of the weights of the group at a place count: a bit for each.
    ///
    /// # Safety
    /// There is such a group, and whoever copied it has been waited for.
    #[inline(always)]
    #[track_caller]
    unsafe fn mask<V: SumType>(&self, group: Shared) -> u32 {
        let number = (group.0 - self.values.0) / (GROUP * V::BYTES);
        // SAFETY: as the caller promises.
        unsafe { shared::load(self.masks.offset(4 * number)) }
    }
}

/// A part of an array that a block reads: from a row and a column of the tables on.
struct Part<'a, V: SumType, const OWN: bool> {
    source: &'a InputArray<V>,
    input: *const u8,
    first: [u32; 2],
}

impl<V: SumType, const OWN: bool> Part<'_, V, OWN> {
    /// Where a column that is read lies in the array.
    ///
    /// # Safety
    /// The table has it.
    #[inline(always)]
    #[track_caller]
    unsafe fn column(&self, column: u32) -> u32 {
        // SAFETY: as the caller promises.
        unsafe {
            global::load_constant(
                self.source.columns.wrapping_add((self.first[1] + column) as usize),
            )
        }
    }

    /// Where a row that is read lies in the array.
    ///
    /// # Safety
    /// The table has it.
    #[inline(always)]
    #[track_caller]
    unsafe fn row(&self, row: u32) -> u32 {
        // SAFETY: as the caller promises.
        unsafe {
            global::load_constant(self.source.rows.wrapping_add((self.first[0] + row) as usize))
        }
    }
}

/// Where a row lies that is an entry of a table of rows, or [`OUTSIDE`]. The first entry is the row `first` of the array; rows in the
/// array, of which there are `ny`, are not looked up.
///
/// # Safety
/// The table has the entry.
#[inline(always)]
#[track_caller]
unsafe fn row_place(rows: *const u32, entry: u32, first: i32, ny: u32) -> u32 {
    // A row before the first one is a large number.
    let row = entry.wrapping_add_signed(first);
    if row < ny {
        return row;
    }
    // SAFETY: as the caller promises.
    unsafe { global::load_constant(rows.wrapping_add(entry as usize)) }
}

/// Values of a column, on their way: of [`OUTPUTS`] rows.
struct ColumnLoads<V: SumType> {
    bits: [V::Bits; OUTPUTS as usize],
    /// A bit for each that is one of the array.
    inside: u32,
}

impl<V: SumType> ColumnLoads<V> {
    /// None.
    const NOTHING: Self = Self { bits: [V::NOTHING; OUTPUTS as usize], inside: 0 };

    /// Loads the values of rows from `first` on, below `end`; `column` is one of the array, or [`OUTSIDE`].
    ///
    /// # Safety
    /// The table has the rows.
    #[inline(always)]
    #[track_caller]
    unsafe fn load<const OWN: bool>(
        part: &Part<V, OWN>,
        first: u32,
        end: u32,
        column: u32,
    ) -> Self {
        let mut coming = Self::NOTHING;
        if column == OUTSIDE {
            return coming;
        }
        let source = part.source;
        let row = (part.first[0] + first) as i32 + source.first;
        let is_inside = row >= 0 && row + OUTPUTS as i32 <= source.ny as i32;
        if is_inside && first + OUTPUTS <= end {
            // Row after row of the array.
            let at = row as usize * source.nx as usize + column as usize;
            let kind = source.kind::<OWN>(0);
            // SAFETY: as the caller promises: places of the array.
            unroll!(index < 8 => unsafe {
                coming.bits[index] = V::load(kind, part.input, at + index * source.nx as usize)
            });
            coming.inside = u32::MAX;
        } else {
            // SAFETY: as the caller promises.
            unroll!(index < 8 => unsafe { coming.load_one(part, first, end, column, index) });
        }
        coming
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load_one<const OWN: bool>(
        &mut self,
        part: &Part<V, OWN>,
        first: u32,
        end: u32,
        column: u32,
        index: usize,
    ) {
        let row = first + index as u32;
        if row >= end {
            return;
        }
        // SAFETY: the tables lead to places of the array.
        unsafe {
            let row = part.row(row);
            if row != OUTSIDE {
                let at = row as usize * part.source.nx as usize + column as usize;
                self.bits[index] = V::load(part.source.kind::<OWN>(0), part.input, at);
                self.inside |= 1 << index;
            }
        }
    }

    /// Puts those of rows below `count` where `to` says.
    ///
    /// # Safety
    /// Nobody else accesses those places.
    #[inline(always)]
    #[track_caller]
    unsafe fn put<const OWN: bool>(
        &self,
        source: &InputArray<V>,
        count: u32,
        to: &impl Fn(u32) -> Shared,
    ) {
        // SAFETY: as the caller promises.
        unsafe {
            if self.inside == u32::MAX {
                let kind = source.kind::<OWN>(0).number;
                unroll!(index < 8 => {
                    V::store_shared(to(index as u32), V::widen(kind, self.bits[index]))
                });
            } else {
                unroll!(index < 8 => self.put_one::<OWN>(source, count, to, index));
            }
        }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn put_one<const OWN: bool>(
        &self,
        source: &InputArray<V>,
        count: u32,
        to: &impl Fn(u32) -> Shared,
        index: usize,
    ) {
        if index as u32 >= count {
            return;
        }
        // SAFETY: as the caller promises.
        unsafe {
            let value = if self.inside >> index & 1 != 0 {
                V::widen(source.kind::<OWN>(0).number, self.bits[index])
            } else {
                source.outside
            };
            V::store_shared(to(index as u32), value);
        }
    }
}

/// Loads rows from `first` on, of all columns of a block, of which `to` says where each lies in shared memory.
///
/// # Safety
/// All threads of a block execute it; the tables have the rows and columns, and `to` leads to places that nobody reads.
#[inline(always)]
#[track_caller]
unsafe fn load_rows<V: SumType, const OWN: bool>(
    part: &Part<V, OWN>,
    row: &RowLayout,
    first: u32,
    count: u32,
    to: impl Fn(u32) -> Shared,
) {
    let columns = row.columns();
    // SAFETY: as the caller promises.
    unsafe {
        let (mut column, mut done) = (thread::thread_idx_x(), 0);
        loop {
            // Threads beyond the last column begin with the next rows.
            while column >= columns {
                column -= columns;
                done += OUTPUTS;
            }
            if done >= count {
                break;
            }
            let coming = ColumnLoads::load(part, first + done, first + count, part.column(column));
            let place = row.column::<OWN>(column, V::BYTES);
            let to = |index: u32| to(done + index).offset(place);
            coming.put::<OWN>(part.source, count - done, &to);
            column += thread::block_dim_x();
        }
    }
}

/// Puts outputs side by side into a row of shared memory.
///
/// # Safety
/// Nobody else accesses those places.
#[inline(always)]
#[track_caller]
unsafe fn put_outputs<V: SumType, const OWN: bool>(
    row: &RowLayout,
    to: Shared,
    place: u32,
    values: [V; OUTPUTS as usize],
) {
    let [a, b, c, d, e, f, g, h] = values;
    // SAFETY: as the caller promises.
    unsafe {
        V::store_row(to.offset(row.offset::<OWN>(place, V::BYTES)), &[a, b, c, d]);
        V::store_row(to.offset(row.offset::<OWN>(place + GROUP, V::BYTES)), &[e, f, g, h]);
    }
}

/// Stores outputs side by side at their place in an array of the type of the sums, whose rows begin at multiples of 16 bytes;
/// those below `count`.
///
/// # Safety
/// The array has them, and no other thread does.
#[inline(always)]
#[track_caller]
unsafe fn store_outputs<V: SumType>(
    to: *mut u8,
    at: usize,
    count: u32,
    values: [V; OUTPUTS as usize],
) {
    let [a, b, c, d, e, f, g, h] = values;
    // SAFETY: as the caller promises.
    unsafe {
        // Rows are whole groups.
        V::store_four(to.wrapping_add(at * V::BYTES as usize), [a, b, c, d]);
        if count > GROUP {
            let at = at + GROUP as usize;
            V::store_four(to.wrapping_add(at * V::BYTES as usize), [e, f, g, h]);
        }
    }
}

/// Stores a row of outputs, which a warp has, from shared memory.
///
/// # Safety
/// All lanes of a warp execute it; the row is one of the array, and was written before by this warp, which has waited.
#[inline(always)]
#[track_caller]
unsafe fn store_row<V: SumType, const OWN: bool>(
    source: &InputArray<V>,
    row: &RowLayout,
    from: Shared,
    to: *mut u8,
    (y, x): (u32, u32),
) {
    let kind = source.kind::<OWN>(1);
    // SAFETY: as the caller promises.
    unsafe {
        let mut column = warp::lane_id();
        while column < row.tile && x + column < source.nx {
            let value = V::load_shared(from.offset(row.column::<OWN>(column, V::BYTES)));
            let at = y as usize * source.nx as usize + (x + column) as usize;
            numbers::store(kind, to, at, value.cut(kind.number));
            column += warp::SIZE;
        }
    }
}
