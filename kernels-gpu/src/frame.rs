// SPDX-License-Identifier: MIT OR Apache-2.0
//! The points near the boundary, step by step: what makes a kernel exact that knows nothing of
//! boundaries, or takes several time steps at once.
//!
//! Such a kernel writes every point as if zeros lay around the grid before the first step and nothing
//! held them there. After it, this one computes the points that this is wrong for, from the same
//! input: each block a box of them, by taking the plain stencil's steps one by one in shared memory.
//!
//! **Patch.** A block loads all that its box depends on, at most a radius beyond the grid: there the
//! rule of the side gives the values. Beyond a periodic side the grid goes on, so that these points
//! are stepped as all others are. Sums and the values between steps are f32, or f64 for f64 grids.
//!
//! **Steps.** From one of two buffers to the other, in a region that shrinks by the radius each step,
//! down to the box, whose last step goes to the output. A thread computes [`ROWS`] rows of a column at
//! a time. Where a side reflects, its points are copied from their mirror images after each step.
//!
//! **Stencils.** Any, from a table of neighbours, each loaded once for the rows of a thread; or dense
//! ones of small radius, column by column of the weights: then each value is loaded once for all rows
//! of the column that it is a neighbour of.

// Indices, because iterators that are cut short keep arrays out of registers.
#![allow(clippy::needless_range_loop)]

use crate::boundary::{Domain, REFLECT, Range};
use crate::element::{Bf16, Element, F16, F32, F64, Real};
use crate::unroll::unroll;
use cuda_std::shared::{self, Shared};
use cuda_std::{global, grid, kernel, thread, warp};

/// Warps of a block.
pub const WARPS: u32 = 4;

/// Threads of a block.
pub const THREADS: u32 = WARPS * warp::SIZE;

/// Rows of a dense stencil that a thread computes at a time.
pub const ROWS: usize = 8;

/// The same of a stencil in a table, whose neighbours each need an address.
pub const TABLE_ROWS: usize = 4;

/// Rows of cells that [`ROWS`] rows of the widest dense stencil depend on.
const NEIGHBOUR_ROWS: usize = ROWS + 6;

/// Words of a box: where it starts and where it ends, as (z, y, x).
pub const BOX_WORDS: usize = 6;

/// What a launch computes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame<V> {
    /// The grid and what lies around it.
    pub domain: Domain<V>,
    /// Time steps.
    pub steps: i32,
    /// Neighbours in the table, or [`dense_taps`].
    pub taps: u32,
}

/// Weights in a column of a dense stencil of this width, with zeros at its end, so that four are a
/// load.
#[must_use]
pub const fn column_weights(width: u32) -> u32 {
    width.next_multiple_of(4)
}

/// What [`Frame::taps`] is for a dense stencil of so many planes of `width` × `width` weights: as large
/// is its table. In it, the columns of the planes follow each other.
#[must_use]
pub const fn dense_taps(planes: u32, width: u32) -> u32 {
    planes * width * column_weights(width) / 2
}

/// Words of a neighbour in the table: its offset ([`pack_offset`]) and its weight.
#[must_use]
pub const fn tap_words(real_bytes: u32) -> u32 {
    1 + real_bytes / 4
}

/// An offset (z, y, x) in a word.
#[must_use]
pub const fn pack_offset(offset: [i32; 3]) -> u32 {
    let [z, y, x] = offset;
    (z as u32 & 0xff) << 16 | (y as u32 & 0xff) << 8 | x as u32 & 0xff
}

#[inline(always)]
pub(crate) const fn unpack_offset(word: u32) -> [i32; 3] {
    [(word >> 16) as i8 as i32, (word >> 8) as i8 as i32, word as i8 as i32]
}

/// A box of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Box3 {
    /// Its z coordinates.
    pub z: Range,
    /// Its y coordinates.
    pub y: Range,
    /// Its x coordinates.
    pub x: Range,
}

