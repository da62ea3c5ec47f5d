// SPDX-License-Identifier: MIT OR Apache-2.0
//! A step with a user's function between sum and store, in the 16-bit types: [`step`] is the whole of a kernel.
//!
//! As [`super::halves`]. Besides its fragment of a pair of input rows a lane loads the two words whose columns it
//! stores, and keeps them until they are the centres of outputs. A word is what the lane stores after a transposition
//! of the sums; transposed alike, it has the centres of the lane's sums.

use super::halves::Halves;
use super::{Lane, RowMask, Sweep, Tiles, lead, row_bytes, sweep};
#[cfg(doc)]
use super::{shared_bytes, threads};
use crate::half::Half;
use crate::layout::{CHUNK, Grid2d};
use crate::pointwise::{Point, Pointwise};
use crate::product::HalfProduct;
use crate::progress::{Progress, TileOrder};
use cuda_std::shared::Shared;
use cuda_std::{matrix, shared};

/// A launch of one step by a kernel of one's own. Both grids are laid out as in [`crate::layout`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[derive(cuda_std::Parameter)]
pub struct AppliedStep {
    /// Grid point (0, 0) of the input.
    pub input: *mut u8,
    /// Grid point (0, 0) of the output, which is another array.
    pub output: *mut u8,
    /// For each product of a sum the words of A and, of a sparse one, 1 of metadata for 32 lanes:
    /// `transform::window`'s operand.
    pub fragments: *const u32,
    /// Columns.
    pub nx: u32,
    /// Rows.
    pub ny: u32,
    /// Elements from row to row.
    pub pitch: u32,
    /// Rows of a tile; even.
    pub tile_rows: u32,
    /// Stages of the ring, at most [`crate::ring::MAX_STAGES`].
    pub stages: u32,
    /// Unless it is 0, tiles are taken from the last row to the first.
    pub upwards: u32,
}

/// The whole of a kernel that takes one step of a stencil of `RADIUS` 1 to 3 with a function of a user's own:
/// `output` = `function` of the weighted sums of `input` on a grid with zeros around it, which stay zeros. `P` is
/// the type of the products: `F16`, `Bf16`, or `Dense` of one of them.
///
/// The kernel that calls it should be `#[kernel(registers = 96)]`, so that two blocks fit a multiprocessor.
///
/// # Safety
/// Launch with [`threads`] (`false`) threads and [`shared_bytes`] `(2, RADIUS, stages)` of dynamic shared memory.
/// Input and output are two different arrays of the element type, laid out as in [`crate::layout`], which nobody
/// else writes, and `fragments` an operand of this type and radius. What `function` does holds for every point.
#[inline(always)]
pub unsafe fn step<P: HalfProduct, const RADIUS: u32, F: Pointwise>(
    step: &AppliedStep,
    function: F,
) {
    const { assert!(RADIUS >= 1 && RADIUS <= 3, "these kernels are of radius 1 to 3") };
    let &AppliedStep { input, output, fragments, nx, ny, pitch, tile_rows, stages, upwards } = step;
    let tiles = Tiles { grid: Grid2d { nx, ny, pitch }, tile_rows, stages };
    let [rows, columns] = tiles.count();
    let order = TileOrder { rows, columns, steps: 1, depth: 1, lag: 0 };
    let progress = Progress { counters: core::ptr::null_mut(), start: 0 };
    let launch = Sweep::new([input, output], &tiles, order, upwards != 0, progress);
    // SAFETY: the launch is as this function's contract says.
    unsafe {
        match RADIUS {
            1 => sweep::<Applied<P, F>, 1, 2, false>(&launch, fragments, stages, function),
            2 => sweep::<Applied<P, F>, 2, 3, false>(&launch, fragments, stages, function),
            _ => sweep::<Applied<P, F>, 3, 4, false>(&launch, fragments, stages, function),
        }
    }
}

/// [`Halves`] with a function.
#[derive(Clone, Copy)]
struct Applied<P, F> {
    halves: Halves<P>,
    function: F,
}

/// The lane's columns of a pair of rows.
type Columns = [u32; 2];

/// Where the centres of outputs are in the window, which has the pair that completes them at place `newest` of
/// `steps`: for the upper and the lower row of outputs, how many pairs behind the oldest, and the row of it.
const fn centre(steps: usize, row: usize) -> (usize, usize) {
    // The window begins as many rows above the outputs as the radius.
    let row = steps - 1 + row;
    (row / 2, row % 2)
}

