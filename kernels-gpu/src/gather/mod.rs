// SPDX-License-Identifier: MIT OR Apache-2.0
//! One time step of any stencil of radius up to 8 on sparse tensor cores, in 1D, 2D and 3D, driven by a
//! lookup table: storage and products in f16, bf16 or tf32 (stored as f32), f32 sums.
//!
//! **Product.** A tile is 16 outputs, 1 row × 16 columns or 2 × 8; one `mma.sp` takes 8 tiles side by
//! side. Its K are four chunks of 16 bytes of any input rows near the tile: lane 4g + t loads chunk t of
//! tile g, which is its whole fragment of B, at an offset that the table gives. So there are as many
//! steps as the weights need chunks, and none for rows and planes without weights; which chunks a step
//! takes, so that A is 2:4 and the loads meet in few banks, is worked out in `transform::gather`.
//!
//! **Stacks.** A warp computes [`STACK`] of these groups of tiles at once, below each other (in 1D,
//! beside each other), so that a step's table and A serve as many products, none of which waits for
//! another.
//!
//! **Planes.** A stage of the ring holds a plane of a block's tile with its halo: in 1D and 2D the whole
//! tile. In 3D blocks stream along z, with as many stages in use as the weights reach planes: those of an
//! output plane are there when the newest has come, and the oldest is left after it.
//!
//! **Limits.** A product takes a load of at least 4 cycles of shared memory, of which a multiprocessor
//! has one, and 2 cycles of its four tensor cores; with A and the table, 5.5 cycles a step. So boxes cost
//! more than with the kernels that keep rows in registers, and stars less.

mod compute;
mod element;
mod load;

use crate::fill;
use crate::half::{Bf16, F16};
use crate::ring::{self, Ring};
use compute::compute;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_mma::fragment::Element;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::{kernel, shared, thread, warp};
use element::{FactorType, Tf32};
#[cfg(not(target_arch = "nvptx64"))]
use transform::gather::OutputTile;

/// Columns of the halo on either side: the largest radius.
pub const REACH: u32 = 8;

/// Groups of 8 tiles that a warp computes at once.
pub const STACK: u32 = 4;

/// Words of a step in the table: for each of 32 lanes 4 of A, then for each lane one of metadata and the
/// byte offset of its chunk.
pub const STEP_WORDS: u32 = 6 * warp::SIZE;

/// The most warps of a block that compute; one more loads.
pub const MOST_WARPS: u32 = 15;

/// Steps for which there are kernels of their own, with more registers, which hold the whole table. Others
/// hold that of fewer steps, and load that of more again and again.
pub const MORE_STEPS: core::ops::RangeInclusive<u32> = 6..=8;

/// [`MOST_WARPS`] of those kernels.
pub const MOST_WARPS_OF_MORE: u32 = 11;

/// Free bytes before a row in shared memory. A row starts [`REACH`] columns before a line of global
/// memory; the copy engine moves whole 32-byte sectors only if it starts at the same place of one here.
#[must_use]
pub const fn lead(bytes: u32) -> u32 {
    (REACH * bytes).next_multiple_of(32) - REACH * bytes
}

/// What a launch is given besides the grids, which are laid out as in [`crate::layout`], and the table.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gather {
    /// Extents of the grid (z, y, x).
    pub extents: [u32; 3],
    /// Elements from a row of the grid to the next.
    pub pitch: u32,
    /// Rows from a plane of the grid to the next.
    pub plane_rows: u32,
    /// Steps of the product.
    pub steps: u32,
    /// First input plane and row with weights, relative to the outputs'.
    pub first: [i32; 2],
    /// Input planes with weights of an output plane.
    pub window: u32,
    /// Input rows of a tile of outputs, beyond as many as it has.
    pub halo_rows: u32,
    /// Input rows below the last output row that may be read.
    pub rows_below: u32,
    /// A block's units, down and across.
    pub tile: [u32; 2],
    /// Rows and columns from one group of a unit to the next; one of them is 0.
    pub stack: [u32; 2],
    /// Output planes that a block computes one after the other.
    pub segment: u32,
    /// Bytes from row to row in shared memory.
    pub row_bytes: u32,
    /// Bytes of a stage.
    pub stage_bytes: u32,
    /// Stages of the ring, at least [`Gather::window`].
    pub stages: u32,
    /// What follows from the others.
    pub derived: Derived,
}

