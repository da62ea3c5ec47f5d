// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time steps of a 2D stencil of radius 1 to 3 (2r + 1 ≤ 8) on sparse tensor cores, in f16, bf16,
//! tf32 (stored as f32) or f32, with f32 sums.
//!
//! **Product.** For 8 chunks of 8 columns, `r + 1` steps add the contributions of pairs of input rows
//! to 2 × 8 outputs: M = 2 rows × 8 columns, N = 8 chunks, K = the 16 columns from half a chunk left of
//! the outputs, in both rows. The order of K is chosen so that the B fragment of a lane is made of
//! neighbouring columns. `halves` says how in the 16-bit types, where a step is one `mma.sp` m16n8k32,
//! `quarters` in tf32, where it is two m16n8k16, and `split` in f32, where it is six products of bf16
//! numbers. (`transform::window` builds the matching A.)
//!
//! **Register window.** A warp streams down 64 columns. It loads each pair of input rows once and
//! keeps the fragment in registers for the `r + 1` output pairs that use it (in f32 the other way
//! round: the sums of these pairs). The window's index is a compile-time constant because the loop is unrolled `r + 1` times; an unrolled round is one
//! stage of the ring.
//!
//! **Blocks.** [`WARPS`] consumer warps side by side and one producer warp, which copies rows of the
//! tile into a ring of stages ([`crate::fill`]). Blocks stay and take tiles in row-major order, so that
//! the halo rows of a tile are still in the L2 cache when its lower neighbour comes. Or they take them
//! from the last row up, to begin with what the launch before wrote last. Launches in a row overlap:
//! the next one sets up its barriers and loads its operand while this one ends.
//! A launch can take several steps, between which nobody waits for all ([`crate::progress`]).
//!
//! This file has the geometry and the entry points; `produce` and `consume` are the two roles; the
//! third, of a signaller that tells the other blocks of finished tiles, is [`Progress::count`].

mod applied;
mod consume;
pub(crate) mod halves;
pub mod naive;
mod produce;
pub(crate) mod quarters;
mod split;

pub use applied::{AppliedStep, step};

use crate::fault::{Fault, planted};
use crate::fill;
use crate::half::{Bf16, F16};
use crate::layout::{CHUNK, Grid2d, SHIFT, STRIP};
use crate::pointwise::Point;
#[cfg(not(target_arch = "nvptx64"))]
use crate::product::Form;
use crate::product::{Dense, Product, Tf32};
use crate::progress::{self, Progress, TileOrder, Turns};
use crate::ring::{HEADER_BYTES, Ring};
#[cfg(not(target_arch = "nvptx64"))]
use cuda_mma::fragment::Element;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::shared::Shared;
use cuda_std::{global, kernel, shared, thread, warp};
use halves::Halves;
use quarters::Quarters;
use split::Split;
#[cfg(not(target_arch = "nvptx64"))]
use transform::factors::Factors;

/// Consumer warps in a block.
pub const WARPS: u32 = 8;

/// Columns of a tile.
pub const TILE_COLUMNS: u32 = WARPS * STRIP;

/// Threads of a block: the consumers, the producer warp and, for launches of many steps, the signaller.
#[must_use]
pub const fn threads(many: bool) -> u32 {
    (WARPS + if many { 2 } else { 1 }) * warp::SIZE
}

/// What differs between element types. A value is what a lane knows of its place in a warp.
pub(crate) trait Lane: Copy {
    /// Bytes of a grid point.
    const BYTES: u32;

    /// The lane's operand A and metadata for `STEPS` pairs of input rows.
    type Operands<const STEPS: usize>: Copy;

    /// What the lane loads of a pair of input rows.
    type Pair: Copy + Default;

    /// What it keeps from pair to pair, for `STEPS` of them.
    type Kept<const STEPS: usize>;

    /// Which of the lane's outputs of a row lie in the grid.
    type Inside: Copy;

    /// What a launch gives it.
    type Given: Copy;

    fn new(lane: u32, given: Self::Given) -> Self;

    /// Bytes from the start of a pair of rows in shared memory to the lane's fragment of the first strip.
    fn window(self) -> u32;

    /// First column of the lane's outputs in a strip.
    fn column(self) -> u32;

    /// Row of a pair of outputs that the lane's first one lies in.
    #[inline(always)]
    fn row(self) -> u32 {
        0
    }

    /// Where that column is column `x` of a grid of `nx`.
    fn inside(self, x: i32, nx: i32) -> Self::Inside;

