// SPDX-License-Identifier: MIT OR Apache-2.0
//! ConvStencil as published (Chen et al., PPoPP 2024), in f64 on dense tensor cores: one time step, or a few fused into
//! one kernel, of a stencil of radius up to 3, in 1D also 4. The layout's mathematics is in `transform::stencil2row`;
//! `docs/explanation/published-schemes.md` has the figures, and says where the paper and its own program differ.
//!
//! **stencil2row** (§3.2). A block writes the points that its tile of outputs depends on into two matrices in shared
//! memory. A grid row is cut into groups of [`outputs`] columns. The outputs of a group depend on a window of
//! columns, which is twice [`half`] wide. Row g of matrix A holds the first half of the window of group g, row g of
//! matrix B the second half, grid row after grid row.
//!
//! **Lookup table** (§3.4). Where a point goes is worked out by the host, a word for each: its place in A in the low
//! half, in B in the high one, both in numbers from the start of shared memory.
//!
//! **Dirty bits padding** (§3.4). A point that a matrix does not hold is stored all the same, to its padding, so that
//! no thread branches. Each thread has a place of its own there, which nobody reads. The padding also takes rows of a
//! matrix apart by 4 or 12 of the 16 banks of f64, so that the 4 rows × 4 columns that half a warp loads lie in all 16.
//!
//! **Dual tessellation** (§3.3). The 8 rows of a matrix and the columns that one row of outputs depends on, times a
//! weight matrix: the product of A ("vitrolite A") is begun, that of B added, and the sums are 8 groups of outputs.

pub mod line;
pub mod plane;
pub mod space;

use crate::element::{from_words, to_words};
use crate::fault::{Fault, planted};
use crate::unroll::unroll;
use cuda_std::shared::Shared;
use cuda_std::{global, mma, shared, thread, warp};

/// Threads of a block.
pub const THREADS: u32 = 256;

/// Warps of a block.
pub const WARPS: u32 = THREADS / warp::SIZE;

/// Groups of a product: its rows.
pub const GROUPS: u32 = 8;

/// Columns of a matrix in a step of a product.
const STEP: u32 = 4;

/// Bytes of a number.
const BYTES: u32 = 8;

/// Outputs of a group: one more than the kernel is wide, but no more than the 8 columns of a product.
#[must_use]
pub const fn outputs(radius: u32) -> u32 {
    if radius < 4 { 2 * radius + 2 } else { 8 }
}

/// Columns of a group's window that a matrix holds of a grid row.
#[must_use]
pub const fn half(radius: u32) -> u32 {
    (outputs(radius) + 2 * radius) / 2
}

/// Steps of a matrix's product, for a kernel of so many rows.
#[must_use]
pub const fn steps(radius: u32, kernel_rows: u32) -> usize {
    (half(radius) * kernel_rows).div_ceil(STEP) as usize
}

/// What a block computes, and what it keeps of the grid in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockTile {
    /// Of the stencil, along x and, if it has more than one row, along y.
    pub radius: u32,
    /// Rows of the stencil.
    pub kernel_rows: u32,
    /// Groups of outputs, side by side: rows of each matrix.
    pub groups: u32,
    /// Rows of outputs.
    pub rows: u32,
}

impl BlockTile {
    /// Columns of outputs.
    #[must_use]
    pub const fn columns(&self) -> u32 {
        self.groups * outputs(self.radius)
    }

    /// Grid rows and columns that they depend on.
    #[must_use]
    pub const fn input(&self) -> [u32; 2] {
        [self.rows + self.kernel_rows - 1, self.columns() + 2 * self.radius]
    }

    /// Columns of a matrix without the padding.
    #[must_use]
    pub const fn used(&self) -> u32 {
        half(self.radius) * self.input()[0]
    }

    /// Numbers from one row of a matrix to the next: with a padding that has room for a number of each thread, an odd
    /// multiple of 4.
    #[must_use]
    pub const fn pitch(&self) -> u32 {
        let least = self.used() + THREADS.div_ceil(2 * self.groups);
        let fours = least.div_ceil(STEP);
        STEP * (fours + 1 - fours % 2)
    }

    /// Numbers of a matrix.
    #[must_use]
    pub const fn matrix(&self) -> u32 {
        self.groups * self.pitch()
    }

    /// Bytes of both matrices.
    #[must_use]
    pub const fn bytes(&self) -> u32 {
        2 * self.matrix() * BYTES
    }

    /// Points that each thread loads, the last ones beyond those that there are.
    #[must_use]
    pub const fn rounds(&self) -> usize {
        let [rows, columns] = self.input();
        (rows * columns).div_ceil(THREADS) as usize
    }
}

/// A thread's points between global and shared memory.
#[derive(Clone, Copy)]
struct Points<const ROUNDS: usize> {
    /// Places in both matrices, as the lookup table has them.
    places: [u32; ROUNDS],
    values: [[u32; 2]; ROUNDS],
}