/// What the host works out, so that threads need not: parameters take no registers.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Derived {
    /// Rows and columns of a unit: what a warp computes at once.
    pub unit: [u32; 2],
    /// How many segments there are, (z, y, x).
    pub segments: [u32; 3],
    /// Bytes of all stages.
    ring_bytes: u32,
    /// Bytes in shared memory from a unit to the one below and to the one on the right.
    unit_bytes: [u32; 2],
    /// Bytes in shared memory from a group of a unit to the next.
    group_bytes: u32,
    /// Bytes in the grid from a row to the next.
    pitch_bytes: u32,
    /// Bytes in the grid from a group of a unit to the next, which may be more than 4 GB.
    group_output_bytes: u64,
}

/// Outputs that a block computes: a tile in some planes.
#[derive(Clone, Copy)]
struct Segment {
    z: u32,
    y: u32,
    x: u32,
    planes: u32,
    /// Units, down and across, that hold points of the grid.
    units: [u32; 2],
}

const fn least(a: u32, b: u32) -> u32 {
    if a < b { a } else { b }
}

impl Gather {
    /// Bytes of barriers at the start of shared memory.
    #[inline(always)]
    const fn header_bytes(&self) -> u32 {
        ring::header_bytes(self.stages).next_multiple_of(128)
    }

    /// Dynamic shared memory of a block, in bytes.
    #[must_use]
    pub const fn shared_bytes(&self) -> u32 {
        self.header_bytes() + self.stages * self.stage_bytes
    }

    /// With what follows for tiles of these rows and columns, of elements of so many bytes.
    #[must_use]
    pub const fn derive(self, tile: [u32; 2], bytes: u32) -> Self {
        let ([rows, columns], [stack_rows, stack_columns]) = (tile, self.stack);
        let unit = [rows + (STACK - 1) * stack_rows, 8 * columns + (STACK - 1) * stack_columns];
        let [nz, ny, nx] = self.extents;
        let derived = Derived {
            unit,
            segments: [
                nz.div_ceil(self.segment),
                ny.div_ceil(self.tile[0] * unit[0]),
                nx.div_ceil(self.tile[1] * unit[1]),
            ],
            ring_bytes: self.stages * self.stage_bytes,
            unit_bytes: [unit[0] * self.row_bytes, unit[1] * bytes],
            group_bytes: stack_rows * self.row_bytes + stack_columns * bytes,
            pitch_bytes: self.pitch * bytes,
            group_output_bytes: (stack_rows as u64 * self.pitch as u64 + stack_columns as u64)
                * bytes as u64,
        };
        Self { derived, ..self }
    }

    /// Segments with neighbouring tiles come first, so that a few whole planes are at work at a time.
    #[inline(always)]
    fn at(&self, index: u32) -> Segment {
        let [nz, ny, nx] = self.extents;
        let Derived { unit: [rows, columns], segments: [_, down, across], .. } = self.derived;
        let x = index % across * self.tile[1] * columns;
        let y = index / across % down * self.tile[0] * rows;
        let z = index / (across * down) * self.segment;
        let units = [
            least((ny - y).div_ceil(rows), self.tile[0]),
            least((nx - x).div_ceil(columns), self.tile[1]),
        ];
        Segment { z, y, x, planes: least(nz - z, self.segment), units }
    }

    /// Elements from grid point (0, 0, 0) to another.
    #[inline(always)]
    fn offset(&self, z: i32, y: i32, x: i32) -> isize {
        (z as isize * self.plane_rows as isize + y as isize) * self.pitch as isize + x as isize
    }
}