    /// Whether a pair is loaded no earlier than the one before it is done with, where an output needs so
    /// many.
    #[inline(always)]
    fn is_one_by_one(_steps: usize) -> bool {
        false
    }

    /// The operands.
    ///
    /// # Safety
    /// `fragments` is the kernel's.
    unsafe fn operands<const STEPS: usize>(
        fragments: *const u32,
        lane: u32,
    ) -> Self::Operands<STEPS>;

    /// What is kept before the first pair of a tile.
    fn nothing<const STEPS: usize>() -> Self::Kept<STEPS>;

    /// Loads a pair of rows from the lane's place in it.
    ///
    /// # Safety
    /// The rows lie in a filled stage.
    unsafe fn load(self, at: Shared) -> Self::Pair;

    /// Takes pair `p` of a tile, where `p % STEPS` is `NEWEST`, and returns the sums that it
    /// completes: those of pairs `p + 1 - STEPS` to `p`.
    ///
    /// # Safety
    /// All 32 lanes execute it.
    unsafe fn take<const STEPS: usize, const NEWEST: usize>(
        operands: &Self::Operands<STEPS>,
        kept: &mut Self::Kept<STEPS>,
        rows: Self::Pair,
    ) -> [f32; 4];

    /// What becomes of these sums before they are stored, where the lane stores from a point on.
    ///
    /// # Safety
    /// All 32 lanes execute it.
    #[inline(always)]
    unsafe fn finish<const STEPS: usize, const NEWEST: usize>(
        self,
        _kept: &Self::Kept<STEPS>,
        sum: [f32; 4],
        _stored: Point,
    ) -> [f32; 4] {
        sum
    }

    /// Stores the sums of the rows that are wanted. The halo beside the grid stays zero.
    ///
    /// # Safety
    /// All 32 lanes execute it; `at` is the lane's first output of the pair, a row is `pitch` bytes long,
    /// and no other lane stores its columns of a wanted row.
    unsafe fn store(
        self,
        sum: [f32; 4],
        inside: Self::Inside,
        at: *mut u8,
        pitch: usize,
        wanted: RowMask,
    );
}

/// The words of products, by product and word, where those of A and then, in sparse ones, that of metadata stand in
/// a row for each.
///
/// # Safety
/// In a kernel; `fragments` holds the words that are asked for, for 32 lanes, and nobody writes them.
#[inline(always)]
pub(crate) unsafe fn words<P: Product>(
    fragments: *const u32,
    lane: u32,
) -> impl Fn(usize, usize) -> u32 {
    let each = P::WORDS + if P::IS_SPARSE { 1 } else { 0 };
    move |product: usize, index: usize| {
        let at = (product * each + index) * warp::SIZE as usize + lane as usize;
        // SAFETY: as the caller promises.
        unsafe { global::load_constant(fragments.add(at)) }
    }
}

/// The metadata of a product, of its words.
#[inline(always)]
pub(crate) fn metadata<P: Product>(word: impl Fn(usize) -> u32) -> u32 {
    if P::IS_SPARSE { word(P::WORDS) } else { 0 }
}

/// Takes a pair into a register window, in which pair `p` has place `p % STEPS`, and adds up the
/// products of all steps. Of radius 2:
///
/// ```text
/// round, NEWEST     0        1        2        0 again
/// place 0           3 comes  3        3        6 comes
/// place 1           1        4 comes  4        4
/// place 2           2        2        5 comes  5
/// steps 0, 1, 2 of  1, 2, 3  2, 3, 4  3, 4, 5  4, 5, 6
/// ```
#[inline(always)]
fn through_window<const STEPS: usize, const NEWEST: usize, R: Copy>(
    window: &mut [R; STEPS],
    rows: R,
    multiply: impl Fn(usize, R, [f32; 4]) -> [f32; 4],
) -> [f32; 4] {
    window[NEWEST % STEPS] = rows;
    let mut sum = [0.0; 4];
    for step in 0..STEPS {
        sum = multiply(step, window[(NEWEST + 1 + step) % STEPS], sum);
    }
    sum
}

/// Which of two rows belong to the tile: that of a lane's first output, and the one below it; the second only with the first.
#[derive(Clone, Copy)]
pub(crate) struct RowMask {
    upper: bool,
    lower: bool,
}

/// Free bytes before a row in shared memory. A row starts one chunk before a tile's first column,
/// which of 16-bit types is 16 bytes before a 32-byte sector of global memory; the copy engine moves
/// whole sectors only if it does so here too (otherwise it reads 28 % more).
const fn lead(bytes: u32) -> u32 {
    CHUNK * bytes % 32
}

