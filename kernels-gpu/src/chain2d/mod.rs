// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several time steps of a 2D stencil of radius 1 to 3 in one pass over memory: a pipeline of sweeps
//! on chip, in f16 or bf16 with f32 sums.
//!
//! **Pipeline.** A block is a row of warps: one loader, [`STEP_WARPS`] for each time step, one
//! storer. Neighbours are joined by rings of stages in shared memory; a stage is `r + 1` pairs of
//! rows. Every step consumes one ring and fills the next, `r` rows behind. Only the first ring comes
//! from global memory and only the last goes there.
//!
//! **Product.** As in [`crate::sweep2d`], with one difference: a pair of input rows, once loaded, is
//! multiplied into the sums of all `r + 1` output pairs that use it. These products are independent
//! of each other, so the tensor cores do not wait for one sum (a window of rows would make each sum a
//! chain of `r + 1` dependent products). The oldest sum is then complete, packed, and stored
//! transposed (`stmatrix`) as two rows of the next ring.
//!
//! **Columns.** Each step's windows start half a chunk left of its outputs, so column 0 of a ring
//! moves right by 4 grid columns from step to step, and each step's row is one chunk shorter. With an
//! even number of steps the first ring starts at a 16-byte boundary of global memory; with an odd
//! number in the middle of a chunk, and the first step reads by 8-byte loads.
//!
//! **Boundary.** Steps go on outside the grid as if it were inside, and what they find far out there is
//! not defined. Points nearer to the boundary than `r` times the number of steps less one are therefore
//! wrong: whoever launches it has to compute them again.
//!
//! Chains are for sm_90 and later: they leave shared memory by the copy engine and transpose by
//! `stmatrix`.
//!
//! This file has the geometry, the roles and the entry points; each role has a file of its own.

mod compute;
mod load;
mod store;

use crate::half::{Bf16, F16, Half};
use crate::layout::{CHUNK, SHIFT, STRIP};
use crate::ring::{HEADER_BYTES, Ring};
use cuda_std::{copy, kernel, shared, thread, warp};
#[cfg(not(target_arch = "nvptx64"))]
use transform::fragment::Element;

/// Warps of a time step.
pub const STEP_WARPS: u32 = 4;

/// The most time steps: more have no warps.
pub const MAX_CHAIN: u32 = 6;

/// Strips of 64 columns that a warp computes side by side.
const STRIPS: usize = 2;

/// Columns that every step computes.
const RING_COLUMNS: u32 = STEP_WARPS * STRIPS as u32 * STRIP;

const ELEMENT: u32 = 2;

/// Bytes from row to row in a ring: the widest window with its first sector's offset, such that the
/// two rows of a pair start 16 words apart (mod 32) and meet in no bank.
const ROW_BYTES: u32 = 1088;

/// Threads of a block.
#[must_use]
pub const fn threads(chain: u32) -> u32 {
    (chain * STEP_WARPS + 2) * warp::SIZE
}

/// Columns of final outputs in a tile.
#[must_use]
pub const fn tile_columns(chain: u32) -> u32 {
    RING_COLUMNS - (chain - 1) * CHUNK
}

/// Rows of a stage.
#[must_use]
pub const fn stage_rows(radius: u32) -> u32 {
    2 * (radius + 1)
}

/// Dynamic shared memory of a block, in bytes.
#[must_use]
pub const fn shared_bytes(radius: u32, chain: u32, stages: Stages) -> u32 {
    (chain + 1) * HEADER_BYTES
        + (stages.input + chain * stages.ring) * stage_rows(radius) * ROW_BYTES
}

/// Stages of the rings, each at most [`crate::ring::MAX_STAGES`]; of a ring between steps at least 3:
/// one that is filled, one that is opened before the first is full, and the one before, which the
/// storer gives back late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stages {
    /// Of the first ring, which hides the latency of global memory.
    pub input: u32,
    /// Of every other ring.
    pub ring: u32,
}

/// What a launch is given; both grids are laid out as in [`crate::layout`].
#[derive(Clone, Copy)]
struct Chain {
    /// Grid point (0, 0) of the input.
    input: *const u16,
    /// Grid point (0, 0) of the output.
    output: *mut u16,
    nx: i32,
    ny: i32,
    pitch: i32,
    /// Time steps.
    steps: u32,
    /// Stages of final outputs in a tile.
    tile_stages: u32,
    stages: Stages,
}