/// The kernel for one type and tiles of `ROWS` rows.
#[inline(always)]
unsafe fn gather<E: FactorType, const ROWS: u32, const MORE: bool>(
    input: *const u8,
    output: *mut u8,
    table: *const u32,
    launch: &Gather,
) {
    let &Gather { stage_bytes, stages, .. } = launch;
    // SAFETY: the launch gives `shared_bytes` of dynamic shared memory.
    let start = unsafe { shared::dynamic() };
    let data = start.offset(launch.header_bytes());
    let ring = Ring::of(stages, start, data, stage_bytes, stages);
    // SAFETY: all threads of the block come here, and thread 0 alone sets up the barriers.
    let (warp, warps) = unsafe {
        let warps = thread::block_dim_x() / warp::SIZE - 1;
        if thread::thread_idx_x() == 0 {
            ring.init(fill::arrivals(), warps);
        }
        thread::sync_threads();
        (thread::thread_idx_x() / warp::SIZE, warps)
    };
    // SAFETY: the launch's pointers are valid for the layout; each role is taken by whole warps.
    unsafe {
        if warp == warps {
            load::load::<E, ROWS>(input, launch, ring);
            return;
        }
        let warp = [warp, warps];
        // Tables of few steps stay in registers; all lanes have the same parameters. Rows of tf32 leave too
        // few registers for more.
        let more = MORE && (E::BYTES == 2 || ROWS == 2);
        match launch.steps {
            1 if !MORE => compute::<E, ROWS, 1>(output, table, launch, ring, warp),
            2 if !MORE => compute::<E, ROWS, 2>(output, table, launch, ring, warp),
            3 if !MORE => compute::<E, ROWS, 3>(output, table, launch, ring, warp),
            4 if !MORE => compute::<E, ROWS, 4>(output, table, launch, ring, warp),
            5 if !MORE => compute::<E, ROWS, 5>(output, table, launch, ring, warp),
            6 if more => compute::<E, ROWS, 6>(output, table, launch, ring, warp),
            7 if more => compute::<E, ROWS, 7>(output, table, launch, ring, warp),
            8 if more => compute::<E, ROWS, 8>(output, table, launch, ring, warp),
            _ => compute::<E, ROWS, 0>(output, table, launch, ring, warp),
        }
    }
}

/// Rows and columns of a tile.
#[inline(always)]
const fn tile<const ROWS: u32>() -> [u32; 2] {
    [ROWS, 16 / ROWS]
}

/// A kernel's parameters, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters = (*const u8, *mut u8, *const u32, Gather);

macro_rules! kernels {
    ($($name:ident, $more:ident: $element:ident, $tile:ident, $rows:literal;)*) => {
    $(
        kernels!(@ $name, "", 128, false, $element, $tile, $rows);
        kernels!(@ $more, ", in [`MORE_STEPS`]", 168, true, $element, $tile, $rows);
    )*

    /// The kernel for a type, tiles and steps.
    #[cfg(not(target_arch = "nvptx64"))]
    #[must_use]
    pub fn kernel(element: Element, tile: OutputTile, steps: u32) -> Entry<Parameters> {
        match (element, tile, MORE_STEPS.contains(&steps)) {
            $((Element::$element, OutputTile::$tile, false) => Entry::of::<$name>(),)*
            $((Element::$element, OutputTile::$tile, true) => Entry::of::<$more>(),)*
        }
    }
    };
    (@ $name:ident, $steps:literal, $registers:literal, $with_more:literal, $element:ident,
        $tile:ident, $rows:literal) => {
        #[doc = concat!(
            "One step of a stencil in ", stringify!($element), ", [`Tile::", stringify!($tile), "`]", $steps, ":"
        )]
        /// `output` = stencil of `input`.
        ///
        /// # Safety
        /// Launch with 1 to [`MOST_WARPS`] ([`MOST_WARPS_OF_MORE`]) warps and one more, and
        /// [`Gather::shared_bytes`] of dynamic shared memory. `input` and `output` point at grid point
        /// (0, 0, 0) of two different arrays laid out as in [`crate::layout`]. `table` holds
        /// [`STEP_WORDS`] for each step, and for two more, at a multiple of 16 bytes. Its offsets, from the
        /// first input plane and row of a tile and [`REACH`] columns left of it, lie in the planes, rows and
        /// columns that `launch` has copied.
        // Each of a multiprocessor's four partitions, of 16384 registers, takes 4 warps, or 3.
        #[kernel(registers = $registers)]
        pub unsafe fn $name(
            input: *const u8,
            output: *mut u8,
            table: *const u32,
            launch: Gather,
        ) {
            // SAFETY: the launch is as this function's contract says.
            unsafe {
                gather::<$element, $rows, $with_more>(input, output, table, &launch);
            };
        }
    };
}

// Kernel, the one of many steps: element, tile, rows of a tile.
kernels! {
    gather_f16_1x16, gather_f16_1x16_more: F16, Row, 1;
    gather_f16_2x8, gather_f16_2x8_more: F16, Block, 2;
    gather_bf16_1x16, gather_bf16_1x16_more: Bf16, Row, 1;
    gather_bf16_2x8, gather_bf16_2x8_more: Bf16, Block, 2;
    gather_tf32_1x16, gather_tf32_1x16_more: Tf32, Row, 1;
    gather_tf32_2x8, gather_tf32_2x8_more: Tf32, Block, 2;
}