/// Bytes from row to row in shared memory: the columns of a tile and a chunk on either side.
const fn row_bytes(bytes: u32) -> u32 {
    (lead(bytes) + (TILE_COLUMNS + 2 * CHUNK) * bytes).next_multiple_of(32)
}

/// Input rows in a stage: two for each step of the product.
#[must_use]
pub const fn rows_per_stage(radius: u32) -> u32 {
    2 * (radius + 1)
}

/// Dynamic shared memory of a block, in bytes, for values of so many `bytes`.
#[must_use]
pub const fn shared_bytes(bytes: u32, radius: u32, stages: u32) -> u32 {
    2 * HEADER_BYTES + stages * rows_per_stage(radius) * row_bytes(bytes)
}

/// The tiles of a launch.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiles {
    /// The grid.
    pub grid: Grid2d,
    /// Rows of a tile; even.
    pub tile_rows: u32,
    /// Stages of the ring, at most [`crate::ring::MAX_STAGES`].
    pub stages: u32,
}

impl Tiles {
    /// Rows and columns of tiles.
    #[inline(always)]
    const fn count(&self) -> [u32; 2] {
        [self.grid.ny.div_ceil(self.tile_rows), self.grid.nx.div_ceil(TILE_COLUMNS)]
    }
}

/// The steps of a launch that takes many.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// What the counters hold before it.
    pub start: u32,
    /// How many.
    pub steps: u32,
    /// As [`TileOrder`] has it.
    pub depth: u32,
    /// As [`TileOrder`] has it.
    pub lag: u32,
}

/// What a launch is given; both grids are laid out as in [`crate::layout`].
#[derive(Clone, Copy)]
struct Sweep {
    /// Grid point (0, 0) of the first step's input.
    input: *mut u8,
    /// Grid point (0, 0) of the first step's output.
    output: *mut u8,
    nx: i32,
    ny: i32,
    pitch: i32,
    /// Rows of a tile; even.
    tile_rows: i32,
    order: TileOrder,
    /// Whether the order's first row of tiles is the grid's last.
    upwards: bool,
    progress: Progress,
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
    const fn new(
        [input, output]: [*mut u8; 2],
        tiles: &Tiles,
        order: TileOrder,
        upwards: bool,
        progress: Progress,
    ) -> Self {
        let Grid2d { nx, ny, pitch } = tiles.grid;
        let (nx, ny, pitch) = (nx as i32, ny as i32, pitch as i32);
        let tile_rows = tiles.tile_rows as i32;
        Self { input, output, nx, ny, pitch, tile_rows, order, upwards, progress }
    }

    /// Input and output of a step.
    #[inline(always)]
    fn grids(&self, step: u32) -> (*const u8, *mut u8) {
        if step.is_multiple_of(2) { (self.input, self.output) } else { (self.output, self.input) }
    }

