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
//! down to the box, whose last step goes to the output. A warp computes 32 columns of [`ROWS`] rows
//! at a time. Where a side reflects, its points are copied from their mirror images after each step.

use crate::boundary::{Domain, REFLECT, Range};
use crate::element::{Bf16, Element, F16, F32, F64, Real};
use cuda_std::shared::{self, Shared};
use cuda_std::{global, grid, kernel, thread, warp};

/// Warps of a block.
pub const WARPS: u32 = 4;

/// Threads of a block.
pub const THREADS: u32 = WARPS * warp::SIZE;

/// Rows that a thread computes at a time: as often it uses a weight that it has loaded.
pub const ROWS: usize = 4;

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
    /// Neighbours of the stencil.
    pub taps: u32,
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

/// A warp's way through a box, 32 columns of some rows at a time, every [`WARPS`]-th of them.
struct Walk {
    of: Box3,
    rows: i32,
    lane: i32,
    /// Where it is: plane, rows and columns, counted from the box's start.
    at: [i32; 3],
    /// How many of them there are.
    count: [i32; 3],
    /// What the next one is ahead.
    stride: [i32; 3],
}

impl Walk {
    #[inline(always)]
    unsafe fn new(of: Box3, rows: i32) -> Self {
        // SAFETY: reads special registers.
        let (thread, lane) = unsafe { (thread::thread_idx_x(), warp::lane_id()) };
        let groups = (of.y.len() + rows - 1) / rows;
        let chunks = (of.x.len() + warp::SIZE as i32 - 1) / warp::SIZE as i32;
        let empty = of.z.is_empty() || of.y.is_empty() || of.x.is_empty();
        let count = if empty { [0, 1, 1] } else { [of.z.len(), groups, chunks] };
        let split = |index: u32| {
            let (index, groups, chunks) = (index, count[1] as u32, count[2] as u32);
            let rest = index / chunks;
            [(rest / groups) as i32, (rest % groups) as i32, (index % chunks) as i32]
        };
        let (at, stride) = (split(thread / warp::SIZE), split(WARPS));
        Self { of, rows, lane: lane as i32, at, count, stride }
    }

    /// The next plane, first row and column of this lane; the column may lie past the box's end.
    #[inline(always)]
    fn next(&mut self) -> Option<[i32; 3]> {
        let [plane, group, chunk] = self.at;
        if plane >= self.count[0] {
            return None;
        }
        let at = [
            self.of.z.low + plane,
            self.of.y.low + group * self.rows,
            self.of.x.low + chunk * warp::SIZE as i32 + self.lane,
        ];
        let (mut plane, mut group, mut chunk) =
            (plane + self.stride[0], group + self.stride[1], chunk + self.stride[2]);
        if chunk >= self.count[2] {
            chunk -= self.count[2];
            group += 1;
        }
        if group >= self.count[1] {
            group -= self.count[1];
            plane += 1;
        }
        self.at = [plane, group, chunk];
        Some(at)
    }
}

/// No offset in a patch.
const NOWHERE: u32 = u32::MAX;

/// A cell to be filled.
struct Cell<E: Element> {
    /// In the patch, or [`NOWHERE`].
    offset: u32,
    source: Source<E>,
}

/// What a cell is filled with.
enum Source<E: Element> {
    Point(E::Stored),
    Value(E::Real),
}

/// A block's share of a launch.
struct Block<'a, E: Element> {
    frame: &'a Frame<E::Real>,
    /// The points that it writes.
    target: Box3,
    patch: Patch,
    /// Offset in the patch and weight of each neighbour.
    taps: Shared,
    taps_end: Shared,
}

