// SPDX-License-Identifier: MIT OR Apache-2.0
//! One time step of a 2D stencil that reaches up to 7 columns and 7 rows to either side, in f16 or bf16
//! with f32 sums.
//!
//! **Product.** One `mma.sp` adds what one input row contributes to 128 outputs of an output row
//! ([`crate::row_window`]): 2r + 1 for each output row. From radius 6 on that much arithmetic, not
//! memory, is the limit, so the tensor cores must never wait.
//!
//! **Stores.** A lane stores pairs of outputs as it has them, with as little as possible between products
//! (`docs/decisions/0015-wide-stores.md`).
//!
//! **Accumulating forward.** A warp streams down 128 columns. Each input row is loaded once and added
//! to the sums of all 2r + 1 output rows that it reaches: as many independent products. The oldest sum
//! is then complete, and the others move up by one place, at no cost, because a product need not write
//! the registers that it adds to. Operand A stays in registers, with one word of metadata for all rows.
//!
//! **Blocks.** [`WARPS`] consumer warps side by side, two for each partition of a multiprocessor, and
//! one producer warp, which copies rows of the tile into a ring of stages ([`crate::fill`]). The 2r
//! rows of halo above and below a tile cost products too, so tiles are tall, at best one for each block.

pub mod finished;

use crate::fill::{self, StageRows};
use crate::half::{Bf16, F16};
use crate::layout::{CHUNK, Grid2d};
use crate::overlap;
use crate::pointwise::Point;
use crate::product::{Dense, Form, HalfProduct, Product};
use crate::ring::{HEADER_BYTES, Ring};
use crate::row_window::{
    HALF, SHIFT, UNIT, kept_of_pair, loaded_column_of_halves, operand, paired_column, pairs,
};
use crate::unroll::unroll;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_mma::fragment::Element;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::shared::Shared;
use cuda_std::{global, kernel, shared, thread, warp};

/// Consumer warps in a block.
pub const WARPS: u32 = 8;

/// The most registers that operand A, and what finishes sums, take of kernels with a producer warp. Of the others a partition of a multiprocessor has
/// room for two warps only: the first consumer copies the rows, too.
const MOST_WORDS: usize = 72;

/// Threads of a block with so many such words in a lane: the consumers and, if it has one, the producer warp.
const fn threads_of(words: usize) -> u32 {
    (WARPS + if words <= MOST_WORDS { 1 } else { 0 }) * warp::SIZE
}

/// Threads of a block.
#[must_use]
pub const fn threads(form: Form, radius: u32) -> u32 {
    let words = if matches!(form, Form::Sparse) { F16::WORDS } else { Dense::<F16>::WORDS };
    threads_of(words * (2 * radius as usize + 1))
}

/// Columns of a tile.
pub const TILE_COLUMNS: u32 = WARPS * UNIT;

/// Input rows in a stage.
pub const STAGE_ROWS: u32 = 4;

/// The largest radius of a kernel; there is one for each from 1 on.
pub const MOST_RADIUS: u32 = SHIFT - 1;

const ELEMENT: u32 = 2;

/// Bytes from row to row in shared memory: the columns of a tile and a chunk on either side.
const ROW_BYTES: u32 = (LEAD + (TILE_COLUMNS + 2 * CHUNK) * ELEMENT).next_multiple_of(2 * LEAD);

/// Free bytes before a row in shared memory. A row starts one chunk, 16 bytes, before a 32-byte
/// sector of global memory; the copy engine moves whole sectors only if it does so here too.
const LEAD: u32 = 16;

/// Bytes of the rows of a stage that come from one grid.
const PLANE_BYTES: u32 = STAGE_ROWS * ROW_BYTES;

/// Dynamic shared memory of a block, in bytes.
#[must_use]
pub const fn shared_bytes(stages: u32) -> u32 {
    HEADER_BYTES + stages * PLANE_BYTES
}

/// What becomes of sums before they are stored, and the other grids that it reads.
trait Epilogue: Copy {
    /// Whether it does anything.
    const IS_THERE: bool;

    /// How many numbers each weight is a sum of: 1 or 2.
    const NUMBERS: usize;