    #[inline(always)]
    fn tile<const MANY: bool>(&self, turns: &Turns<MANY>) -> Tile {
        let x = (turns.column() * TILE_COLUMNS) as i32;
        let row = if self.upwards { self.order.rows - 1 - turns.row() } else { turns.row() };
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

    /// Bytes from grid point (0, 0) to point (y, x).
    #[inline(always)]
    fn offset(&self, bytes: u32, y: i32, x: i32) -> isize {
        (y as isize * self.pitch as isize + x as isize) * bytes as isize
    }
}

impl Tile {
    /// Stages of `steps` row pairs that hold all input rows of the tile.
    #[inline(always)]
    fn stages(&self, steps: u32) -> u32 {
        ((self.rows as u32).div_ceil(2) + steps - 1).div_ceil(steps)
    }
}

/// The kernel for one element type and radius, of one time step or `MANY`: `STEPS` = `RADIUS` + 1.
#[inline(always)]
unsafe fn sweep<L: Lane, const RADIUS: i32, const STEPS: usize, const MANY: bool>(
    sweep: &Sweep,
    fragments: *const u32,
    stages: u32,
    given: L::Given,
) {
    const { assert!(STEPS == RADIUS as usize + 1, "two rows need RADIUS + 1 row pairs") };
    const { assert!(7 + RADIUS + SHIFT as i32 <= 15, "the window is two chunks wide") };
    const { assert!(RADIUS <= SHIFT as i32, "the window starts SHIFT columns left") };
    let stage_bytes = rows_per_stage(RADIUS as u32) * row_bytes(L::BYTES);
    // SAFETY: the launch gives `shared_bytes(…, RADIUS, stages)` of dynamic shared memory.
    let start = unsafe { shared::dynamic() };
    let finished = start.offset(HEADER_BYTES);
    let ring = Ring::new(start, start.offset(2 * HEADER_BYTES), stage_bytes, stages);
    let finished = Ring::new(finished, finished, 0, progress::UNCOUNTED);
    // SAFETY: all threads of the block come here, and thread 0 alone sets up the barriers.
    let warp = unsafe {
        if thread::thread_idx_x() == 0 {
            ring.init(fill::arrivals(), WARPS * warp::SIZE);
            if MANY {
                finished.init(WARPS, 1);
            }
        }
        if !planted(Fault::NoBlockSync) {
            thread::sync_threads();
        }
        thread::thread_idx_x() / warp::SIZE
    };
    // SAFETY: the launch's pointers are valid for the layout; each role is taken by whole warps.
    unsafe {
        if warp == WARPS {
            produce::produce::<L, RADIUS, STEPS, MANY>(sweep, ring);
        } else if !MANY || warp < WARPS {
            let operands = L::operands(fragments, warp::lane_id());
            consume::consume::<L, STEPS, MANY>(sweep, ring, finished, operands, warp, given);
        } else if warp::lane_id() == 0 {
            sweep.progress.count(finished, Turns::new(sweep.order));
        }
    }
}

// The registers of the kernels of one step and of many: a multiprocessor has four partitions of 16384. Two
// blocks of 9 or 10 warps put 5 on one of them, and 96 registers fit; one block puts 3 there, and 168 fit.
macro_rules! kernels {
    ($find:ident: $($name:ident, $many:ident: $factors:expr, $lane:ty, $radius:literal, $one:literal, $more:literal;)*) => {
    $(
        #[doc = concat!("A step of radius ", stringify!($radius), ":")]
        /// `output` = stencil of `input` on a grid with zeros around it.
        ///
        /// # Safety
        /// Launch with [`threads`] (`false`) threads and [`shared_bytes`] of dynamic shared memory. `input` and `output`
        /// point at grid point (0, 0) of two different arrays of the element type, laid out as in [`crate::layout`].
        /// `fragments` holds, for each product of a sum, the words of A and, of a
        /// sparse one, 1 of metadata for 32 lanes. Unless `upwards` is 0, tiles are taken from the last
        /// row to the first.
        #[kernel(registers = $one)]
        pub unsafe fn $name(
            input: *mut u8,
            output: *mut u8,
            fragments: *const u32,
            tiles: Tiles,
            upwards: u32,
        ) {
            let [rows, columns] = tiles.count();
            let order = TileOrder { rows, columns, steps: 1, depth: 1, lag: 0 };
            let progress = Progress { counters: core::ptr::null_mut(), start: 0 };
            let given = Sweep::new([input, output], &tiles, order, upwards != 0, progress);
            // SAFETY: the launch is as this function's contract says.
            unsafe {
                sweep::<$lane, $radius, { $radius + 1 }, false>(
                    &given, fragments, tiles.stages, (),
                );
            }
        }

        #[doc = concat!("Many such steps, as by [`", stringify!($name), "()`], back and forth.")]
        ///
        /// # Safety
        /// Launch with [`threads`] (`true`) threads and [`shared_bytes`] of dynamic shared memory. The two arrays are
        /// different, of the element type, laid out as in [`crate::layout`], and given by their grid points (0, 0).
        /// `fragments` holds, for each product of a sum, the words of A and, of a sparse one, 1 of metadata for 32
        /// lanes. All blocks fit the GPU at once. `progress` has a counter for each row of tiles, which holds the start
        /// of the [`Steps`], and in the end (steps - 1) × tiles in a row more, less than 2³¹.
        #[kernel(registers = $more)]
        pub unsafe fn $many(
            input: *mut u8,
            output: *mut u8,
            fragments: *const u32,
            progress: *mut u32,
            many: Steps,
            tiles: Tiles,
        ) {
            let Steps { start, steps, depth, lag } = many;
            let [rows, columns] = tiles.count();
            let order = TileOrder { rows, columns, steps, depth, lag };
            let progress = Progress { counters: progress, start };
            let given = Sweep::new([input, output], &tiles, order, false, progress);
            // SAFETY: the launch is as this function's contract says.
            unsafe {
                sweep::<$lane, $radius, { $radius + 1 }, true>(&given, fragments, tiles.stages, ());
            }
        }
    )*

    #[cfg(not(target_arch = "nvptx64"))]
    fn $find(factors: Factors, radius: u32) -> Option<Sweep2dKernels> {
        let found = |of| factors == of;
        match radius {
            $($radius if found($factors) => Some(Sweep2dKernels {
                one: Entry::of::<$name>(),
                many: Entry::of::<$many>(),
            }),)*
            _ => None,
        }
    }
    };
}

/// The kernels of one step and of many for products of a form, a type of values and a radius, if there are any.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn kernels(form: Form, factors: Factors, radius: u32) -> Option<Sweep2dKernels> {
    match form {
        Form::Sparse => sparse(factors, radius),
        Form::Dense => dense(factors, radius),
    }
}

