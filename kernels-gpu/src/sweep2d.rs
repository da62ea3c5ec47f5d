// SPDX-License-Identifier: MIT OR Apache-2.0
//! One time step of a 2D stencil of radius 1 to 3 (2r + 1 ≤ 8) on sparse tensor cores: f16 storage
//! and products, f32 sums.
//!
//! **Product.** One `mma.sp` m16n8k32 adds, for 8 chunks of 8 columns, the contribution of two input
//! rows to 2 × 8 outputs: M = 2 rows × 8 columns, N = 8 chunks, K = 2 rows × 16 columns. Two output
//! rows need `r + 1` such steps. The order of K is chosen so that the B fragment of lane `4g + t` is
//! 8 neighbouring columns: chunk `g + t % 2` of input row `t / 2`, counted from the window's start.
//! (`transform::window` builds the matching A.)
//!
//! **Register window.** A warp marches down 64 columns. It loads each pair of input rows once and
//! keeps the fragment in registers for the `r + 1` output pairs that use it. The window's index is
//! a compile-time constant because the loop is unrolled `r + 1` times; an unrolled round is one
//! stage of the ring.
//!
//! **Blocks.** [`WARPS`] consumer warps side by side and one producer warp, which copies rows of the
//! tile, one bulk copy each, into a ring of stages. Blocks stay and take tiles in row-major order,
//! so that the halo rows of a tile are still in the L2 cache when its lower neighbour comes. Launches
//! in a row overlap: the next one sets up its barriers and loads its operand while this one ends.

use crate::fault::{Fault, planted};
use crate::layout::{CHUNK, SHIFT, STRIP};
use crate::ring::{HEADER_BYTES, Ring};
use cuda_std::{barrier, copy, global, grid, kernel, matrix, mma, shared, thread, warp};

/// Consumer warps in a block.
pub const WARPS: u32 = 8;

/// Columns of a tile.
pub const TILE_COLUMNS: u32 = WARPS * STRIP;

/// Threads of a block: the consumers and the producer warp.
pub const THREADS: u32 = (WARPS + 1) * warp::SIZE;

/// Words of A and metadata that a lane holds for one step: 4 and 1.
pub const WORDS_PER_STEP: usize = 5;

const ELEMENT: u32 = 2;

/// Bytes of half a chunk.
const HALF: u32 = CHUNK / 2 * ELEMENT;

/// Bytes from row to row in shared memory: the columns of a tile and a chunk on either side.
const ROW_BYTES: u32 = (LEAD + (TILE_COLUMNS + 2 * CHUNK) * ELEMENT).next_multiple_of(2 * LEAD);

/// Free bytes before a row in shared memory. A row starts one chunk, 16 bytes, before a 32-byte
/// sector of global memory; the copy engine moves whole sectors only if it does so here too
/// (otherwise it reads 28 % more).
const LEAD: u32 = 16;

/// Input rows in a stage: two for each step of the product.
#[must_use]
pub const fn rows_per_stage(radius: u32) -> u32 {
    2 * (radius + 1)
}

/// Dynamic shared memory of a block, in bytes.
#[must_use]
pub const fn shared_bytes(radius: u32, stages: u32) -> u32 {
    HEADER_BYTES + stages * rows_per_stage(radius) * ROW_BYTES
}

/// What a launch is given; both grids are laid out as in [`crate::layout`].
#[derive(Clone, Copy)]
struct Sweep {
    /// Grid point (0, 0) of the input.
    input: *const u16,
    /// Grid point (0, 0) of the output.
    output: *mut u16,
    nx: i32,
    ny: i32,
    pitch: i32,
    /// Rows of a tile; even.
    tile_rows: i32,
}

/// A part of the grid that one block computes at a time.
#[derive(Clone, Copy)]
struct Tile {
    x: i32,
    y: i32,
    rows: i32,
    /// Strips that hold columns of the grid, from the left.
    strips: u32,
}