/// A part of the grid that one block computes at a time.
#[derive(Clone, Copy)]
struct Tile {
    /// First column of final outputs.
    x: i32,
    /// First row of final outputs.
    y: i32,
}

impl Chain {
    #[inline(always)]
    fn tile_columns(&self) -> u32 {
        tile_columns(self.steps)
    }

    #[inline(always)]
    fn tile_rows(&self, radius: u32) -> u32 {
        self.tile_stages * stage_rows(radius)
    }

    #[inline(always)]
    fn tiles(&self, radius: u32) -> u32 {
        (self.nx as u32).div_ceil(self.tile_columns())
            * (self.ny as u32).div_ceil(self.tile_rows(radius))
    }

    #[inline(always)]
    fn tile(&self, radius: u32, index: u32) -> Tile {
        let across = (self.nx as u32).div_ceil(self.tile_columns());
        Tile {
            x: (index % across * self.tile_columns()) as i32,
            y: (index / across * self.tile_rows(radius)) as i32,
        }
    }

    /// Column from which a tile is loaded: a multiple of a chunk, at most the first step's window.
    #[inline(always)]
    fn load_column(&self, tile: &Tile) -> i32 {
        tile.x - (self.steps * SHIFT).next_multiple_of(CHUNK) as i32
    }

    /// Bytes by which the rows of the first ring start late: as far as the tile's rows of global
    /// memory start behind a 32-byte sector, because the copy engine moves whole sectors only where
    /// both sides agree.
    #[inline(always)]
    fn phase(&self, tile: &Tile) -> u32 {
        let start = self.input.wrapping_offset(self.load_column(tile) as isize);
        start as usize as u32 % 32
    }

    /// The ring that comes before step `index` (0 is the loader's).
    #[inline(always)]
    fn ring(&self, radius: u32, index: u32) -> Ring {
        // SAFETY: the launch gives `shared_bytes` of dynamic shared memory.
        let start = unsafe { shared::dynamic() };
        let stage_bytes = stage_rows(radius) * ROW_BYTES;
        let Stages { input, ring } = self.stages;
        let before = if index == 0 { 0 } else { input + (index - 1) * ring };
        let stages = if index == 0 { input } else { ring };
        let data = (self.steps + 1) * HEADER_BYTES + before * stage_bytes;
        Ring::new(start.offset(index * HEADER_BYTES), start.offset(data), stage_bytes, stages)
    }
}

/// The kernel for one element type, radius and number of steps: `PAIRS` = `RADIUS` + 1.
#[inline(always)]
unsafe fn chain<H: Half, const RADIUS: u32, const PAIRS: usize, const CHAIN: u32>(
    launch: &Chain,
    fragments: *const u32,
) {
    const { assert!(PAIRS == RADIUS as usize + 1, "two rows need RADIUS + 1 row pairs") };
    const { assert!(7 + RADIUS + SHIFT <= 15, "the window is two chunks wide") };
    const { assert!(CHAIN >= 1 && CHAIN <= MAX_CHAIN, "more steps have no warps") };
    // SAFETY: every thread of the block comes here; it sets up barriers and clears the rings, whose
    // last chunk nobody fills, before anyone uses them.
    let warp = unsafe {
        let thread = thread::thread_idx_x();
        if thread == 0 {
            let mut index = 0;
            while index <= CHAIN {
                let producers = if index == 0 { 1 } else { STEP_WARPS };
                let consumers = if index == CHAIN { 1 } else { STEP_WARPS };
                launch.ring(RADIUS, index).init(producers, consumers);
                index += 1;
            }
        }
        let rings = shared::dynamic().offset((CHAIN + 1) * HEADER_BYTES);
        let mut at = 16 * thread;
        while at < shared_bytes(RADIUS, CHAIN, launch.stages) - (CHAIN + 1) * HEADER_BYTES {
            shared::store_v4(rings.offset(at), [0; 4]);
            at += 16 * threads(CHAIN);
        }
        copy::fence_shared();
        thread::sync_threads();
        thread / warp::SIZE
    };
    let (step, part) = (warp / STEP_WARPS, warp % STEP_WARPS);
    // SAFETY: the launch's pointers are valid for the layout; each role is taken by whole warps.
    unsafe {
        if step == CHAIN {
            if part == 0 {
                load::load::<RADIUS>(launch, CHAIN);
            } else {
                store::store::<RADIUS>(launch, CHAIN);
            }
        } else if CHAIN == 1 {
            compute::compute::<H, RADIUS, PAIRS, true, true>(launch, fragments, step, part);
        } else if step == CHAIN - 1 {
            compute::compute::<H, RADIUS, PAIRS, false, true>(launch, fragments, step, part);
        } else if step == 0 && CHAIN % 2 == 1 {
            compute::compute::<H, RADIUS, PAIRS, true, false>(launch, fragments, step, part);
        } else {
            compute::compute::<H, RADIUS, PAIRS, false, false>(launch, fragments, step, part);
        }
    }
}