    /// Registers that it takes as long as operand A takes its own.
    const WORDS: usize;

    /// How many other grids it reads, at the point itself.
    fn planes(self) -> u32;

    /// Grid point (0, 0) of one of them.
    fn plane(self, plane: u32) -> *const u16;

    /// The new values of the points at `at` and beside it, and of those [`HALF`] farther, in the order of a product's
    /// sums. At `planes` lies the first of them in the first grid's row; [`PLANE_BYTES`] farther the next grid's.
    ///
    /// # Safety
    /// Only in a kernel; the rows are there.
    unsafe fn finish(self, sums: [f32; 4], at: Point, planes: Shared) -> [f32; 4];
}

/// The sums themselves.
#[derive(Clone, Copy)]
struct Sums;

impl Epilogue for Sums {
    const IS_THERE: bool = false;

    const NUMBERS: usize = 1;

    const WORDS: usize = 0;

    #[inline(always)]
    fn planes(self) -> u32 {
        0
    }

    #[inline(always)]
    fn plane(self, _: u32) -> *const u16 {
        core::ptr::null()
    }

    #[inline(always)]
    unsafe fn finish(self, sums: [f32; 4], _: Point, _: Shared) -> [f32; 4] {
        sums
    }
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
    tile_rows: i32,
}

/// A part of the grid that one block computes at a time.
#[derive(Clone, Copy)]
struct Tile {
    x: i32,
    y: i32,
    rows: i32,
    /// Units that hold columns of the grid, from the left.
    units: u32,
}

impl Sweep {
    #[inline(always)]
    const fn new(input: *const u16, output: *mut u16, launch: &Wide2dLaunch) -> Self {
        let Grid2d { nx, ny, pitch } = launch.grid;
        let (nx, ny, pitch) = (nx as i32, ny as i32, pitch as i32);
        Self { input, output, nx, ny, pitch, tile_rows: launch.tile_rows as i32 }
    }

    #[inline(always)]
    fn tiles_across(&self) -> u32 {
        (self.nx as u32).div_ceil(TILE_COLUMNS)
    }

    #[inline(always)]
    fn tiles(&self) -> u32 {
        self.tiles_across() * (self.ny as u32).div_ceil(self.tile_rows as u32)
    }

    #[inline(always)]
    fn tile(&self, index: u32) -> Tile {
        let across = self.tiles_across();
        let x = (index % across * TILE_COLUMNS) as i32;
        let y = (index / across) as i32 * self.tile_rows;
        let units = ((self.nx - x) as u32).div_ceil(UNIT);
        let rows = self.ny - y;
        Tile {
            x,
            y,
            rows: if rows < self.tile_rows { rows } else { self.tile_rows },
            units: if units < WARPS { units } else { WARPS },
        }
    }
}

impl Tile {
    /// Stages that hold all input rows of the tile.
    #[inline(always)]
    fn stages(&self, radius: i32) -> u32 {
        ((self.rows + 2 * radius) as u32).div_ceil(STAGE_ROWS)
    }
}

/// The kernel for one type and radius: a row takes `STEPS` = 2 · `RADIUS` + 1 products, and `OPEN` =
/// 2 · `RADIUS` output rows await more input rows. Where each weight is a sum of numbers, a step has a product for
/// each of them.
#[inline(always)]
unsafe fn sweep<
    P: HalfProduct,
    F: Epilogue,
    const RADIUS: i32,
    const STEPS: usize,
    const OPEN: usize,
