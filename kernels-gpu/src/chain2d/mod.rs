// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several time steps of a 2D stencil of radius 1 to 3 in one pass over memory: a pipeline of sweeps
//! on chip, in f16, bf16 or tf32 (stored as f32) with f32 sums.
//!
//! **Pipeline.** A block is a row of warps: one loader, [`STEP_WARPS`] for each time step, one
//! storer. Neighbours are joined by rings of stages in shared memory; a stage is `r + 1` pairs of
//! rows. Every step consumes one ring and fills the next, `r` rows behind. Only the first ring comes
//! from global memory and only the last goes there. Every lane arrives at the barriers for itself.
//!
//! **Product.** As in [`crate::sweep2d`], with two differences. A pair of input rows, once loaded, is
//! multiplied into the sums of all `r + 1` output pairs that use it. These products are independent
//! of each other, so the tensor cores do not wait for one sum (a window of rows would make each sum a
//! chain of dependent products). The oldest sum is then complete and stored as two rows of the
//! next ring. And the slots that A keeps depend on the columns only, so that all products share the
//! metadata. `halves` and `quarters` say how each type is read and stored.
//!
//! **Columns.** Each step's windows start half a chunk left of its outputs, so column 0 of a ring
//! moves right by 4 grid columns from step to step, and each step's row is one chunk shorter. The first
//! ring starts at a 16-byte boundary of global memory; with 16-bit types and an odd number of steps in the
//! middle of 16 bytes, and the first step reads by 8-byte loads.
//!
//! **Blocks.** The grid is cut into columns of tiles, these into stages, and all stages in a row are
//! dealt out to the blocks in equal spans: each block streams down one column and perhaps goes on at
//! the top of the next.
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
mod halves;
mod load;
mod quarters;
mod store;

use crate::boundary::Range;
use crate::fault::{Fault, planted};
use crate::half::{Bf16, F16};
use crate::layout::{CHUNK, Grid2d, SHIFT, STRIP};
#[cfg(not(target_arch = "nvptx64"))]
use crate::product::Form;
use crate::product::{Dense, Product, Tf32};
use crate::ring::{HEADER_BYTES, Ring};
use crate::sweep2d::Lane;
use crate::sweep2d::halves::Halves;
use crate::sweep2d::quarters::Quarters;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_mma::fragment::Element;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::shared::Shared;
use cuda_std::{copy, kernel, shared, thread, warp};

/// Warps of a time step.
pub const STEP_WARPS: u32 = 4;

/// The most time steps: more have no warps.
pub const MAX_CHAIN: u32 = 6;

/// Strips of 64 columns that a warp computes side by side.
const STRIPS: usize = 2;

/// Bytes of a sector of global memory.
const SECTOR: u32 = 32;

/// Columns that every step computes.
const RING_COLUMNS: u32 = STEP_WARPS * STRIPS as u32 * STRIP;

/// How the lanes of [`crate::sweep2d`] read and write rows in shared memory.
trait Link: Lane<Given = ()> {
    /// What multiplies.
    type Product: Product;

    /// Whether a warp meets before its lanes arrive at a barrier: not for their order, only for speed.
    const MEETS: bool;

    /// Bytes from the start of a pair of rows to the lane's fragment of the first strip.
    fn source(self) -> u32;

    /// Bytes from there to where the lane stores, or the matrix row that it addresses lies.
    fn target(self) -> u32;

    /// Loads the fragments of a pair of rows of the grid: windows of 16-bit types start in the middle of
    /// 16 bytes, others are to be rounded.
    ///
    /// # Safety
    /// The rows lie in a filled stage.
    unsafe fn load_grid(at: Shared) -> Self::Pair;

    /// Loads the fragments of a pair of rows that [`Link::keep`] has stored.
    ///
    /// # Safety
    /// The rows have been stored, and whoever did it has been waited for.
    unsafe fn load_kept(at: Shared) -> Self::Pair;

    /// The fragment for a product of a pair of rows.
    fn fragment(rows: Self::Pair, product: usize) -> [u32; 4];

    /// Stores a pair of rows for the next step, rounded to the type of the factors; of the `LAST` step
    /// for the grid.
    ///
    /// # Safety
    /// All 32 lanes execute it; nobody else accesses the strip of these rows.
    unsafe fn keep<const LAST: bool>(self, at: Shared, sum: [f32; 4]);
}

/// Bytes from row to row in a ring: the widest window with its first sector's offset. With 16-bit types
/// the two rows of a pair start 16 words apart (mod 32) and meet in no bank; rows of 32-bit types are
/// read one by one.
const fn row_bytes(bytes: u32) -> u32 {
    let needed = (RING_COLUMNS + 2 * CHUNK) * bytes + 16;
    match bytes {
        2 => (needed + 64).next_multiple_of(128) - 64,
        _ => needed.next_multiple_of(32),
    }
}

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