macro_rules! kernels {
    ($($name:ident: $element:ident, $radius:literal, $chain:literal;)*) => {
    $(
        #[doc = concat!(stringify!($chain), " time steps of radius ", stringify!($radius), " in ",
            stringify!($element), ":")]
        /// `output` = stencil applied so often to `input`, on a grid of `ny` × `nx`, right up to the
        /// boundary only if it is applied once.
        ///
        /// # Safety
        /// Launch with [`threads`] threads and [`shared_bytes`] of dynamic shared memory. `input` and
        /// `output` point at grid point (0, 0) of two different arrays laid out as in
        /// [`crate::layout`] with row pitch `pitch`. `fragments` holds the operand for whole chunks,
        /// then for half chunks: for each of radius + 1 steps, 4 words of A and 1 of metadata for 32
        /// lanes. `tile_stages` ≥ 1 is the height of a tile in stages; the others are [`Stages`].
        #[kernel]
        #[allow(clippy::too_many_arguments)]
        pub unsafe fn $name(
            input: *const u16,
            output: *mut u16,
            fragments: *const u32,
            nx: u32,
            ny: u32,
            pitch: u32,
            tile_stages: u32,
            input_stages: u32,
            ring_stages: u32,
        ) {
            let (nx, ny, pitch) = (nx as i32, ny as i32, pitch as i32);
            let stages = Stages { input: input_stages, ring: ring_stages };
            let launch = Chain { input, output, nx, ny, pitch, steps: $chain, tile_stages, stages };
            // SAFETY: the launch is as this function's contract says.
            unsafe { chain::<$element, $radius, { $radius + 1 }, $chain>(&launch, fragments) };
        }
    )*

    /// A kernel's parameters, in order.
    #[cfg(not(target_arch = "nvptx64"))]
    pub type Kernel =
        unsafe fn(*const u16, *mut u16, *const u32, u32, u32, u32, u32, u32, u32);

    /// The kernel for an element type, a radius and a number of steps, with its name, if there is one.
    #[cfg(not(target_arch = "nvptx64"))]
    #[must_use]
    pub fn kernel(element: Element, radius: u32, chain: u32) -> Option<(&'static str, Kernel)> {
        match (element, radius, chain) {
            $((Element::$element, $radius, $chain) => Some((stringify!($name), $name)),)*
            _ => None,
        }
    }
    };
}

kernels! {
    chain2d_f16_r1_c1: F16, 1, 1;
    chain2d_f16_r2_c1: F16, 2, 1;
    chain2d_f16_r3_c1: F16, 3, 1;
    chain2d_f16_r1_c2: F16, 1, 2;
    chain2d_f16_r2_c2: F16, 2, 2;
    chain2d_f16_r3_c2: F16, 3, 2;
    chain2d_f16_r2_c3: F16, 2, 3;
    chain2d_f16_r1_c4: F16, 1, 4;
    chain2d_f16_r2_c4: F16, 2, 4;
    chain2d_f16_r3_c4: F16, 3, 4;
    chain2d_bf16_r1_c4: Bf16, 1, 4;
    chain2d_bf16_r2_c4: Bf16, 2, 4;
    chain2d_bf16_r3_c4: Bf16, 3, 4;
}