impl<V: Copy> Frame<V> {
    /// What a box depends on so many steps before.
    #[inline(always)]
    #[must_use]
    pub fn reach(&self, of: Box3, steps: i32) -> Box3 {
        let Domain { z, y, x, .. } = &self.domain;
        Box3 { z: z.reach(of.z, steps), y: y.reach(of.y, steps), x: x.reach(of.x, steps) }
    }

    /// The part of it that follows from neighbours, not from the rule of a side.
    #[inline(always)]
    fn computed(&self, of: Box3) -> Box3 {
        let Domain { z, y, x, .. } = &self.domain;
        Box3 { z: z.computed(of.z), y: y.computed(of.y), x: x.computed(of.x) }
    }

    #[inline(always)]
    fn reflects(&self) -> bool {
        let Domain { z, y, x, .. } = &self.domain;
        [z.low, z.high, y.low, y.high, x.low, x.high].contains(&REFLECT)
    }
}

/// Dynamic shared memory of a block, in bytes: the neighbours and the patch of `cells` points, twice
/// if a step reads what another one has written.
#[must_use]
pub const fn shared_bytes(real_bytes: u32, taps: u32, steps: i32, cells: u32) -> u32 {
    let buffers = if steps > 1 { 2 } else { 1 };
    taps * 2 * real_bytes + buffers * cells * real_bytes
}

/// Cells of the patch that holds a box.
#[must_use]
pub const fn cells(of: Box3) -> u64 {
    of.z.len() as u64 * of.y.len() as u64 * of.x.len() as u64
}

/// Where the cells of the patch lie in a buffer.
#[derive(Clone, Copy)]
struct Patch {
    z: i32,
    y: i32,
    x: i32,
    plane: i32,
    pitch: i32,
    cell_bytes: i32,
}

impl Patch {
    #[inline(always)]
    fn new(of: Box3, cell_bytes: u32) -> Self {
        let pitch = of.x.len() * cell_bytes as i32;
        let plane = of.y.len() * pitch;
        Self { z: of.z.low, y: of.y.low, x: of.x.low, plane, pitch, cell_bytes: cell_bytes as i32 }
    }

    #[inline(always)]
    fn offset(&self, [z, y, x]: [i32; 3]) -> i32 {
        z * self.plane + y * self.pitch + x * self.cell_bytes
    }

    #[inline(always)]
    fn at(&self, buffer: Shared, z: i32, y: i32, x: i32) -> Shared {
        buffer.offset(self.offset([z - self.z, y - self.y, x - self.x]) as u32)
    }
}

/// A thread's way through a box, a column of some rows at a time: they are dealt out to the threads in
/// C order.
struct Walk {
    of: Box3,
    rows: i32,
    /// Groups of rows.
    groups: Divisor,
    columns: Divisor,
    index: u32,
    count: u32,
}

impl Walk {
    #[inline(always)]
    #[track_caller]
    unsafe fn new(of: Box3, rows: i32) -> Self {
        let empty = of.z.is_empty() || of.y.is_empty() || of.x.is_empty();
        let groups = if empty { 1 } else { (of.y.len() + rows - 1) / rows };
        let columns = if empty { 1 } else { of.x.len() };
        let count = if empty { 0 } else { (of.z.len() * groups * columns) as u32 };
        let (groups, columns) = (Divisor::new(groups as u32), Divisor::new(columns as u32));
        // SAFETY: reads a special register.
        let index = unsafe { thread::thread_idx_x() };
        Self { of, rows, groups, columns, index, count }
    }

    /// The next plane, first row and column.
    #[inline(always)]
    fn next(&mut self) -> Option<[i32; 3]> {
        if self.index >= self.count {
            return None;
        }
        let (rest, column) = self.columns.divide(self.index);
        let (plane, group) = self.groups.divide(rest);
        self.index += THREADS;
        let Box3 { z, y, x } = self.of;
        Some([z.low + plane as i32, y.low + group as i32 * self.rows, x.low + column as i32])
    }
}

/// A number to divide by several times.
#[derive(Clone, Copy)]
struct Divisor {
    number: u32,
    /// 2^32 / number, rounded up.
    inverse: u64,
}

impl Divisor {
    #[inline(always)]
    fn new(number: u32) -> Self {
        Self { number, inverse: u64::from(u32::MAX / number) + 1 }
    }