/// Stages of a tile that come before its first final outputs: in each step, the sums of the first `r`
/// pairs of rows lack what lies above.
#[must_use]
pub const fn lead(radius: u32, chain: u32) -> u32 {
    (chain * radius).div_ceil(radius + 1)
}

/// Dynamic shared memory of a block, in bytes, for elements of so many `bytes`.
#[must_use]
pub const fn shared_bytes(bytes: u32, radius: u32, chain: u32, stages: Stages) -> u32 {
    (chain + 1) * HEADER_BYTES
        + (stages.input + chain * stages.ring) * stage_rows(radius) * row_bytes(bytes)
}

/// Stages of the rings, each at most [`crate::ring::MAX_STAGES`]; of a ring between steps at least 2: one
/// that is filled, and the one before, which the storer gives back late.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stages {
    /// Of the first ring, which hides the latency of global memory.
    pub input: u32,
    /// Of every other ring.
    pub ring: u32,
}

/// The points that a launch writes; those around them are left to others.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inner {
    /// Rows of the grid.
    pub rows: Range,
    /// Columns of the grid, whole chunks: copies move no less.
    pub columns: Range,
}

impl Inner {
    /// All chunks of a grid.
    #[must_use]
    pub const fn all(ny: u32, nx: u32) -> Self {
        let chunks = (nx - nx % CHUNK) as i32;
        Self { rows: Range { low: 0, high: ny as i32 }, columns: Range { low: 0, high: chunks } }
    }
}

/// What a launch computes.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain2dLaunch {
    /// The grid.
    pub grid: Grid2d,
    /// Stages of the rings.
    pub stages: Stages,
    /// The points that are written.
    pub inner: Inner,
}

/// What a launch is given; both grids are laid out as in [`crate::layout`].
#[derive(Clone, Copy)]
struct Chain {
    /// Grid point (0, 0) of the input.
    input: *const u8,
    /// Grid point (0, 0) of the output.
    output: *mut u8,
    nx: i32,
    ny: i32,
    pitch: i32,
    /// Bytes of a grid point.
    bytes: u32,
    /// Time steps.
    steps: u32,
    stages: Stages,
    inner: Inner,
}

/// A part of the grid that one block computes without a break.
#[derive(Clone, Copy)]
struct Tile {
    /// First column of final outputs.
    x: i32,
    /// First row of final outputs.
    y: i32,
    /// Stages of final outputs.
    stages: u32,
}

/// What one block computes: stages of final outputs, counted down one column of tiles after another,
/// each with as many above its first row as fill the pipeline. No span starts or ends among these but
/// before the first.
#[derive(Clone, Copy)]
struct Span {
    next: u32,
    end: u32,
}

impl Chain {
    #[inline(always)]
    fn tile_columns(&self) -> u32 {
        tile_columns(self.steps)
    }

    /// Stages of a column of tiles, with those that fill the pipeline.
    #[inline(always)]
    fn column_stages(&self, radius: u32) -> u32 {
        lead(radius, self.steps) + (self.ny as u32).div_ceil(stage_rows(radius))
    }

    /// This block's.
    #[inline(always)]
    fn span(&self, radius: u32) -> Span {
        let column = self.column_stages(radius);
        let all = u64::from((self.nx as u32).div_ceil(self.tile_columns()) * column);
        let (block, blocks) = (thread::block_idx_x(), thread::grid_dim_x());
        let start = |block: u32| {
            let start = (all * u64::from(block) / u64::from(blocks)) as u32;
            if start % column <= lead(radius, self.steps) { start - start % column } else { start }
        };
        Span { next: start(block), end: start(block + 1) }
    }

    /// The tile at the start of a span, which goes on behind it.
    #[inline(always)]
    fn tile(&self, radius: u32, span: &mut Span) -> Tile {
        let column_stages = self.column_stages(radius);
        let (column, stage) = (span.next / column_stages, span.next % column_stages);
        let lead = lead(radius, self.steps);
        let stage = stage.saturating_sub(lead);
        let column_end = (column + 1) * column_stages;
        let end = if column_end < span.end { column_end } else { span.end };
        span.next = end;
        Tile {
            x: (column * self.tile_columns()) as i32,
            y: (stage * stage_rows(radius)) as i32,
            stages: end - column * column_stages - lead - stage,
        }
    }

    /// Stages of a tile that every step computes.
    #[inline(always)]
    fn stages(&self, radius: u32, tile: &Tile) -> u32 {
        lead(radius, self.steps) + tile.stages
    }

    /// Whether the first windows start in the middle of 16 bytes.
    #[inline(always)]
    fn is_late(&self) -> bool {
        !(self.steps * SHIFT * self.bytes).is_multiple_of(16)
    }