>(
    sweep: &Sweep,
    words: *const u32,
    stages: u32,
    finish: F,
) {
    const { assert!(OPEN == 2 * RADIUS as usize && STEPS == OPEN + 1, "a step for each row") };
    const { assert!(F::NUMBERS == 1 || F::NUMBERS == 2, "numbers of a weight") };
    const { assert!(RADIUS < SHIFT as i32, "the window starts SHIFT columns left") };
    // SAFETY: the launch gives `shared_bytes(stages)` of dynamic shared memory.
    let start = unsafe { shared::dynamic() };
    let stage_bytes = (1 + finish.planes()) * PLANE_BYTES;
    let ring = Ring::new(start, start.offset(HEADER_BYTES), stage_bytes, stages);
    // SAFETY: all threads of the block come here, and thread 0 alone sets up the barriers.
    let warp = unsafe {
        if thread::thread_idx_x() == 0 {
            ring.init(fill::arrivals(), WARPS);
        }
        thread::sync_threads();
        thread::thread_idx_x() / warp::SIZE
    };
    // SAFETY: the launch's pointers are valid for the layout; each role is taken by whole warps.
    unsafe {
        if has_producer::<P, F, STEPS>() && warp == WARPS {
            produce::<F, RADIUS>(sweep, ring, finish);
        } else {
            consume::<P, F, RADIUS, STEPS, OPEN>(sweep, ring, words, (warp, stages), finish);
        }
    }
}

/// Whether a kernel has a producer warp.
const fn has_producer<P: Product, F: Epilogue, const STEPS: usize>() -> bool {
    threads_of(P::WORDS * STEPS * F::NUMBERS + F::WORDS) > WARPS * warp::SIZE
}

/// Copies the input rows of tile after tile into the ring.
#[inline(always)]
unsafe fn produce<F: Epilogue, const RADIUS: i32>(sweep: &Sweep, mut ring: Ring, finish: F) {
    // SAFETY: reads special registers; the input is what the launch before writes.
    let (blocks, mut index) = unsafe {
        overlap::wait_for_previous();
        overlap::start_next();
        (thread::grid_dim_x(), thread::block_idx_x())
    };
    while index < sweep.tiles() {
        let tile = sweep.tile(index);
        let mut y = tile.y - RADIUS;
        let mut stage = 0;
        while stage < tile.stages(RADIUS) {
            // SAFETY: as the launch promises; these are rows of the tile.
            unsafe { fill_stage::<F, RADIUS>(sweep, &ring, &tile, y, finish) };
            y += STAGE_ROWS as i32;
            stage += 1;
            ring.advance();
        }
        index += blocks;
    }
    // SAFETY: this warp's last copies have been issued.
    unsafe { fill::finish() };
}

/// What copies the input rows of tile after tile, a stage at a time, beside other work.
struct Filler<F> {
    ring: Ring,
    finish: F,
    /// The tile that comes next, and how many tiles later the one after it.
    index: u32,
    blocks: u32,
    /// The tile of which so many stages are left, from row `y` on.
    tile: Tile,
    left: u32,
    y: i32,
}

impl<F: Epilogue> Filler<F> {
    /// Begins with as many stages as the ring has, but for the one that the warp gives back before it fills it.
    ///
    /// # Safety
    /// The whole warp calls it, once; the ring is set up and the launch valid.
    #[inline(always)]
    unsafe fn start<const RADIUS: i32>(sweep: &Sweep, ring: Ring, stages: u32, finish: F) -> Self {
        // SAFETY: reads special registers; the input is what the launch before writes.
        let (index, blocks) = unsafe {
            overlap::wait_for_previous();
            overlap::start_next();
            (thread::block_idx_x(), thread::grid_dim_x())
        };
        let tile = Tile { x: 0, y: 0, rows: 0, units: 0 };
        let mut filler = Self { ring, finish, index, blocks, tile, left: 0, y: 0 };
        let mut ahead = 1;
        while ahead < stages || ahead == 1 {
            // SAFETY: as the caller promises.
            unsafe { filler.fill::<RADIUS>(sweep) };
            ahead += 1;
        }
        filler
    }

    /// Fills the next stage, if there is one.
    ///
    /// # Safety
    /// The whole warp calls it, after it has given back the stage before.
    #[inline(always)]
    unsafe fn fill<const RADIUS: i32>(&mut self, sweep: &Sweep) {
        if self.left == 0 {
            if self.index >= sweep.tiles() {
                return;
            }
            self.tile = sweep.tile(self.index);
            self.index += self.blocks;
            self.left = self.tile.stages(RADIUS);
            self.y = self.tile.y - RADIUS;
        }
        // SAFETY: as the caller promises; these are rows of the tile.
        unsafe { fill_stage::<F, RADIUS>(sweep, &self.ring, &self.tile, self.y, self.finish) };
        self.y += STAGE_ROWS as i32;
        self.left -= 1;
        self.ring.advance();
    }
}