    /// Quotient and rest. Exact, as a patch has fewer than 2^16 cells: the product exceeds the
    /// quotient by less than index / 2^32, which is less than 1 / number.
    #[inline(always)]
    fn divide(self, index: u32) -> (u32, u32) {
        let quotient = ((u64::from(index) * self.inverse) >> 32) as u32;
        (quotient, index - quotient * self.number)
    }
}

/// A block's share of a launch.
struct Block<'a, E: Element, const PLANES: usize, const WIDTH: usize> {
    frame: &'a Frame<E::Real>,
    patch: Patch,
    /// Offset in the patch and weight of each neighbour, or the columns of a dense stencil.
    taps: Shared,
    taps_end: Shared,
}

/// The kernel for one element type, for dense stencils of `PLANES` × `WIDTH` × `WIDTH` weights or any
/// (`PLANES` = 0).
#[inline(always)]
#[track_caller]
unsafe fn frame<E: Element, const PLANES: usize, const WIDTH: usize>(
    input: *const E::Stored,
    output: *mut E::Stored,
    frame: &Frame<E::Real>,
    boxes: *const u32,
    taps: *const u32,
) {
    const { assert!(WIDTH <= 7, "the rows of neighbours have room") };
    let real_bytes = E::Real::BYTES;
    // SAFETY: the launch's pointers are valid for the layout and the tables; every thread of the block
    // comes to every barrier, because what their number depends on is the same for all.
    unsafe {
        grid::start_next();
        let target = load_box(boxes.wrapping_add(thread::block_idx_x() as usize * BOX_WORDS));
        let reach = frame.reach(target, frame.steps);
        let patch = Patch::new(reach, real_bytes);
        let start = shared::dynamic();
        let taps_end = start.offset(frame.taps * 2 * real_bytes);
        let block = Block::<E, PLANES, WIDTH> { frame, patch, taps: start, taps_end };
        if PLANES == 0 {
            block.load_taps(taps);
        } else {
            block.load_columns(taps);
        }
        let mut buffers = [taps_end, taps_end.offset(cells(reach) as u32 * real_bytes)];
        let computed = frame.computed(reach);
        block.surround(reach, computed, buffers, false);
        grid::wait_for_previous();
        block.load_points(input, computed, buffers[0]);
        thread::sync_threads();
        if frame.reflects() {
            block.surround(reach, computed, buffers, true);
            thread::sync_threads();
        }
        let mut left = frame.steps - 1;
        loop {
            let reach = frame.reach(target, left);
            let computed = frame.computed(reach);
            block.step(computed, buffers, (left == 0).then_some(output));
            if left == 0 {
                return;
            }
            left -= 1;
            buffers = [buffers[1], buffers[0]];
            thread::sync_threads();
            if frame.reflects() {
                block.surround(reach, computed, buffers, true);
                thread::sync_threads();
            }
        }
    }
}

#[inline(always)]
#[track_caller]
unsafe fn load_box(words: *const u32) -> Box3 {
    // SAFETY: as the caller promises, a box of the table, which nobody writes.
    let word = |i| unsafe { global::load_constant(words.wrapping_add(i)) as i32 };
    let range = |axis| Range { low: word(axis), high: word(axis + 3) };
    Box3 { z: range(0), y: range(1), x: range(2) }
}