impl Sweep {
    #[inline(always)]
    fn tile_rows_down(&self) -> u32 {
        (self.ny as u32).div_ceil(self.tile_rows as u32)
    }

    #[inline(always)]
    fn tiles(&self) -> u32 {
        let across = (self.nx as u32).div_ceil(TILE_COLUMNS);
        across * self.tile_rows_down()
    }

    /// Tiles of full width come first, in row-major order, then those of the narrow last column:
    /// mixed in, they would be dealt out unevenly.
    #[inline(always)]
    fn tile(&self, index: u32) -> Tile {
        let full = self.nx as u32 / TILE_COLUMNS;
        let narrow = full * self.tile_rows_down();
        let (row, column) =
            if index < narrow { (index / full, index % full) } else { (index - narrow, full) };
        let x = (column * TILE_COLUMNS) as i32;
        let y = row as i32 * self.tile_rows;
        let strips = ((self.nx - x) as u32).div_ceil(STRIP);
        let rows = self.ny - y;
        Tile {
            x,
            y,
            rows: if rows < self.tile_rows { rows } else { self.tile_rows },
            strips: if strips < WARPS { strips } else { WARPS },
        }
    }
}

impl Tile {
    /// Stages of `steps` row pairs that hold all input rows of the tile.
    #[inline(always)]
    fn stages(&self, steps: u32) -> u32 {
        ((self.rows as u32).div_ceil(2) + steps - 1).div_ceil(steps)
    }
}

/// The kernel for one radius: `STEPS` = `RADIUS` + 1.
#[inline(always)]
unsafe fn sweep<const RADIUS: i32, const STEPS: usize>(
    sweep: &Sweep,
    fragments: *const u32,
    stages: u32,
) {
    const { assert!(STEPS == RADIUS as usize + 1, "two rows need RADIUS + 1 row pairs") };
    const { assert!(7 + RADIUS + SHIFT as i32 <= 15, "the window is two chunks wide") };
    const { assert!(RADIUS <= SHIFT as i32, "the window starts SHIFT columns left") };
    let stage_bytes = rows_per_stage(RADIUS as u32) * ROW_BYTES;
    // SAFETY: the launch gives `shared_bytes(RADIUS, stages)` of dynamic shared memory.
    let start = unsafe { shared::dynamic() };
    let ring = Ring::new(start, start.offset(HEADER_BYTES), stage_bytes, stages);
    // SAFETY: all threads of the block come here, and thread 0 alone sets up the barriers.
    let warp = unsafe {
        grid::start_next();
        if thread::thread_idx_x() == 0 {
            ring.init(1, WARPS);
        }
        if !planted(Fault::NoBlockSync) {
            thread::sync_threads();
        }
        thread::thread_idx_x() / warp::SIZE
    };
    // SAFETY: the launch's pointers are valid for the layout; each role is taken by whole warps.
    unsafe {
        if warp == WARPS {
            produce::<RADIUS, STEPS>(sweep, ring);
        } else {
            consume::<RADIUS, STEPS>(sweep, ring, fragments, warp);
        }
    }
}

