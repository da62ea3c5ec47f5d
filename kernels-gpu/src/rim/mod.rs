// SPDX-License-Identifier: MIT OR Apache-2.0
//! The points near the boundary, step by step: what makes a kernel exact that knows nothing of
//! boundaries, or takes several time steps at once.
//!
//! Such a kernel, the launch before this one, computes every point as if zeros lay around the grid before
//! the first step and nothing held them there. This one computes the points that this is wrong for, from
//! the same input: each block a box of them, by taking the plain stencil's steps one by one in shared
//! memory. It may start while that one still runs. If that one writes these points, too ([`Rim::again`]),
//! its end comes before the last stores. Otherwise only the last block waits for it, so that whoever waits for this
//! launch has waited for both.
//!
//! **Patch.** A block loads all that its box depends on, at most a radius beyond the grid: there the
//! rule of the side gives the values. Beyond a periodic side the grid goes on, so that these points
//! are stepped as all others are. Sums and the values between steps are f32, or f64 for f64 grids.
//!
//! **Steps.** From one of two buffers to the other, in a region that shrinks by the radius each step,
//! down to the box, whose last step goes to the output. A thread computes [`ROWS`] rows of a column at
//! a time. Where points beyond a side follow the grid (mirror images, edges, slopes), they are copied after each step.
//!
//! **Stencils.** Any, from a table of neighbours, each loaded once for the rows of a thread; or dense
//! ones of small radius, column by column of the weights: then each value is loaded once for all rows
//! of the column that it is a neighbour of.
//!
//! This file has the contract, the order of a block's work and the entry points; `load` and `step`
//! do the work.

// Indices, because iterators that are cut short keep arrays out of registers.
#![allow(clippy::needless_range_loop)]

mod load;
mod patch;
mod step;

use crate::boundary::{Domain, Range};
use crate::element::{Bf16, Element, F16, F32, F64, Real};
use crate::fault::{Fault, planted};
use crate::overlap;
use cuda_std::shared::{self, Shared};
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::{AnyCall, Entry};
use cuda_std::{global, grid, kernel, thread, warp};
use patch::Patch;

/// Warps of a block.
pub const WARPS: u32 = 4;

/// Threads of a block.
pub const THREADS: u32 = WARPS * warp::SIZE;

/// Rows of a dense stencil that a thread computes at a time.
pub const ROWS: usize = 8;

/// Rows of a stencil in a table that a thread computes at a time. They are fewer, as each neighbour needs an address.
pub const TABLE_ROWS: usize = 4;

/// Rows of cells that [`ROWS`] rows of the widest dense stencil depend on.
const NEIGHBOUR_ROWS: usize = ROWS + 6;

/// Words of a box: where it starts and where it ends, as (z, y, x).
pub const BOX_WORDS: usize = 6;

/// What a launch computes.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq)]
pub struct Rim<V> {
    /// The grid and what lies around it.
    pub domain: Domain<V>,
    /// Time steps.
    pub steps: i32,
    /// Neighbours in the table, or [`dense_taps`].
    pub taps: u32,
    /// Whether the launch before writes the points of the boxes, too, which then must come first.
    pub again: bool,
}

/// Weights in a column of a dense stencil of this width, with zeros at its end, so that four are a
/// load.
#[must_use]
pub const fn column_weights(width: u32) -> u32 {
    width.next_multiple_of(4)
}

/// What [`Rim::taps`] is for a dense stencil of so many planes of `width` × `width` weights: as large
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

impl<V: Copy> Rim<V> {
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

/// A block's share of a launch.
struct Block<'a, E: Element, const PLANES: usize, const WIDTH: usize> {
    rim: &'a Rim<E::Real>,
    patch: Patch,
    /// Offset in the patch and weight of each neighbour, or the columns of a dense stencil.
    taps: Shared,
    taps_end: Shared,
}