    /// Column from which a tile at column `x` is loaded: that of the first step's first window, or the one before
    /// where a copy can start.
    #[inline(always)]
    fn load_column(&self, x: i32) -> i32 {
        let late = if self.is_late() { SHIFT } else { 0 };
        x - (self.steps * SHIFT + late) as i32
    }

    /// Bytes by which the rows of the first ring start late: as far as the rows of global memory of a
    /// tile at column `x` start behind a sector, because the copy engine moves whole sectors only where
    /// both sides agree.
    #[inline(always)]
    fn phase(&self, x: i32) -> u32 {
        let start = self.load_column(x) as isize * self.bytes as isize;
        self.input.wrapping_offset(start) as usize as u32 % SECTOR
    }

    /// The ring that comes before step `index` (0 is the loader's).
    #[inline(always)]
    fn ring(&self, radius: u32, index: u32) -> Ring {
        // SAFETY: the launch gives `shared_bytes` of dynamic shared memory.
        let start = unsafe { shared::dynamic() };
        let stage_bytes = stage_rows(radius) * row_bytes(self.bytes);
        let Stages { input, ring } = self.stages;
        let before = if index == 0 { 0 } else { input + (index - 1) * ring };
        let stages = if index == 0 { input } else { ring };
        let data = (self.steps + 1) * HEADER_BYTES + before * stage_bytes;
        Ring::new(start.offset(index * HEADER_BYTES), start.offset(data), stage_bytes, stages)
    }
}

/// The kernel for one element type, radius and number of steps: `PAIRS` = `RADIUS` + 1 of input rows are
/// added to a pair of output rows, by so many `PRODUCTS` each.
#[inline(always)]
unsafe fn chain<
    L: Link,
    const RADIUS: u32,
    const PAIRS: usize,
    const CHAIN: u32,
    const PRODUCTS: usize,
>(
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
                let producers = if index == 0 { 1 } else { STEP_WARPS * warp::SIZE };
                let consumers = if index == CHAIN { 1 } else { STEP_WARPS };
                let consumers = consumers * warp::SIZE;
                launch.ring(RADIUS, index).init(producers, consumers);
                index += 1;
            }
        }
        let rings = shared::dynamic().offset((CHAIN + 1) * HEADER_BYTES);
        let mut at = 16 * thread;
        while at < shared_bytes(L::BYTES, RADIUS, CHAIN, launch.stages) - (CHAIN + 1) * HEADER_BYTES
        {
            shared::store_v4(rings.offset(at), [0; 4]);
            at += 16 * threads(CHAIN);
        }
        if !planted(Fault::NoFenceOfZeros) {
            copy::fence_shared();
        }
        thread::sync_threads();
        thread / warp::SIZE
    };
    let (step, part) = (warp / STEP_WARPS, warp % STEP_WARPS);
    // Whether the first step reads otherwise than those after it.
    let grid = L::BYTES == 4 || launch.is_late();
    // SAFETY: the launch's pointers are valid for the layout; each role is taken by whole warps.
    unsafe {
        if step == CHAIN {
            if part == 0 {
                load::load::<RADIUS>(launch, CHAIN);
            } else {
                store::store::<RADIUS>(launch, CHAIN);
            }
        } else if step == 0 && grid && CHAIN == 1 {
            compute::compute::<L, RADIUS, PAIRS, PRODUCTS, true, true, true>(
                launch, fragments, step, part,
            );
        } else if step == 0 && grid {
            compute::compute::<L, RADIUS, PAIRS, PRODUCTS, true, true, false>(
                launch, fragments, step, part,
            );
        } else if step == 0 {
            compute::compute::<L, RADIUS, PAIRS, PRODUCTS, true, false, false>(
                launch, fragments, step, part,
            );
        } else if step == CHAIN - 1 {
            compute::compute::<L, RADIUS, PAIRS, PRODUCTS, false, false, true>(
                launch, fragments, step, part,
            );
        } else if CHAIN > 2 {
            compute::compute::<L, RADIUS, PAIRS, PRODUCTS, false, false, false>(
                launch, fragments, step, part,
            );
        }
    }
}

/// A kernel's parameters, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters = (*const u8, *mut u8, *const u32, Chain2dLaunch);

/// The kernel for products of a form, an element type, a radius and a number of steps, if there is one.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn kernel(form: Form, element: Element, radius: u32, chain: u32) -> Option<Entry<Parameters>> {
    match form {
        Form::Sparse => sparse(element, radius, chain),
        Form::Dense => dense(element, radius, chain),
    }
}