/// Copies the input rows of tile after tile into the ring, one lane a row.
#[inline(always)]
unsafe fn produce<const RADIUS: i32, const STEPS: usize>(sweep: &Sweep, mut ring: Ring) {
    let rows = rows_per_stage(RADIUS as u32);
    // SAFETY: reads special registers.
    let (lane, blocks) = unsafe { (warp::lane_id(), thread::grid_dim_x()) };
    let last_row = sweep.ny - 1 + RADIUS;
    // SAFETY: as above; the input is what the launch before writes.
    let mut index = unsafe {
        if !planted(Fault::NoWaitForPrevious) {
            grid::wait_for_previous();
        }
        thread::block_idx_x()
    };
    while index < sweep.tiles() {
        let tile = sweep.tile(index);
        let bytes = (tile.strips * STRIP + 2 * CHUNK) * ELEMENT;
        let mut y = tile.y - RADIUS + lane as i32 + i32::from(planted(Fault::Halo));
        let mut stage = 0;
        while stage < tile.stages(STEPS as u32) {
            // SAFETY: the ring is set up; `bytes` and all addresses are multiples of 16 because
            // window starts, pitch and origins are; rows up to `last_row` and columns up to the
            // last strip's window lie in the array. The announcement comes before the copies.
            unsafe {
                ring.wait_empty();
                if lane == 0 {
                    let announced = if planted(Fault::NoAnnouncement) { 0 } else { rows * bytes };
                    barrier::arrive_expect(ring.full(), announced);
                }
                warp::sync();
                if lane < rows {
                    let row = if y < last_row { y } else { last_row };
                    let start = row as isize * sweep.pitch as isize + tile.x as isize;
                    let shift = CHUNK as isize - isize::from(planted(Fault::UnalignedCopy));
                    let from = sweep.input.offset(start - shift);
                    let to = ring.data().offset(lane * ROW_BYTES + LEAD);
                    copy::bulk(to, from.cast(), bytes, ring.full());
                }
            }
            y += rows as i32;
            stage += 1;
            ring.advance();
        }
        index += blocks;
    }
}

/// Sweeps one strip of tile after tile.
#[inline(always)]
unsafe fn consume<const RADIUS: i32, const STEPS: usize>(
    sweep: &Sweep,
    mut ring: Ring,
    fragments: *const u32,
    warp: u32,
) {
    // SAFETY: reads special registers.
    let (lane, blocks) = unsafe { (warp::lane_id(), thread::grid_dim_x()) };
    let (group, pair) = (lane / 4, lane % 4);
    let mut a = [[0u32; 4]; STEPS];
    let mut metadata = [0u32; STEPS];
    for step in 0..STEPS {
        let word = |index: usize| {
            let at = (step * WORDS_PER_STEP + index) * warp::SIZE as usize + lane as usize;
            // SAFETY: the launch gives STEPS × WORDS_PER_STEP × 32 words, which nobody writes.
            unsafe { global::load_constant(fragments.add(at)) }
        };
        a[step] = [word(0), word(1), word(2), word(3)];
        metadata[step] = word(4).rotate_left(if planted(Fault::MetadataHalf) { 16 } else { 0 });
    }
    let chunk = group + (pair + u32::from(planted(Fault::SwappedChunks))) % 2;
    // The rows of a stage, where this lane's window starts in the first strip. Lanes of the second
    // row of a pair load the halves of their chunk in the other order, so that a warp's 8-byte loads
    // meet in no bank; `transform::window` orders K alike.
    let window_start = LEAD + (CHUNK - SHIFT) * ELEMENT + pair / 2 * ROW_BYTES;
    let half = [pair / 2 * HALF, (1 - pair / 2) * HALF];
    let column = (warp * STRIP + group * CHUNK + pair * 2) as i32;

    // SAFETY: reads a special register; the output is what the launch before reads.
    let mut index = unsafe {
        if !planted(Fault::NoWaitBeforeStores) {
            grid::wait_for_previous();
        }
        thread::block_idx_x()
    };
    while index < sweep.tiles() {
        let tile = sweep.tile(index);
        // Strips past the tile's last one read that one's chunks; their outputs have `keep` = 0.
        let strip = if warp < tile.strips { warp } else { tile.strips - 1 };
        let chunk = strip * 8 + chunk;
        let fragment = window_start + chunk * CHUNK * ELEMENT;
        let x = tile.x + column;
        // Which of this lane's two columns exist. The frame beside the grid must stay zero, so a
        // word that is half outside gets a zero there, and one that is all outside is not stored.
        let keep = if x < 0 || x >= sweep.nx {
            0
        } else if x + 1 == sweep.nx {
            0x0000_ffff
        } else {
            0xffff_ffff
        };
        let mut window = [[0u32; 4]; STEPS];
        // The first STEPS - 1 rounds only fill the window.
        let mut y = tile.y - 2 * (STEPS as i32 - 1);
        let end = tile.y + tile.rows;
        let start = y as isize * sweep.pitch as isize + x as isize;
        let mut at = sweep.output.wrapping_offset(start);
        let mut stage = 0;
        while stage < tile.stages(STEPS as u32) {
            // SAFETY: the ring is set up, and the producer fills as many stages.
            unsafe { ring.wait_full() };
            let rows = ring.data().offset(fragment);
            for newest in 0..STEPS {
                let row_pair = rows.offset(newest as u32 * 2 * ROW_BYTES);
                // SAFETY: the row pair lies in the filled stage, aligned to 8 bytes.
                window[newest] = unsafe {
                    let [a, b] = shared::load_v2(row_pair.offset(half[0]));
                    let [c, d] = shared::load_v2(row_pair.offset(half[1]));
                    [a, b, c, d]
                };
                if newest == STEPS - 1 {
                    // SAFETY: the whole warp has loaded all it needs of this stage.
                    unsafe {
                        if !planted(Fault::NoWarpSync) {
                            warp::sync();
                        }
                        if lane == 0 || planted(Fault::EveryLaneReleases) {
                            ring.release();
                        }
                    }
                }
                let mut sum = [0.0f32; 4];
                for step in 0..STEPS {
                    let rows = window[(newest + 1 + step) % STEPS];
                    // SAFETY: all lanes execute it; the host's encoder orders the metadata.
                    sum = unsafe { mma::sp_m16n8k32_f16_f32(a[step], metadata[step], rows, sum) };
                }
                // Rows of the sum are columns of the grid: transpose, so that a warp stores 128
                // consecutive bytes.
                // SAFETY: all lanes execute it.
                let (upper, lower) = unsafe {
                    let upper = matrix::transpose(matrix::pack_f16(sum[0], sum[1]));
                    (upper, matrix::transpose(matrix::pack_f16(sum[2], sum[3])))
                };
                if keep != 0 && y >= tile.y && y < end {
                    // SAFETY: (y, x) is a point of this tile, whose words no other lane stores.
                    unsafe {
                        global::store(at.cast(), upper & keep);
                        if y + 1 < end {
                            global::store(
                                at.wrapping_add(sweep.pitch as usize).cast(),
                                lower & keep,
                            );
                        }
                    }
                }
                y += 2;
                at = at.wrapping_add(2 * sweep.pitch as usize);
            }
            stage += 1;
            ring.advance();
        }
        index += blocks;
    }
}