/// The kernel for one element type, for dense stencils of `PLANES` × `WIDTH` × `WIDTH` weights or any
/// (`PLANES` = 0).
#[inline(always)]
#[track_caller]
unsafe fn rim<E: Element, const PLANES: usize, const WIDTH: usize>(
    input: *const E::Stored,
    output: *mut E::Stored,
    rim: &Rim<E::Real>,
    boxes: *const u32,
    taps: *const u32,
) {
    const { assert!(WIDTH <= 7, "the rows of neighbours have room") };
    let real_bytes = E::Real::BYTES;
    // SAFETY: the launch's pointers are valid for the layout and the tables; every thread of the block
    // comes to every barrier, because what their number depends on is the same for all.
    unsafe {
        let target = load_box(boxes.wrapping_add(thread::block_idx_x() as usize * BOX_WORDS));
        let reach = rim.reach(target, rim.steps);
        let patch = Patch::new(reach, real_bytes);
        let start = shared::dynamic();
        let taps_end = start.offset(rim.taps * 2 * real_bytes);
        let block = Block::<E, PLANES, WIDTH> { rim, patch, taps: start, taps_end };
        if PLANES == 0 {
            block.load_taps(taps);
        } else {
            block.load_columns(taps);
        }
        let mut buffers = [taps_end, taps_end.offset(cells(reach) as u32 * real_bytes)];
        let computed = rim.computed(reach);
        block.fill_halo(reach, computed, buffers, false);
        block.load_points(input, computed, buffers[0]);
        thread::sync_threads();
        if rim.domain.follows() {
            block.fill_halo(reach, computed, buffers, true);
            thread::sync_threads();
        }
        let mut left = rim.steps - 1;
        loop {
            let reach = rim.reach(target, left);
            let computed = rim.computed(reach);
            if left == 0 && rim.again {
                overlap::wait_for_previous();
                overlap::start_next();
            }
            block.step(computed, buffers, (left == 0).then_some(output));
            if left == 0 {
                let is_last = thread::block_idx_x() == thread::grid_dim_x() - 1;
                if !rim.again && is_last && !planted(Fault::NoWaitAtEnd) {
                    // What follows a rim waits for it before all else, and so for the launch before.
                    grid::start_waiting_next();
                    grid::wait_for_previous();
                }
                return;
            }
            left -= 1;
            buffers = [buffers[1], buffers[0]];
            thread::sync_threads();
            if rim.domain.follows() {
                block.fill_halo(reach, computed, buffers, true);
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
}

macro_rules! kernels {
    ($($name:ident: $element:ty, $type:literal, $real:ty, $planes:literal, $width:literal;)*) => {$(
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
        // A warp on each partition of 16384 registers, beside 5 of a chain.
        #[kernel(registers = 96)]
        pub unsafe fn $name(
            input: *const u8,
            output: *mut u8,
            launch: Rim<$real>,
            boxes: *const u32,
            taps: *const u32,
        ) {
            // SAFETY: the launch is as this function's contract says.
            unsafe {
                rim::<$element, $planes, $width>(
                    input.cast(), output.cast(), &launch, boxes, taps,
                );
            };
        }
    )*

    /// Every kernel of this family.
    #[cfg(not(target_arch = "nvptx64"))]
    pub const KERNELS: &[Kernel] = &[$(Kernel {
        name: stringify!($name),
        element: $type,
        dense: dense($planes, $width),
        call: |input, output, launch, boxes, taps| {
            let &Rim { domain, steps, taps: count, again } = launch;
            let domain = domain.map(|value| value as $real);
            let launch = Rim { domain, steps, taps: count, again };
            Box::new(Entry::of::<$name>().with((input, output, launch, boxes, taps)))
        },
    },)*];
    };
}

// Kernel: element, its name, type of sums; of a dense stencil its planes and the width of a plane, 0 for any.
kernels! {
    rim_f16: F16, "f16", f32, 0, 0;
    rim_f16_2d_r1: F16, "f16", f32, 1, 3;
    rim_f16_2d_r2: F16, "f16", f32, 1, 5;
    rim_f16_2d_r3: F16, "f16", f32, 1, 7;
    rim_f16_3d_r1: F16, "f16", f32, 3, 3;
    rim_bf16: Bf16, "bf16", f32, 0, 0;
    rim_bf16_2d_r1: Bf16, "bf16", f32, 1, 3;
    rim_bf16_2d_r2: Bf16, "bf16", f32, 1, 5;
    rim_bf16_2d_r3: Bf16, "bf16", f32, 1, 7;
    rim_bf16_3d_r1: Bf16, "bf16", f32, 3, 3;
    rim_f32: F32, "f32", f32, 0, 0;
    rim_f32_2d_r1: F32, "f32", f32, 1, 3;
    rim_f32_2d_r2: F32, "f32", f32, 1, 5;
    rim_f32_2d_r3: F32, "f32", f32, 1, 7;
    rim_f32_3d_r1: F32, "f32", f32, 3, 3;
    rim_f64: F64, "f64", f64, 0, 0;
}

/// A kernel, for those that launch it.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Name of the entry in the PTX.
    pub name: &'static str,
    /// Stored type.
    pub element: &'static str,
    /// Dimensions and radius of the dense stencils that it is for; `None` where it is for any.
    pub dense: Option<(usize, usize)>,
    /// The kernel with its parameters.
    pub call: MakeCall,
}

/// Of a kernel: with input, output, what it computes, which it takes in the type of its sums, the boxes and the
/// neighbours.
#[cfg(not(target_arch = "nvptx64"))]
pub type MakeCall = fn(*const u8, *mut u8, &Rim<f64>, *const u32, *const u32) -> Box<dyn AnyCall>;

/// Dimensions and radius of the dense stencils of so many planes and columns; none of any stencil.
#[cfg(not(target_arch = "nvptx64"))]
const fn dense(planes: usize, width: usize) -> Option<(usize, usize)> {
    match planes {
        0 => None,
        1 => Some((2, width / 2)),
        _ => Some((3, width / 2)),
    }
}

/// The kernel for a stored type, for any stencil or for a dense one of these dimensions and this radius, if
/// there is one.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn kernel(element: &str, dense: Option<(usize, usize)>) -> Option<&'static Kernel> {
    KERNELS.iter().find(|kernel| (kernel.element, kernel.dense) == (element, dense))
}