impl<E: Element, const PLANES: usize, const WIDTH: usize> Block<'_, E, PLANES, WIDTH> {
    /// Rows that a thread computes at a time.
    const ROWS: usize = if PLANES == 0 { TABLE_ROWS } else { ROWS };

    const TAP_BYTES: u32 = 2 * E::Real::BYTES;

    #[inline(always)]
    #[track_caller]
    unsafe fn load_taps(&self, table: *const u32) {
        // SAFETY: reads a special register.
        let mut tap = unsafe { thread::thread_idx_x() };
        while tap < self.frame.taps {
            let words = table.wrapping_add((tap * tap_words(E::Real::BYTES)) as usize);
            let to = self.taps.offset(tap * Self::TAP_BYTES);
            // SAFETY: the table has so many neighbours and the shared memory room for them.
            unsafe {
                let offset = unpack_offset(global::load_constant(words));
                shared::store(to, self.patch.offset(offset) as u32);
                let weight = E::Real::load_constant(words.wrapping_add(1));
                E::Real::store_shared(to.offset(E::Real::BYTES), weight);
            }
            tap += THREADS;
        }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load_columns(&self, table: *const u32) {
        // SAFETY: reads a special register.
        let mut word = unsafe { thread::thread_idx_x() };
        while 4 * word < self.frame.taps * Self::TAP_BYTES {
            // SAFETY: the table has so many words and the shared memory room for them.
            unsafe {
                let weight = global::load_constant(table.wrapping_add(word as usize));
                shared::store(self.taps.offset(4 * word), weight);
            }
            word += THREADS;
        }
    }

    /// Loads the cells of a box: points of the grid and of its copies along periodic axes.
    #[inline(always)]
    #[track_caller]
    unsafe fn load_points(&self, input: *const E::Stored, of: Box3, buffer: Shared) {
        // SAFETY: in a kernel.
        let mut walk = unsafe { Walk::new(of, 1) };
        loop {
            // SAFETY: the cells of the box, each by one thread.
            unsafe {
                // Issues all loads before it uses what the first one brings.
                let mut next = || self.load_point(input, walk.next());
                let points = [next(), next(), next(), next()];
                unroll!(point < 4 => if let Some((offset, bits)) = points[point] {
                    E::Real::store_shared(buffer.offset(offset), E::widen(bits));
                });
                if points[3].is_none() {
                    return;
                }
            }
        }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load_point(
        &self,
        input: *const E::Stored,
        at: Option<[i32; 3]>,
    ) -> Option<(u32, E::Stored)> {
        let [z, y, x] = at?;
        let domain = &self.frame.domain;
        let position = domain.position(domain.z.wrap(z), domain.y.wrap(y), domain.x.wrap(x));
        // SAFETY: a point of the grid.
        let bits = unsafe { E::load(input.wrapping_offset(position)) };
        Some((self.patch.at(Shared(0), z, y, x).0, bits))
    }

    /// One step of the cells of a box, to the other buffer or to the output.
    #[inline(always)]
    #[track_caller]
    unsafe fn step(&self, of: Box3, [from, to]: [Shared; 2], output: Option<*mut E::Stored>) {
        // SAFETY: in a kernel.
        let mut walk = unsafe { Walk::new(of, Self::ROWS as i32) };
        while let Some([z, y, x]) = walk.next() {
            // SAFETY: cells of the box, whose neighbours lie in the patch; no other thread has them.
            let sums = unsafe { self.sums(from, of.y, [z, y, x]) };
            for row in 0..Self::ROWS {
                let y = y + row as i32;
                if y >= of.y.high {
                    continue;
                }
                // SAFETY: as above; in the last step, points of the grid.
                unsafe {
                    if let Some(output) = output {
                        let position = self.frame.domain.position(z, y, x);
                        E::store(output.wrapping_offset(position), sums[row]);
                    } else {
                        E::Real::store_shared(self.patch.at(to, z, y, x), sums[row]);
                    }
                }
            }
        }
    }

    /// The sums of [`Self::ROWS`] rows of a column; past the last row, anything.
    #[inline(always)]
    #[track_caller]
    unsafe fn sums(&self, from: Shared, rows: Range, at: [i32; 3]) -> [E::Real; ROWS] {
        let mut sums = [E::Real::ZERO; ROWS];
        // SAFETY: as the caller promises.
        unsafe {
            if PLANES == 0 {
                self.add_table(&mut sums, from, rows, at);
            } else {
                unroll!(plane < PLANES => self.add_plane(&mut sums, from, rows, at, plane));
            }
            for row in 0..Self::ROWS {
                sums[row] = sums[row].pin();
            }
        }
        sums
    }

    /// Adds the neighbours in a plane of a dense stencil.
    #[inline(always)]
    #[track_caller]
    unsafe fn add_plane(
        &self,
        sums: &mut [E::Real; ROWS],
        from: Shared,
        rows: Range,
        [z, y, x]: [i32; 3],
        plane: usize,
    ) {
        let radius = (WIDTH / 2) as i32;
        let z = z + plane as i32 - (PLANES / 2) as i32;
        // Past the last row's neighbours there may be no cells: the last ones again.
        let last = rows.high - 1 + radius;
        let mut cells = [from; NEIGHBOUR_ROWS];
        for row in 0..ROWS + WIDTH - 1 {
            let y = y + row as i32 - radius;
            cells[row] = self.patch.at(from, z, if y < last { y } else { last }, x - radius);
        }
        // SAFETY: as the caller promises.
        unroll!(dx < WIDTH => unsafe { self.add_column(sums, &cells, plane * WIDTH + dx, dx) });
    }

    /// Adds a column of neighbours to all rows of sums.
    #[inline(always)]
    #[track_caller]
    unsafe fn add_column(
        &self,
        sums: &mut [E::Real; ROWS],
        cells: &[Shared; NEIGHBOUR_ROWS],
        column: usize,
        dx: usize,
    ) {
        let length = column_weights(WIDTH as u32) as usize;
        let at = self.taps.offset((column * length) as u32 * E::Real::BYTES);
        // SAFETY: the columns are loaded, and the caller has cells with all neighbours.
        unsafe {
            let first = E::Real::load_four(at);
            let second =
                if WIDTH > 4 { E::Real::load_four(at.offset(4 * E::Real::BYTES)) } else { first };
            let weight = |dy: usize| if dy < 4 { first[dy] } else { second[dy - 4] };
            unroll!(row < ROWS + WIDTH - 1 => {
                let cell = Self::cell(cells, row).offset(dx as u32 * E::Real::BYTES);
                add_value::<E::Real, WIDTH>(sums, E::Real::load_shared(cell), row, weight)
            });
        }
    }

    #[inline(always)]
    fn cell(cells: &[Shared; NEIGHBOUR_ROWS], row: usize) -> Shared {
        cells[row]
    }

    /// Adds the neighbours in the table.
    #[inline(always)]
    #[track_caller]
    unsafe fn add_table(
        &self,
        sums: &mut [E::Real; ROWS],
        from: Shared,
        rows: Range,
        [z, y, x]: [i32; 3],
    ) {
        let mut cells = [from; TABLE_ROWS];
        for row in 0..TABLE_ROWS {
            let y = y + row as i32;
            // Past the last row, that one again.
            let y = if y < rows.high { y } else { rows.high - 1 };
            cells[row] = self.patch.at(from, z, y, x);
        }
        let mut tap = self.taps;
        while tap != self.taps_end {
            // SAFETY: the taps are loaded, and the caller has cells with all neighbours.
            unsafe {
                let offset = shared::load(tap);
                let weight = E::Real::load_shared(tap.offset(E::Real::BYTES));
                for row in 0..TABLE_ROWS {
                    let neighbour = Shared(cells[row].0.wrapping_add(offset));
                    sums[row] = E::Real::load_shared(neighbour).multiply_add(weight, sums[row]);
                }
            }
            tap = tap.offset(Self::TAP_BYTES);
        }
    }

    /// Fills the cells around the computed ones: before the first step those of a constant value, in
    /// both buffers, because no step writes them; after every step those that mirror others.
    #[inline(always)]
    #[track_caller]
    unsafe fn surround(&self, reach: Box3, computed: Box3, buffers: [Shared; 2], mirrors: bool) {
        let Box3 { z, y, x } = computed;
        let mut side = 0;
        while side < 6 {
            let beside = |all: Range, inner: Range| {
                if side % 2 == 0 {
                    Range { low: all.low, high: inner.low }
                } else {
                    Range { low: inner.high, high: all.high }
                }
            };
            let of = match side / 2 {
                0 => Box3 { z: beside(reach.z, z), ..reach },
                1 => Box3 { y: beside(reach.y, y), z, x: reach.x },
                _ => Box3 { x: beside(reach.x, x), z, y },
            };
            // SAFETY: as the caller promises.
            unsafe { self.surround_with(of, buffers, mirrors) };
            side += 1;
        }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn surround_with(&self, of: Box3, buffers: [Shared; 2], mirrors: bool) {
        if of.z.is_empty() || of.y.is_empty() || of.x.is_empty() {
            return;
        }
        // SAFETY: in a kernel.
        let mut walk = unsafe { Walk::new(of, 1) };
        while let Some([z, y, x]) = walk.next() {
            let to = self.patch.at(Shared(0), z, y, x).0;
            // SAFETY: this cell is no other thread's; its mirror image is a computed cell, because the
            // region reaches as far into the grid as out of it.
            unsafe {
                match self.frame.domain.mirror(z, y, x) {
                    Ok([z, y, x]) if mirrors => {
                        let value = E::Real::load_shared(self.patch.at(buffers[0], z, y, x));
                        E::Real::store_shared(buffers[0].offset(to), value);
                    }
                    Err(value) if !mirrors => {
                        E::Real::store_shared(buffers[0].offset(to), value);
                        if self.frame.steps > 1 {
                            E::Real::store_shared(buffers[1].offset(to), value);
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}

/// Adds a value in a row of cells to all rows of sums that it is a neighbour of.
#[inline(always)]
unsafe fn add_value<R: Real, const WIDTH: usize>(
    sums: &mut [R; ROWS],
    value: R,
    row: usize,
    weight: impl Fn(usize) -> R,
) {
    for dy in 0..WIDTH {
        if row >= dy && row - dy < ROWS {
            // SAFETY: in a kernel.
            sums[row - dy] = unsafe { value.multiply_add(weight(dy), sums[row - dy]) };
        }
    }
}

macro_rules! kernels {
    ($($name:ident: $element:ty, $stored:ty, $real:ty, $planes:literal, $width:literal;)*) => {$(
        /// Points near the boundary of a grid of
        #[doc = stringify!($element)]
        /// after some time steps of any stencil, or of a dense one if the name has its dimensions and
        /// radius.
        ///
        /// # Safety
        /// Launch with [`THREADS`] threads, a block for each of `boxes` ([`BOX_WORDS`] words each,
        /// which lie in the grid and do not meet), and [`shared_bytes`] of dynamic shared memory for
        /// the largest of them. `taps` has [`tap_words`] words for each neighbour, within the radii
        /// of the domain, or the columns of the dense stencil ([`dense_taps`]). `input` and `output`
        /// point at grid point (0, 0, 0) of two different arrays laid out as in [`crate::layout`].
        #[kernel]
        pub unsafe fn $name(
            input: *const $stored,
            output: *mut $stored,
            launch: Frame<$real>,
            boxes: *const u32,
            taps: *const u32,
        ) {
            // SAFETY: the launch is as this function's contract says.
            unsafe { frame::<$element, $planes, $width>(input, output, &launch, boxes, taps) };
        }
    )*};
}

kernels! {
    frame_f16: F16, u16, f32, 0, 0;
    frame_f16_2d_r1: F16, u16, f32, 1, 3;
    frame_f16_2d_r2: F16, u16, f32, 1, 5;
    frame_f16_2d_r3: F16, u16, f32, 1, 7;
    frame_f16_3d_r1: F16, u16, f32, 3, 3;
    frame_bf16: Bf16, u16, f32, 0, 0;
    frame_bf16_2d_r1: Bf16, u16, f32, 1, 3;
    frame_bf16_2d_r2: Bf16, u16, f32, 1, 5;
    frame_bf16_2d_r3: Bf16, u16, f32, 1, 7;
    frame_bf16_3d_r1: Bf16, u16, f32, 3, 3;
    frame_f32: F32, u32, f32, 0, 0;
    frame_f32_2d_r1: F32, u32, f32, 1, 3;
    frame_f32_2d_r2: F32, u32, f32, 1, 5;
    frame_f32_2d_r3: F32, u32, f32, 1, 7;
    frame_f32_3d_r1: F32, u32, f32, 3, 3;
    frame_f64: F64, u64, f64, 0, 0;
}