/// Copies the input rows of a tile from row `y` on into a stage, and the rows of other grids of the outputs that these
/// complete.
///
/// # Safety
/// The whole warp calls it; the ring is set up and the launch valid; `y` is at most [`STAGE_ROWS`] below the tile's last
/// input row.
#[inline(always)]
unsafe fn fill_stage<F: Epilogue, const RADIUS: i32>(
    sweep: &Sweep,
    ring: &Ring,
    tile: &Tile,
    y: i32,
    finish: F,
) {
    let last_row = sweep.ny - 1 + RADIUS;
    let bytes = (tile.units * UNIT + 2 * CHUNK) * ELEMENT;
    let count = STAGE_ROWS * (1 + finish.planes());
    let rows = StageRows { count, bytes, start: LEAD, pitch: ROW_BYTES };
    let place = |grid: *const u16, y: i32| {
        let start = y as isize * sweep.pitch as isize + tile.x as isize;
        grid.wrapping_offset(start - SHIFT as isize).cast()
    };
    let source = |row: u32| {
        if F::IS_THERE && row >= STAGE_ROWS {
            let (plane, row) = (row / STAGE_ROWS - 1, row % STAGE_ROWS);
            // Of rows that complete none, any of the tile's.
            let y = y + row as i32 - RADIUS;
            let y = if y < tile.y { tile.y } else { y };
            let last = tile.y + tile.rows - 1;
            return place(finish.plane(plane), if y < last { y } else { last });
        }
        let y = y + row as i32;
        place(sweep.input, if y < last_row { y } else { last_row })
    };
    // SAFETY: the ring is set up; `bytes` and all addresses are multiples of 16 because window starts, pitch and
    // origins are; rows up to `last_row` and columns up to the last unit's window lie in the array.
    unsafe { rows.fill(ring, source) };
}

/// Sweeps one unit's columns of tile after tile.
#[inline(always)]
unsafe fn consume<
    P: HalfProduct,
    F: Epilogue,
    const RADIUS: i32,
    const STEPS: usize,
    const OPEN: usize,