/// The parameters of a kernel of one step, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type OneStepParameters = (*mut u8, *mut u8, *const u32, Tiles, u32);

/// The parameters of a kernel of many steps, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type ManyStepParameters = (*mut u8, *mut u8, *const u32, *mut u32, Steps, Tiles);

/// The kernels for an element type and a radius.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug)]
pub struct Sweep2dKernels {
    /// For one step.
    pub one: Entry<OneStepParameters>,
    /// For many.
    pub many: Entry<ManyStepParameters>,
}

// Kernel of one step, of many: what is multiplied, how lanes read and write, radius, registers of either.
kernels! {
    sparse:
    sweep2d_f16_r1, sweep2d_f16_r1_many: Factors::One(Element::F16), Halves<F16>, 1, 96, 96;
    sweep2d_f16_r2, sweep2d_f16_r2_many: Factors::One(Element::F16), Halves<F16>, 2, 96, 96;
    sweep2d_f16_r3, sweep2d_f16_r3_many: Factors::One(Element::F16), Halves<F16>, 3, 96, 96;
    sweep2d_bf16_r1, sweep2d_bf16_r1_many: Factors::One(Element::Bf16), Halves<Bf16>, 1, 96, 96;
    sweep2d_bf16_r2, sweep2d_bf16_r2_many: Factors::One(Element::Bf16), Halves<Bf16>, 2, 96, 96;
    sweep2d_bf16_r3, sweep2d_bf16_r3_many: Factors::One(Element::Bf16), Halves<Bf16>, 3, 96, 96;
    sweep2d_tf32_r1, sweep2d_tf32_r1_many: Factors::One(Element::Tf32), Quarters, 1, 96, 96;
    sweep2d_tf32_r2, sweep2d_tf32_r2_many: Factors::One(Element::Tf32), Quarters, 2, 96, 96;
    sweep2d_tf32_r3, sweep2d_tf32_r3_many: Factors::One(Element::Tf32), Quarters, 3, 96, 96;
    sweep2d_f32_r1, sweep2d_f32_r1_many: Factors::Split, Split, 1, 96, 96;
    sweep2d_f32_r2, sweep2d_f32_r2_many: Factors::Split, Split, 2, 96, 168;
    sweep2d_f32_r3, sweep2d_f32_r3_many: Factors::Split, Split, 3, 168, 168;
}

kernels! {
    dense:
    dense_sweep2d_f16_r1, dense_sweep2d_f16_r1_many: Factors::One(Element::F16), Halves<Dense<F16>>, 1, 96, 96;
    dense_sweep2d_f16_r2, dense_sweep2d_f16_r2_many: Factors::One(Element::F16), Halves<Dense<F16>>, 2, 96, 96;
    dense_sweep2d_f16_r3, dense_sweep2d_f16_r3_many: Factors::One(Element::F16), Halves<Dense<F16>>, 3, 96, 96;
    dense_sweep2d_bf16_r1, dense_sweep2d_bf16_r1_many: Factors::One(Element::Bf16), Halves<Dense<Bf16>>, 1, 96, 96;
    dense_sweep2d_bf16_r2, dense_sweep2d_bf16_r2_many: Factors::One(Element::Bf16), Halves<Dense<Bf16>>, 2, 96, 96;
    dense_sweep2d_bf16_r3, dense_sweep2d_bf16_r3_many: Factors::One(Element::Bf16), Halves<Dense<Bf16>>, 3, 96, 96;
    dense_sweep2d_tf32_r1, dense_sweep2d_tf32_r1_many: Factors::One(Element::Tf32), Quarters<Dense<Tf32>>, 1, 96, 96;
    dense_sweep2d_tf32_r2, dense_sweep2d_tf32_r2_many: Factors::One(Element::Tf32), Quarters<Dense<Tf32>>, 2, 96, 96;
    dense_sweep2d_tf32_r3, dense_sweep2d_tf32_r3_many: Factors::One(Element::Tf32), Quarters<Dense<Tf32>>, 3, 168, 168;
}