/// The kernel for one element type.
#[inline(always)]
#[track_caller]
unsafe fn frame<E: Element>(
    input: *const E::Stored,
    output: *mut E::Stored,
    frame: &Frame<E::Real>,
    boxes: *const u32,
    taps: *const u32,
) {
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
        let block = Block::<E> { frame, target, patch, taps: start, taps_end };
        block.load_taps(taps);
        let mut buffers = [taps_end, taps_end.offset(cells(reach) as u32 * real_bytes)];
        grid::wait_for_previous();
        block.load_patch(input, reach, buffers);
        thread::sync_threads();
        let mut left = frame.steps - 1;
        while left > 0 {
            let reach = frame.reach(target, left);
            let computed = frame.computed(reach);
            block.step(computed, buffers);
            thread::sync_threads();
            if frame.reflects() {
                block.reflect(reach, computed, buffers[1]);
                thread::sync_threads();
            }
            buffers = [buffers[1], buffers[0]];
            left -= 1;
        }
        block.last_step(output, buffers[0]);
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

impl<E: Element> Block<'_, E> {
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

    /// Loads all cells; those of a constant value into both buffers, because no step writes them.
    #[inline(always)]
    #[track_caller]
    unsafe fn load_patch(&self, input: *const E::Stored, reach: Box3, buffers: [Shared; 2]) {
        // SAFETY: in a kernel.
        let mut walk = unsafe { Walk::new(reach, 1) };
        loop {
            // SAFETY: the cells of the patch, each by one thread.
            unsafe {
                // Issues all loads before it uses what the first one brings.
                let mut next = || self.load_cell(input, reach, walk.next());
                let (a, b, c, d) = (next(), next(), next(), next());
                let last = d.is_none();
                self.fill_cell(buffers, a);
                self.fill_cell(buffers, b);
                self.fill_cell(buffers, c);
                self.fill_cell(buffers, d);
                if last {
                    return;
                }
            }
        }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load_cell(
        &self,
        input: *const E::Stored,
        reach: Box3,
        at: Option<[i32; 3]>,
    ) -> Option<Cell<E>> {
        let [z, y, x] = at?;
        if x >= reach.x.high {
            return Some(Cell { offset: NOWHERE, source: Source::Value(E::Real::ZERO) });
        }
        let offset = self.patch.at(Shared(0), z, y, x).0;
        let source = match self.frame.domain.resolve(z, y, x) {
            // SAFETY: a point of the grid.
            Ok(at) => Source::Point(unsafe { E::load(input.wrapping_offset(at)) }),
            Err(value) => Source::Value(value),
        };
        Some(Cell { offset, source })
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn fill_cell(&self, buffers: [Shared; 2], cell: Option<Cell<E>>) {
        let Some(Cell { offset, source }) = cell else { return };
        if offset == NOWHERE {
            return;
        }
        // SAFETY: a cell of the patch that no other thread fills.
        unsafe {
            match source {
                Source::Point(bits) => {
                    E::Real::store_shared(buffers[0].offset(offset), E::widen(bits));
                }
                Source::Value(value) => {
                    E::Real::store_shared(buffers[0].offset(offset), value);
                    if self.frame.steps > 1 {
                        E::Real::store_shared(buffers[1].offset(offset), value);
                    }
                }
            }
        }
    }

    /// One step of the cells of a box.
    #[inline(always)]
    #[track_caller]
    unsafe fn step(&self, of: Box3, [from, to]: [Shared; 2]) {
        // SAFETY: in a kernel.
        let mut walk = unsafe { Walk::new(of, ROWS as i32) };
        while let Some([z, y, x]) = walk.next() {
            if x >= of.x.high {
                continue;
            }
            // SAFETY: cells of the box, whose neighbours lie in the patch; no other thread has them.
            unsafe {
                let sums = self.sums(from, of.y, [z, y, x]);
                for row in 0..ROWS {
                    let y = y + row as i32;
                    if y < of.y.high {
                        E::Real::store_shared(self.patch.at(to, z, y, x), sums[row]);
                    }
                }
            }
        }
    }

    /// The step to the points that this block writes.
    #[inline(always)]
    #[track_caller]
    unsafe fn last_step(&self, output: *mut E::Stored, from: Shared) {
        let of = self.target;
        // SAFETY: in a kernel.
        let mut walk = unsafe { Walk::new(of, ROWS as i32) };
        while let Some([z, y, x]) = walk.next() {
            if x >= of.x.high {
                continue;
            }
            // SAFETY: points of the grid, which no other thread has.
            unsafe {
                let sums = self.sums(from, of.y, [z, y, x]);
                for row in 0..ROWS {
                    let y = y + row as i32;
                    if y < of.y.high {
                        let position = self.frame.domain.position(z, y, x);
                        E::store(output.wrapping_offset(position), sums[row]);
                    }
                }
            }
        }
    }

    /// The sums of [`ROWS`] rows of a column; past the last row, those of the last row again.
    #[inline(always)]
    #[track_caller]
    unsafe fn sums(&self, from: Shared, rows: Range, [z, y, x]: [i32; 3]) -> [E::Real; ROWS] {
        let mut cells = [from; ROWS];
        for row in 0..ROWS {
            let y = y + row as i32;
            let y = if y < rows.high { y } else { rows.high - 1 };
            cells[row] = self.patch.at(from, z, y, x);
        }
        let mut sums = [E::Real::ZERO; ROWS];
        let mut tap = self.taps;
        while tap != self.taps_end {
            // SAFETY: the taps are loaded, and the caller has cells with all neighbours.
            unsafe {
                let offset = shared::load(tap);
                let weight = E::Real::load_shared(tap.offset(E::Real::BYTES));
                for row in 0..ROWS {
                    let neighbour = Shared(cells[row].0.wrapping_add(offset));
                    sums[row] = E::Real::load_shared(neighbour).multiply_add(weight, sums[row]);
                }
            }
            tap = tap.offset(Self::TAP_BYTES);
        }
        sums
    }

    /// Copies the mirror images of computed cells to the cells around them.
    #[inline(always)]
    #[track_caller]
    unsafe fn reflect(&self, reach: Box3, computed: Box3, buffer: Shared) {
        let Box3 { z, y, x } = computed;
        let before = |all: Range, inner: Range| Range { low: all.low, high: inner.low };
        let after = |all: Range, inner: Range| Range { low: inner.high, high: all.high };
        // SAFETY: as the caller promises: cells of the patch, and nobody else writes to them.
        unsafe {
            self.reflect_box(Box3 { z: before(reach.z, z), ..reach }, buffer);
            self.reflect_box(Box3 { z: after(reach.z, z), ..reach }, buffer);
            self.reflect_box(Box3 { y: before(reach.y, y), z, x: reach.x }, buffer);
            self.reflect_box(Box3 { y: after(reach.y, y), z, x: reach.x }, buffer);
            self.reflect_box(Box3 { x: before(reach.x, x), z, y }, buffer);
            self.reflect_box(Box3 { x: after(reach.x, x), z, y }, buffer);
        }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn reflect_box(&self, of: Box3, buffer: Shared) {
        let domain = &self.frame.domain;
        // SAFETY: in a kernel.
        let mut walk = unsafe { Walk::new(of, 1) };
        while let Some([z, y, x]) = walk.next() {
            if x >= of.x.high {
                continue;
            }
            // What has a constant value along any axis keeps it.
            let Ok(from_x) = domain.x.mirror(x) else { continue };
            let Ok(from_y) = domain.y.mirror(y) else { continue };
            let Ok(from_z) = domain.z.mirror(z) else { continue };
            // SAFETY: the mirror image is a computed cell, because the region reaches as far into the
            // grid as out of it; this cell is no other thread's.
            unsafe {
                let from = self.patch.at(buffer, from_z, from_y, from_x);
                let value = E::Real::load_shared(from);
                E::Real::store_shared(self.patch.at(buffer, z, y, x), value);
            }
        }
    }
}

macro_rules! kernels {
    ($($name:ident: $element:ty, $stored:ty, $real:ty;)*) => {$(
        /// Points near the boundary of a grid of
        #[doc = stringify!($element)]
        /// after some time steps.
        ///
        /// # Safety
        /// Launch with [`THREADS`] threads, a block for each of `boxes` ([`BOX_WORDS`] words each,
        /// which lie in the grid and do not meet), and [`shared_bytes`] of dynamic shared memory for
        /// the largest of them. `taps` has [`tap_words`] words for each neighbour, within the radii
        /// of the domain. `input` and `output` point at grid point (0, 0, 0) of two different arrays
        /// laid out as in [`crate::layout`].
        #[kernel]
        pub unsafe fn $name(
            input: *const $stored,
            output: *mut $stored,
            launch: Frame<$real>,
            boxes: *const u32,
            taps: *const u32,
        ) {
            // SAFETY: the launch is as this function's contract says.
            unsafe { frame::<$element>(input, output, &launch, boxes, taps) };
        }
    )*};
}

kernels! {
    frame_f16: F16, u16, f32;
    frame_bf16: Bf16, u16, f32;
    frame_f32: F32, u32, f32;
    frame_f64: F64, u64, f64;
}