>(
    sweep: &Sweep,
    mut ring: Ring,
    words: *const u32,
    (warp, stages): (u32, u32),
    finish: F,
) {
    let fills = !has_producer::<P, F, STEPS>() && warp == 0;
    // SAFETY: the launch's pointers are valid; the whole warp comes here.
    let start = || unsafe { Filler::start::<RADIUS>(sweep, ring, stages, finish) };
    let mut filler = if fills { Some(start()) } else { None };
    // SAFETY: reads special registers; the launch gives the operand of `STEPS` steps, of each number of weights.
    let (lane, blocks, (a, metadata), more) = unsafe {
        let lane = warp::lane_id();
        let words_of_one = (P::WORDS * STEPS + usize::from(P::IS_SPARSE)) * warp::SIZE as usize;
        let more = if F::NUMBERS == 2 { words.add(words_of_one) } else { words };
        (
            lane,
            thread::grid_dim_x(),
            operand::<P, STEPS>(words, lane),
            operand::<P, STEPS>(more, lane).0,
        )
    };
    // SAFETY: all lanes execute it; the host's encoder orders the metadata.
    let begin = |step: usize, row, sum| unsafe {
        let sum = P::begin(a[step], metadata, row, sum);
        if F::NUMBERS == 2 { P::begin(more[step], metadata, row, sum) } else { sum }
    };
    // SAFETY: all lanes execute it.
    let end = |step: usize, row, sum| unsafe { P::end(a[step], row, sum) };
    let column = (warp * UNIT + paired_column(lane)) as i32;
    // SAFETY: reads a special register; the output is what the launch before reads.
    let mut index = unsafe {
        overlap::wait_before_stores();
        thread::block_idx_x()
    };
    while index < sweep.tiles() {
        let tile = sweep.tile(index);
        // Warps past the tile's last unit read that one's rows, and store nothing.
        let unit = if warp < tile.units { warp } else { tile.units - 1 };
        let loaded = LEAD + (unit * UNIT + loaded_column_of_halves(lane)) * ELEMENT;
        let x = tile.x + column;
        let left = sweep.nx - x;
        let keep = [kept_of_pair(left), kept_of_pair(left - HALF as i32)];
        let rows_to_store = if keep[0] != 0 { tile.rows as u32 } else { 0 };
        // The output row of the tile that the next input row completes; wraps where it lies above.
        let mut done_row = 0u32.wrapping_sub(OPEN as u32);
        let start = (tile.y - 2 * RADIUS) as isize * sweep.pitch as isize + x as isize;
        let mut at = sweep.output.wrapping_offset(start);
        // The sums of that row and those below it.
        let mut sums = [[0.0f32; 4]; OPEN];
        let mut stage = 0;
        while stage < tile.stages(RADIUS) {
            let mut rows = [[0u32; 4]; STAGE_ROWS as usize];
            let load = |i: usize| {
                // SAFETY: the row lies in the filled stage, aligned to 16 bytes.
                unsafe { shared::load_v4(ring.data().offset(i as u32 * ROW_BYTES + loaded)) }
            };
            let mut leave = || {
                // SAFETY: the whole warp has loaded what it needs of the stage.
                unsafe {
                    warp::sync();
                    if lane == 0 {
                        ring.release();
                    }
                    if let Some(filler) = &mut filler {
                        filler.fill::<RADIUS>(sweep);
                    }
                }
            };
            // SAFETY: the ring is set up, and the producer fills as many stages. The whole warp has loaded the
            // rows when it leaves.
            unsafe {
                ring.wait_full();
                if !F::IS_THERE {
                    rows = core::array::from_fn(load);
                    leave();
                }
            }
            for (i, row) in rows.into_iter().enumerate() {
                // Registers are for weights that are two numbers.
                let row = if F::IS_THERE { load(i) } else { row };
                let mut done = begin(OPEN, row, sums[0]);
                unroll!(open < OPEN => if open > 0 {
                    sums[open - 1] = begin(OPEN - open, row, sums[open]);
                });
                sums[OPEN - 1] = begin(0, row, [0.0; 4]);
                if !P::IS_SPARSE {
                    done = end(OPEN, row, done);
                    unroll!(open < OPEN => sums[open] = end(OPEN - 1 - open, row, sums[open]));
                }
                if F::IS_THERE && done_row < rows_to_store {
                    let planes = LEAD + (SHIFT + unit * UNIT + paired_column(lane)) * ELEMENT;
                    let planes = ring.data().offset(PLANE_BYTES + i as u32 * ROW_BYTES + planes);
                    let point = Point { y: tile.y + done_row as i32, x };
                    // SAFETY: in a kernel; the rows lie in the filled stage.
                    done = unsafe { finish.finish(done, point, planes) };
                }
                // SAFETY: in a kernel.
                let [first_half, second_half] = unsafe { pairs::<P::Element>(done) };
                if done_row < rows_to_store {
                    // SAFETY: this is a point of the tile; the unit lies in the array, and no other
                    // lane stores these columns.
                    unsafe {
                        global::store(at.cast(), first_half & keep[0]);
                        let second = at.wrapping_add(HALF as usize);
                        global::store(second.cast(), second_half & keep[1]);
                    }
                }
                done_row = done_row.wrapping_add(1);
                at = at.wrapping_add(sweep.pitch as usize);
            }
            if F::IS_THERE {
                leave();
            }
            stage += 1;
            ring.advance();
        }
        index += blocks;
    }
    if filler.is_some() {
        // SAFETY: this warp's last copies have been issued.
        unsafe { fill::finish() };
    }
}

/// What a launch computes.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wide2dLaunch {
    /// The grid.
    pub grid: Grid2d,
    /// Rows of a tile.
    pub tile_rows: u32,
    /// Stages of the ring, at most [`crate::ring::MAX_STAGES`].
    pub stages: u32,
}

/// A kernel's parameters, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters = (*const u16, *mut u16, *const u32, Wide2dLaunch);