macro_rules! kernels {
    ($find:ident: $($name:ident, $registers:tt: $element:ident, $lane:ty, $products:literal, $radius:literal, $chain:literal;)*) => {
    $(
        #[doc = concat!(stringify!($chain), " time steps of radius ", stringify!($radius), " in ",
            stringify!($element), ":")]
        /// `output` = stencil applied so often to `input`, right up to the
        /// boundary only if it is applied once.
        ///
        /// # Safety
        /// Launch with [`threads`] threads and [`shared_bytes`] of dynamic shared memory. `input` and
        /// `output` point at grid point (0, 0) of two different arrays of the element type, laid out as
        /// in [`crate::layout`]. `fragments` holds, for each product
        /// of a sum, the words of A and, of a sparse one, 1 of metadata, the same for all, for 32 lanes.
        #[kernel(registers = $registers)]
        pub unsafe fn $name(input: *const u8, output: *mut u8, fragments: *const u32, launch: Chain2dLaunch) {
            let Chain2dLaunch { grid, stages, inner } = launch;
            let (nx, ny, pitch) = (grid.nx as i32, grid.ny as i32, grid.pitch as i32);
            let (bytes, steps) = (<$lane as Lane>::BYTES, $chain);
            let given = Chain { input, output, nx, ny, pitch, bytes, steps, stages, inner };
            // SAFETY: the launch is as this function's contract says.
            unsafe { chain::<$lane, $radius, { $radius + 1 }, $chain, $products>(&given, fragments) };
        }
    )*

    #[cfg(not(target_arch = "nvptx64"))]
    fn $find(element: Element, radius: u32, chain: u32) -> Option<Entry<Parameters>> {
        match (element, radius, chain) {
            $((Element::$element, $radius, $chain) => Some(Entry::of::<$name>()),)*
            _ => None,
        }
    }
    };
}

// A block puts 5 warps (4 steps) or 4 on one of the four partitions of 16384 registers of a multiprocessor;
// beside those of 4 and those of tf32 there is room for a warp of a rim.
//
// Kernel, registers: element, how lanes read and write, products of a pair of rows for one sum, radius, steps.
kernels! {
    sparse:
    chain2d_f16_r1_c2, 128: F16, Halves<F16>, 1, 1, 2;
    chain2d_f16_r2_c2, 128: F16, Halves<F16>, 1, 2, 2;
    chain2d_f16_r3_c2, 128: F16, Halves<F16>, 1, 3, 2;
    chain2d_f16_r2_c3, 128: F16, Halves<F16>, 1, 2, 3;
    chain2d_f16_r1_c4, 80: F16, Halves<F16>, 1, 1, 4;
    chain2d_f16_r2_c4, 80: F16, Halves<F16>, 1, 2, 4;
    chain2d_f16_r3_c4, 80: F16, Halves<F16>, 1, 3, 4;
    chain2d_bf16_r1_c4, 80: Bf16, Halves<Bf16>, 1, 1, 4;
    chain2d_bf16_r2_c4, 80: Bf16, Halves<Bf16>, 1, 2, 4;
    chain2d_bf16_r3_c4, 80: Bf16, Halves<Bf16>, 1, 3, 4;
    chain2d_tf32_r1_c2, 128: Tf32, Quarters, 2, 1, 2;
    chain2d_tf32_r2_c2, 128: Tf32, Quarters, 2, 2, 2;
    chain2d_tf32_r3_c2, 128: Tf32, Quarters, 2, 3, 2;
    chain2d_tf32_r1_c3, 104: Tf32, Quarters, 2, 1, 3;
    chain2d_tf32_r2_c3, 104: Tf32, Quarters, 2, 2, 3;
    chain2d_tf32_r3_c3, 104: Tf32, Quarters, 2, 3, 3;
}

kernels! {
    dense:
    dense_chain2d_f16_r1_c2, 128: F16, Halves<Dense<F16>>, 1, 1, 2;
    dense_chain2d_f16_r2_c2, 128: F16, Halves<Dense<F16>>, 1, 2, 2;
    dense_chain2d_f16_r3_c2, 128: F16, Halves<Dense<F16>>, 1, 3, 2;
    dense_chain2d_f16_r1_c4, 80: F16, Halves<Dense<F16>>, 1, 1, 4;
    dense_chain2d_f16_r2_c4, 96: F16, Halves<Dense<F16>>, 1, 2, 4;
    dense_chain2d_tf32_r1_c2, 128: Tf32, Quarters<Dense<Tf32>>, 2, 1, 2;
    dense_chain2d_tf32_r2_c2, 128: Tf32, Quarters<Dense<Tf32>>, 2, 2, 2;
    dense_chain2d_tf32_r1_c3, 104: Tf32, Quarters<Dense<Tf32>>, 2, 1, 3;
    dense_chain2d_tf32_r2_c3, 128: Tf32, Quarters<Dense<Tf32>>, 2, 2, 3;
}