macro_rules! kernels {
    ($($name:ident: $radius:literal;)*) => {$(
        /// One step of radius
        #[doc = stringify!($radius)]
        /// : `output` = stencil of `input` on a grid of `ny` × `nx`.
        ///
        /// # Safety
        /// Launch with [`THREADS`] threads and [`shared_bytes`] of dynamic shared memory, `stages` ≤
        /// [`crate::ring::MAX_STAGES`]. `input` and `output` point at grid point (0, 0) of two
        /// different arrays laid out as in [`crate::layout`] with row pitch `pitch`. `fragments` holds, for each of the
        /// radius + 1 steps, 4 words of A and 1 of metadata for 32 lanes. `tile_rows` is even.
        #[kernel]
        #[allow(clippy::too_many_arguments)]
        pub unsafe fn $name(
            input: *const u16,
            output: *mut u16,
            fragments: *const u32,
            nx: u32,
            ny: u32,
            pitch: u32,
            tile_rows: u32,
            stages: u32,
        ) {
            let (nx, ny, pitch, tile_rows) = (nx as i32, ny as i32, pitch as i32, tile_rows as i32);
            let launch = Sweep { input, output, nx, ny, pitch, tile_rows };
            // SAFETY: the launch is as this function's contract says.
            unsafe { sweep::<$radius, { $radius + 1 }>(&launch, fragments, stages) };
        }
    )*};
}

kernels! {
    sweep2d_f16_r1: 1;
    sweep2d_f16_r2: 2;
    sweep2d_f16_r3: 3;
}