impl<P: HalfProduct, F: Pointwise> Lane for Applied<P, F> {
    const BYTES: u32 = Halves::<P>::BYTES;

    type Given = F;

    type Operands<const STEPS: usize> = <Halves<P> as Lane>::Operands<STEPS>;

    type Pair = (<Halves<P> as Lane>::Pair, Columns);

    type Kept<const STEPS: usize> = (<Halves<P> as Lane>::Kept<STEPS>, [Columns; STEPS]);

    type Inside = <Halves<P> as Lane>::Inside;

    #[inline(always)]
    fn new(lane: u32, function: F) -> Self {
        Self { halves: Halves::new(lane, ()), function }
    }

    #[inline(always)]
    fn window(self) -> u32 {
        self.halves.window()
    }

    #[inline(always)]
    fn column(self) -> u32 {
        self.halves.column()
    }

    #[inline(always)]
    fn inside(self, x: i32, nx: i32) -> Self::Inside {
        self.halves.inside(x, nx)
    }

    #[inline(always)]
    unsafe fn operands<const STEPS: usize>(
        fragments: *const u32,
        lane: u32,
    ) -> Self::Operands<STEPS> {
        // SAFETY: as the caller promises.
        unsafe { Halves::<P>::operands(fragments, lane) }
    }

    #[inline(always)]
    fn nothing<const STEPS: usize>() -> Self::Kept<STEPS> {
        (Halves::<P>::nothing(), [[0; 2]; STEPS])
    }

    #[inline(always)]
    unsafe fn load(self, at: Shared) -> Self::Pair {
        // SAFETY: as the caller promises.
        let fragment = unsafe { self.halves.load(at) };
        if !F::READS_CENTRE {
            return (fragment, [0; 2]);
        }
        let column = lead(Self::BYTES) + (CHUNK + self.column()) * Self::BYTES;
        let upper = Shared(at.0.wrapping_sub(self.window()).wrapping_add(column));
        // SAFETY: the columns of the outputs lie in both rows of the stage, and words start at even ones.
        let columns =
            unsafe { [shared::load(upper), shared::load(upper.offset(row_bytes(Self::BYTES)))] };
        (fragment, columns)
    }

    #[inline(always)]
    unsafe fn take<const STEPS: usize, const NEWEST: usize>(
        operands: &Self::Operands<STEPS>,
        (window, columns): &mut Self::Kept<STEPS>,
        rows: Self::Pair,
    ) -> [f32; 4] {
        columns[NEWEST % STEPS] = rows.1;
        // SAFETY: as the caller promises.
        unsafe { Halves::<P>::take::<STEPS, NEWEST>(operands, window, rows.0) }
    }

    #[inline(always)]
    unsafe fn finish<const STEPS: usize, const NEWEST: usize>(
        self,
        (_, columns): &Self::Kept<STEPS>,
        sum: [f32; 4],
        stored: Point,
    ) -> [f32; 4] {
        let centres = |row| {
            if !F::READS_CENTRE {
                return [0.0; 2];
            }
            let (behind, row) = centre(STEPS, row);
            let word = columns[(NEWEST + 1 + behind) % STEPS][row];
            // SAFETY: as the caller promises.
            unsafe { P::Element::unpack(matrix::transpose(word)) }
        };
        let ([a, b], [c, d]) = (centres(0), centres(1));
        // The lane's sums are of column g of chunks 2t and 2t + 1.
        let (group, pair) = (self.halves.group as i32, self.halves.pair as i32);
        let strip = stored.x - self.column() as i32;
        let point = |row, chunk| Point {
            y: stored.y + row,
            x: strip + (2 * pair + chunk) * CHUNK as i32 + group,
        };
        let function = self.function;
        [
            function.apply(sum[0], a, point(0, 0)),
            function.apply(sum[1], b, point(0, 1)),
            function.apply(sum[2], c, point(1, 0)),
            function.apply(sum[3], d, point(1, 1)),
        ]
    }

    #[inline(always)]
    unsafe fn store(
        self,
        sum: [f32; 4],
        inside: Self::Inside,
        at: *mut u8,
        pitch: usize,
        wanted: RowMask,
    ) {
        // SAFETY: as the caller promises.
        unsafe { self.halves.store(sum, inside, at, pitch, wanted) }
    }
}