impl<const ROUNDS: usize> Points<ROUNDS> {
    /// Loads the points with the numbers `thread`, `thread` + [`THREADS`] and so on, each from `source`, and their
    /// places.
    ///
    /// # Safety
    /// The table has a word for each; the sources are valid, and whoever writes them has been waited for.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn load(table: *const u32, thread: u32, source: impl Fn(u32) -> *const u32) -> Self {
        let mut points = Self { places: [0; ROUNDS], values: [[0; 2]; ROUNDS] };
        unroll!(round < ROUNDS => {
            let point = round as u32 * THREADS + thread;
            // SAFETY: as the caller promises.
            unsafe {
                points.places[round] = global::load_constant(table.wrapping_add(point as usize));
                points.values[round] = global::load_v2(source(point));
            }
        });
        points
    }

    /// stencil2row: writes them to both matrices, which start at `data`.
    ///
    /// # Safety
    /// The table's places lie in the matrices, and nobody reads these now.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn store(&self, data: Shared) {
        unroll!(round < ROUNDS => {
            let (place, value) = (self.places[round], self.values[round]);
            // SAFETY: as the caller promises; no two threads have one place.
            unsafe {
                shared::store_v2(data.offset((place & 0xffff) * BYTES), value);
                shared::store_v2(data.offset((place >> 16) * BYTES), value);
            }
        });
    }
}

/// Waits until all threads of the block have written their points.
///
/// # Safety
/// All threads come here.
#[inline(always)]
unsafe fn wait_for_points() {
    if !planted(Fault::NoSyncOfPoints) {
        thread::sync_threads();
    }
}

/// A lane's part in the products of a warp.
#[derive(Clone, Copy)]
struct Lane {
    /// Its weights of the first step.
    weights: *const u32,
    /// What it loads of matrix A in the first step, and in the last one.
    first: Shared,
    last: Shared,
}

impl Lane {
    /// The part of a lane in a warp whose first product starts at a place of matrix A, in rows `pitch` numbers apart,
    /// and whose products take so many columns. Lanes whose column of the last step would be behind these load the last
    /// one, which has the weight 0 for them: what lies there may be the padding, or infinite.
    #[inline(always)]
    fn new(weights: *const u32, place: Shared, pitch: u32, columns: u32, lane: u32) -> Self {
        let (row, column) = (lane / STEP, lane % STEP);
        let start = place.offset(row * pitch * BYTES);
        let rest = (columns - 1) % STEP;
        let last_column = if column < rest { column } else { rest };
        Self {
            weights: weights.wrapping_add(2 * lane as usize),
            first: start.offset(column * BYTES),
            last: start.offset(last_column * BYTES),
        }
    }

    /// Its weight in a step.
    ///
    /// # Safety
    /// There is such a step.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn weight(&self, step: usize) -> f64 {
        let words = 2 * warp::SIZE as usize * step;
        // SAFETY: as the caller promises; weights are aligned to 8 bytes.
        from_words(unsafe { global::load_v2(self.weights.wrapping_add(words)) })
    }

    /// What it loads in step `step` of `STEPS`, so many bytes further on.
    ///
    /// # Safety
    /// The points are written.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn point<const STEPS: usize>(&self, step: usize, bytes: u32) -> f64 {
        let start = if step + 1 == STEPS { self.last } else { self.first };
        let at = start.offset(step as u32 * STEP * BYTES + bytes);
        // SAFETY: as the caller promises.
        from_words(unsafe { shared::load_v2(at) })
    }
}

/// Dual tessellation: the sums of `PRODUCTS` products of both matrices, of `STEPS` steps each, which start `apart`
/// bytes one behind the other.
///
/// # Safety
/// The whole warp calls it; the points are written, and the weights are of as many steps.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
unsafe fn tessellate<const STEPS: usize, const PRODUCTS: usize>(
    lane: Lane,
    apart: u32,
    matrix_bytes: u32,
) -> [[f64; 2]; PRODUCTS] {
    let mut sums = [[0.0; 2]; PRODUCTS];
    unroll!(matrix < 2 => {
        unroll!(step < STEPS => {
            // SAFETY: as the caller promises.
            unsafe {
                let weight = lane.weight(matrix * STEPS + step);
                let start = matrix as u32 * matrix_bytes;
                unroll!(product < PRODUCTS => sums[product] = mma::m8n8k4_f64(
                    lane.point::<STEPS>(step, start + product as u32 * apart),
                    weight,
                    sums[product],
                ));
            }
        })
    });
    sums
}

/// Stores the sums of a product, of columns `x` and behind of a grid row that starts at `row` and ends before `nx`.
///
/// # Safety
/// The row's columns are valid, and no other warp stores these.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
unsafe fn store_outputs<const RADIUS: u32>(
    row: *mut u8,
    x: u32,
    nx: u32,
    lane: u32,
    sums: [f64; 2],
) {
    let (group, within) = (lane / STEP, lane % STEP * 2);
    let x = x + group * outputs(RADIUS) + within;
    if within >= outputs(RADIUS) || x >= nx {
        return;
    }
    let at: *mut u32 = row.wrapping_add(x as usize * BYTES as usize).cast();
    let ([a, b], [c, d]) = (to_words(sums[0]), to_words(sums[1]));
    // SAFETY: as the caller promises; `x` is even, and rows are aligned to 128 bytes.
    unsafe {
        if x + 1 < nx {
            global::store_v4(at, [a, b, c, d]);
        } else {
            global::store_v2(at, [a, b]);
        }
    }
}
