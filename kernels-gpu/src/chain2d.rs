// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several time steps of a 2D stencil of radius 1 to 3 in one pass over memory: a pipeline of sweeps
//! on chip. f16 storage and products, f32 sums.
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

use crate::fault::{Fault, planted};
use crate::layout::{CHUNK, HALO_ROWS, SHIFT};
use crate::ring::{HEADER_BYTES, Ring};
use cuda_std::shared::Shared;
use cuda_std::{barrier, copy, global, kernel, matrix, mma, shared, thread, warp};

/// Warps of a time step.
pub const STEP_WARPS: u32 = 4;

/// The most time steps: more have no warps.
pub const MAX_CHAIN: u32 = 6;

/// Strips of 64 columns that a warp computes side by side.
const STRIPS: usize = 2;

/// Columns of one strip: the 8 chunks of an MMA.
const STRIP: u32 = 8 * CHUNK;

/// Columns that every step computes.
const RING_COLUMNS: u32 = STEP_WARPS * STRIPS as u32 * STRIP;

const ELEMENT: u32 = 2;

/// Bytes from row to row in a ring: the widest window with its first sector's offset, such that the
/// two rows of a pair start 16 words apart (mod 32) and meet in no bank.
const ROW_BYTES: u32 = 1088;

/// Words of A and metadata that a lane holds for one step of the product: 4 and 1.
const WORDS_PER_STEP: usize = 5;

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

/// The kernel for one radius and number of steps: `PAIRS` = `RADIUS` + 1.
#[inline(always)]
unsafe fn chain<const RADIUS: u32, const PAIRS: usize, const CHAIN: u32>(
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
                load::<RADIUS, PAIRS>(launch, CHAIN);
            } else {
                store::<RADIUS>(launch, CHAIN);
            }
        } else if CHAIN == 1 {
            compute::<RADIUS, PAIRS, true, true>(launch, fragments, step, part);
        } else if step == CHAIN - 1 {
            compute::<RADIUS, PAIRS, false, true>(launch, fragments, step, part);
        } else if step == 0 && CHAIN % 2 == 1 {
            compute::<RADIUS, PAIRS, true, false>(launch, fragments, step, part);
        } else {
            compute::<RADIUS, PAIRS, false, false>(launch, fragments, step, part);
        }
    }
}