/// The kernel for products of a form, a type and a radius, if there is one.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn kernel(form: Form, element: Element, radius: u32) -> Option<Entry<Parameters>> {
    match form {
        Form::Sparse => sparse(element, radius),
        Form::Dense => dense(element, radius),
    }
}

// The 9 warps of a block put 3 on one of a multiprocessor's four partitions of 16384 registers, 8 put 2 there.
macro_rules! kernels {
    ($find:ident: $($name:ident, $registers:tt: $element:ident, $product:ty, $radius:literal;)*) => {
    $(
        #[doc = concat!("One step of up to ", stringify!($radius), " rows to either side:")]
        /// `output` = stencil of `input`.
        ///
        /// # Safety
        /// Launch with [`threads`] threads and [`shared_bytes`] of dynamic shared memory. `input` and `output` point at grid
        /// point (0, 0) of two different arrays laid out as in [`crate::layout`]. `words` holds, for
        /// each of 2 · radius + 1 steps, the words of A, then of sparse products 1 of metadata, each for 32 lanes.
        #[kernel(registers = $registers)]
        pub unsafe fn $name(input: *const u16, output: *mut u16, words: *const u32, launch: Wide2dLaunch) {
            // SAFETY: the launch is as this function's contract says.
            unsafe {
                sweep::<$product, Sums, $radius, { 2 * $radius + 1 }, { 2 * $radius }>(
                    &Sweep::new(input, output, &launch), words, launch.stages, Sums,
                );
            }
        }
    )*

    #[cfg(not(target_arch = "nvptx64"))]
    fn $find(element: Element, radius: u32) -> Option<Entry<Parameters>> {
        match (element, radius) {
            $((Element::$element, $radius) => Some(Entry::of::<$name>()),)*
            _ => None,
        }
    }
    };
}

kernels! {
    sparse:
    wide2d_f16_r1, 168: F16, F16, 1;
    wide2d_f16_r2, 168: F16, F16, 2;
    wide2d_f16_r3, 168: F16, F16, 3;
    wide2d_f16_r4, 168: F16, F16, 4;
    wide2d_f16_r5, 168: F16, F16, 5;
    wide2d_f16_r6, 168: F16, F16, 6;
    wide2d_f16_r7, 168: F16, F16, 7;
    wide2d_bf16_r1, 168: Bf16, Bf16, 1;
    wide2d_bf16_r2, 168: Bf16, Bf16, 2;
    wide2d_bf16_r3, 168: Bf16, Bf16, 3;
    wide2d_bf16_r4, 168: Bf16, Bf16, 4;
    wide2d_bf16_r5, 168: Bf16, Bf16, 5;
    wide2d_bf16_r6, 168: Bf16, Bf16, 6;
    wide2d_bf16_r7, 168: Bf16, Bf16, 7;
}

kernels! {
    dense:
    dense_wide2d_f16_r1, 168: F16, Dense<F16>, 1;
    dense_wide2d_f16_r2, 168: F16, Dense<F16>, 2;
    dense_wide2d_f16_r3, 168: F16, Dense<F16>, 3;
    dense_wide2d_f16_r4, 168: F16, Dense<F16>, 4;
    dense_wide2d_f16_r5, 255: F16, Dense<F16>, 5;
    dense_wide2d_f16_r6, 255: F16, Dense<F16>, 6;
    dense_wide2d_f16_r7, 255: F16, Dense<F16>, 7;
    dense_wide2d_bf16_r1, 168: Bf16, Dense<Bf16>, 1;
    dense_wide2d_bf16_r2, 168: Bf16, Dense<Bf16>, 2;
    dense_wide2d_bf16_r3, 168: Bf16, Dense<Bf16>, 3;
    dense_wide2d_bf16_r4, 168: Bf16, Dense<Bf16>, 4;
    dense_wide2d_bf16_r5, 255: Bf16, Dense<Bf16>, 5;
    dense_wide2d_bf16_r6, 255: Bf16, Dense<Bf16>, 6;
    dense_wide2d_bf16_r7, 255: Bf16, Dense<Bf16>, 7;
}