/// Copies the input rows of tile after tile into the first ring, one lane a row.
#[inline(always)]
unsafe fn load<const RADIUS: u32, const PAIRS: usize>(launch: &Chain, chain: u32) {
    let rows = stage_rows(RADIUS);
    let mut ring = launch.ring(RADIUS, 0);
    // SAFETY: reads special registers.
    let (lane, blocks) = unsafe { (warp::lane_id(), thread::grid_dim_x()) };
    // SAFETY: as above.
    let mut index = unsafe { thread::block_idx_x() };
    while index < launch.tiles(RADIUS) {
        let tile = launch.tile(RADIUS, index);
        let x = launch.load_column(&tile);
        let phase = launch.phase(&tile);
        // Columns right of the grid are zeros; a chunk of them is all that a window can need.
        let present = (launch.nx - x) as u32 + CHUNK;
        let columns = RING_COLUMNS + 2 * CHUNK;
        let columns = if columns < present { columns } else { present.next_multiple_of(CHUNK) };
        let bytes = columns * ELEMENT;
        let mut y = tile.y - (chain * RADIUS) as i32 + lane as i32;
        let mut stage = 0;
        while stage < launch.tile_stages + chain {
            // SAFETY: the ring is set up; `bytes` and all addresses are multiples of 16 because
            // columns and pitch are; rows are clamped to the frame, and columns end at most a chunk
            // behind the grid. The announcement comes before the copies.
            unsafe {
                ring.wait_empty();
                if lane == 0 {
                    barrier::arrive_expect(ring.full(), rows * bytes);
                }
                warp::sync();
                if lane < rows {
                    let (first, last) = (-(HALO_ROWS as i32), launch.ny - 1 + HALO_ROWS as i32);
                    let row = if y < first {
                        first
                    } else if y > last {
                        last
                    } else {
                        y
                    };
                    let start = row as isize * launch.pitch as isize + x as isize;
                    let from = launch.input.offset(start);
                    let to = ring.data().offset(lane * ROW_BYTES + phase);
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

/// A warp's share of one time step: consumes ring `step`, fills ring `step + 1`. With `HALF` its
/// windows start in the middle of a chunk; with `LAST` it writes what goes to global memory.
struct Step<const PAIRS: usize, const HALF: bool, const LAST: bool> {
    input: Ring,
    output: Ring,
    a: [[u32; 4]; PAIRS],
    metadata: [u32; PAIRS],
    /// The sums of the open output pairs; that of pair `o` in place `o % PAIRS`.
    sums: [[[f32; 4]; PAIRS]; STRIPS],
    /// B fragments of the row pair that comes next.
    next: [[u32; 4]; STRIPS],
    /// Byte offsets of the two halves of this lane's chunk.
    halves: [u32; 2],
    /// Byte offset of the chunk that this lane addresses for the warp's transposed store.
    target: u32,
    /// Which columns of this lane's packed words lie in the grid.
    keep: [u32; STRIPS],
    lane: u32,
}

impl<const PAIRS: usize, const HALF: bool, const LAST: bool> Step<PAIRS, HALF, LAST> {
    /// B fragments of both strips at this lane's place in a row pair.
    ///
    /// # Safety
    /// The place lies in a filled stage, aligned to a chunk, or half a chunk with `HALF`.
    #[inline(always)]
    unsafe fn load_pair(&mut self, at: Shared) {
        for strip in 0..STRIPS {
            let at = at.offset(strip as u32 * STRIP * ELEMENT);
            // SAFETY: as the caller promises.
            self.next[strip] = unsafe {
                if HALF {
                    let [a, b] = shared::load_v2(at.offset(self.halves[0]));
                    let [c, d] = shared::load_v2(at.offset(self.halves[1]));
                    [a, b, c, d]
                } else {
                    shared::load_v4(at)
                }
            };
        }
    }

    /// One stage of the input ring; `window` is the byte offset of this lane's first chunk.
    ///
    /// The first output pair of a tile is complete with the last row pair of its first stage: before,
    /// nothing is stored (`STORES`). What the last row pair of the last stage completes, nobody needs
    /// (`OPENS` an output stage). Constants, because the sums of `mma` have no scoreboard: at every
    /// branch the warp would wait for all of them.
    ///
    /// # Safety
    /// The whole warp calls it for stage after stage; the rings are set up.
    #[inline(always)]
    unsafe fn stage<const STORES: bool, const OPENS: bool>(&mut self, window: u32) {
        // SAFETY: as the caller promises; the lane's place lies in the filled stage, and the output
        // stage that the last pair opens is waited for here, away from the products.
        unsafe {
            if OPENS {
                let mut opened = self.output;
                if STORES {
                    opened.advance();
                }
                opened.wait_empty();
            }
            self.input.wait_full();
            let rows = self.input.data().offset(window);
            self.load_pair(rows);
            self.round::<0, STORES, OPENS>(rows);
            self.round::<1, STORES, OPENS>(rows);
            self.round::<2, STORES, OPENS>(rows);
            self.round::<3, STORES, OPENS>(rows);
        }
        self.input.advance();
    }

    /// Multiplies row pair `NEWEST` of a stage into all open sums and stores the one that it
    /// completes. A function of its own, because only so every index is a constant.
    ///
    /// # Safety
    /// Part of [`Self::stage`].
    #[inline(always)]
    unsafe fn round<const NEWEST: usize, const STORES: bool, const OPENS: bool>(
        &mut self,
        rows: Shared,
    ) {
        if NEWEST >= PAIRS {
            return;
        }
        let b = self.next;
        // SAFETY: as the caller promises; the whole warp leaves the stage after its last load.
        unsafe {
            if NEWEST + 1 < PAIRS {
                self.load_pair(rows.offset((NEWEST as u32 + 1) * 2 * ROW_BYTES));
            } else {
                warp::sync();
                if self.lane == 0 {
                    self.input.release();
                }
            }
        }
        // The sum that this pair completes comes first: it is needed soonest.
        for k in (0..PAIRS).rev() {
            let place = (NEWEST + PAIRS - k) % PAIRS;
            for (strip, &b) in b.iter().enumerate() {
                let sum = if k == 0 { [0.0; 4] } else { self.sums[strip][place] };
                // SAFETY: all lanes execute it; the host's encoder orders the metadata.
                self.sums[strip][place] =
                    unsafe { mma::sp_m16n8k32_f16_f32(self.a[k], self.metadata[k], b, sum) };
            }
        }
        let done = (NEWEST + 1) % PAIRS;
        if if done == 0 { OPENS } else { STORES } {
            // SAFETY: all lanes take this branch.
            unsafe { self.store_pair(done) };
        }
    }

    /// Stores a complete pair of rows into the output ring.
    ///
    /// # Safety
    /// The whole warp calls it, for pairs 0, 1, … of stage after stage.
    #[inline(always)]
    unsafe fn store_pair(&mut self, pair: usize) {
        // SAFETY: the rows lie in a stage that has been waited for, and no other warp writes these
        // chunks of it; the stage is published when its last pair is written.
        unsafe {
            let rows = self.output.data().offset(self.target + pair as u32 * 2 * ROW_BYTES);
            for strip in 0..STRIPS {
                let [c0, c1, c2, c3] = self.sums[strip][pair];
                let upper = matrix::pack_f16(c0, c1) & self.keep[strip];
                let lower = matrix::pack_f16(c2, c3) & self.keep[strip];
                let at = rows.offset(strip as u32 * STRIP * ELEMENT);
                matrix::store_transposed_x2(at, upper, lower);
            }
            if pair == PAIRS - 1 {
                if LAST {
                    copy::fence_shared();
                }
                if !planted(Fault::NoSyncBeforePublish) {
                    warp::sync();
                }
                if self.lane == 0 {
                    self.output.publish();
                }
                self.output.advance();
            }
        }
    }
}

/// Sweeps tile after tile.
#[inline(always)]
unsafe fn compute<const RADIUS: u32, const PAIRS: usize, const HALF: bool, const LAST: bool>(
    launch: &Chain,
    fragments: *const u32,
    step: u32,
    part: u32,
) {
    const { assert!(PAIRS <= 4, "a stage is unrolled by hand") };
    // SAFETY: reads special registers.
    let (lane, blocks) = unsafe { (warp::lane_id(), thread::grid_dim_x()) };
    let (group, pair) = (lane / 4, lane % 4);
    let first_chunk = part * (STRIPS as u32 * STRIP / CHUNK);
    let half = CHUNK / 2 * ELEMENT;
    // The operand comes twice: for whole chunks, then for half chunks.
    let operand = if HALF { PAIRS * WORDS_PER_STEP * warp::SIZE as usize } else { 0 };
    let word = |k: usize, index: usize| {
        let at = operand + (k * WORDS_PER_STEP + index) * warp::SIZE as usize + lane as usize;
        // SAFETY: the launch gives 2 × PAIRS × WORDS_PER_STEP × 32 words, which nobody writes.
        unsafe { global::load_constant(fragments.add(at)) }
    };
    let mut a = [[0; 4]; PAIRS];
    let mut metadata = [0; PAIRS];
    for k in 0..PAIRS {
        a[k] = [word(k, 0), word(k, 1), word(k, 2), word(k, 3)];
        metadata[k] = word(k, 4);
    }
    let mut state = Step::<PAIRS, HALF, LAST> {
        input: launch.ring(RADIUS, step),
        output: launch.ring(RADIUS, step + 1),
        a,
        metadata,
        sums: [[[0.0; 4]; PAIRS]; STRIPS],
        next: [[0; 4]; STRIPS],
        halves: [pair / 2 * half, (1 - pair / 2) * half],
        // Lanes 0 to 7 address the upper row's chunks, 8 to 15 the lower row's.
        target: lane / 8 % 2 * ROW_BYTES + (first_chunk + lane % 8) * CHUNK * ELEMENT,
        keep: [u32::MAX; STRIPS],
        lane,
    };
    let window = pair / 2 * ROW_BYTES + (first_chunk + group + pair % 2) * CHUNK * ELEMENT;

    // SAFETY: reads a special register.
    let mut index = unsafe { thread::block_idx_x() };
    while index < launch.tiles(RADIUS) {
        let tile = launch.tile(RADIUS, index);
        let late = if step > 0 { 0 } else { launch.phase(&tile) + if HALF { half } else { 0 } };
        if LAST {
            // A packed word holds column `group` of chunks 2·pair and 2·pair + 1; columns right of
            // the grid become zeros, because the frame must stay zero.
            for strip in 0..STRIPS {
                let chunk = first_chunk + strip as u32 * (STRIP / CHUNK) + 2 * pair;
                let x = tile.x + (chunk * CHUNK + group) as i32;
                let low = if x < launch.nx { 0x0000_ffff } else { 0 };
                let high = if x + (CHUNK as i32) < launch.nx { 0xffff_0000 } else { 0 };
                state.keep[strip] = low | high;
            }
        }
        let stages = launch.tile_stages + launch.steps - step;
        // SAFETY: the rings are set up, and the producers fill as many stages: at least two.
        unsafe {
            state.stage::<false, true>(window + late);
            let mut stage = 2;
            while stage < stages {
                state.stage::<true, true>(window + late);
                stage += 1;
            }
            state.stage::<true, false>(window + late);
        }
        index += blocks;
    }
}

/// Copies the rows of the last ring to global memory, one lane a row.
#[inline(always)]
unsafe fn store<const RADIUS: u32>(launch: &Chain, chain: u32) {
    let rows = stage_rows(RADIUS);
    let mut ring = launch.ring(RADIUS, chain);
    // The stage before: released one stage late, so that the engine always has work.
    let mut previous: Option<Ring> = None;
    // SAFETY: reads special registers.
    let (lane, blocks) = unsafe { (warp::lane_id(), thread::grid_dim_x()) };
    // SAFETY: as above.
    let mut index = unsafe { thread::block_idx_x() };
    while index < launch.tiles(RADIUS) {
        let tile = launch.tile(RADIUS, index);
        let present = ((launch.nx - tile.x) as u32).next_multiple_of(CHUNK);
        let columns = launch.tile_columns();
        let columns = if columns < present { columns } else { present };
        let mut y = tile.y + lane as i32;
        let mut stage = 0;
        while stage < launch.tile_stages {
            // SAFETY: the ring is set up and its writers fence; addresses and bytes are multiples of
            // 16 because columns and pitch are; the row lies in the grid, and its last chunk at most
            // in the frame, where it holds zeros.
            unsafe {
                ring.wait_full();
                if lane < rows && y < launch.ny {
                    let start = y as isize * launch.pitch as isize + tile.x as isize;
                    let to = launch.output.offset(start);
                    let from = ring.data().offset(lane * ROW_BYTES);
                    copy::bulk_store(to.cast(), from, columns * ELEMENT);
                }
                copy::commit_stores();
                if !planted(Fault::NoWaitStoresRead) {
                    copy::wait_stores_read::<1>();
                }
                warp::sync();
                if let Some(previous) = previous.replace(ring)
                    && lane == 0
                {
                    previous.release();
                }
            }
            y += rows as i32;
            stage += 1;
            ring.advance();
        }
        index += blocks;
    }
    // SAFETY: only in a kernel; the block's shared memory must outlive the copies.
    unsafe { copy::wait_stores_read::<0>() };
}

macro_rules! kernels {
    ($($name:ident: $radius:literal, $chain:literal;)*) => {
    $(
        #[doc = concat!(stringify!($chain), " time steps of radius ", stringify!($radius), ":")]
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
            unsafe { chain::<$radius, { $radius + 1 }, $chain>(&launch, fragments) };
        }
    )*

    /// A kernel's parameters, in order.
    #[cfg(not(target_arch = "nvptx64"))]
    pub type Kernel =
        unsafe fn(*const u16, *mut u16, *const u32, u32, u32, u32, u32, u32, u32);

    /// The kernel for a radius and a number of steps, with its name, if there is one.
    #[cfg(not(target_arch = "nvptx64"))]
    #[must_use]
    pub fn kernel(radius: u32, chain: u32) -> Option<(&'static str, Kernel)> {
        match (radius, chain) {
            $(($radius, $chain) => Some((stringify!($name), $name)),)*
            _ => None,
        }
    }
    };
}

kernels! {
    chain2d_f16_r1_c1: 1, 1;
    chain2d_f16_r2_c1: 2, 1;
    chain2d_f16_r3_c1: 3, 1;
    chain2d_f16_r1_c2: 1, 2;
    chain2d_f16_r2_c2: 2, 2;
    chain2d_f16_r3_c2: 3, 2;
    chain2d_f16_r2_c3: 2, 3;
    chain2d_f16_r1_c4: 1, 4;
    chain2d_f16_r2_c4: 2, 4;
    chain2d_f16_r3_c4: 3, 4;
}
