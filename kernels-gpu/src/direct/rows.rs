// SPDX-License-Identifier: MIT OR Apache-2.0
//! Any stencil of radius up to 8, by rows of neighbours: *wide* rows, of a class of radius along x,
//! and *narrow* ones, of a single neighbour straight above, below, before or behind.

use super::{Row, WARPS, WORDS, elements, store};
use crate::element::{Bf16, Element, F16, F32, F64, Real, load_words};
use crate::overlap;
use crate::unroll::unroll;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::{global, kernel, thread, warp};

/// The classes of radius along x.
pub const CLASSES: [usize; 4] = [1, 2, 4, 8];

/// What a launch computes.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq)]
pub struct RowsLaunch {
    /// Columns of the grid.
    pub nx: i32,
    /// Rows of a plane.
    pub ny: i32,
    /// Planes.
    pub nz: i32,
    /// Warps of a block side by side: all of them in 1D, 1 otherwise, one below the other.
    pub across: i32,
    /// Elements from one row to the next.
    pub pitch: i64,
    /// Elements from one plane to the next.
    pub plane: i64,
    /// Wide rows of neighbours.
    pub wide: u32,
    /// Narrow rows of neighbours.
    pub narrow: u32,
}

impl RowsLaunch {
    /// Blocks of a launch, for warps of so many columns.
    #[must_use]
    pub const fn blocks(&self, columns: u32) -> u64 {
        let (across, down) = self.tiles(columns);
        across as u64 * down as u64 * self.nz as u64
    }

    /// Blocks side by side, and one below the other in a plane.
    #[inline(always)]
    const fn tiles(&self, columns: u32) -> (u32, u32) {
        let across = self.across as u32;
        ((self.nx as u32).div_ceil(across * columns), (self.ny as u32).div_ceil(WARPS / across))
    }
}

/// Words of a row of neighbours in the table: its offset in elements, the low word first, and the
/// weights, 2 · class + 1 of a wide row.
#[must_use]
pub const fn row_words(weights: usize, real_bytes: u32) -> usize {
    2 + weights * real_bytes as usize / 4
}

/// The kernel for rows of radius `CLASS`. `SIDE` words beside its own and `VECTOR`
/// elements of its own are what a thread has of a row.
#[inline(always)]
#[track_caller]
unsafe fn rows<E: Element, const CLASS: usize, const SIDE: usize, const VECTOR: usize>(
    input: *const E::Stored,
    output: *mut E::Stored,
    launch: &RowsLaunch,
    table: *const u32,
) {
    const { assert!(VECTOR == elements(WORDS, E::BYTES), "a thread has 16 bytes") };
    const { assert!(SIDE * 4 >= CLASS * E::BYTES as usize, "the sides hold the radius") };
    let real_words = E::Real::BYTES as usize / 4;
    // SAFETY: the launch is as the kernel's contract says; rows and columns up to the radius outside
    // lie in the halo.
    unsafe {
        let (block, warp) = (thread::block_idx_x(), thread::thread_idx_x() / warp::SIZE);
        let columns = warp::SIZE * VECTOR as u32;
        let (blocks_across, blocks_down) = launch.tiles(columns);
        let block_column = block % blocks_across;
        let block_row = block / blocks_across % blocks_down;
        let across = launch.across as u32;
        let warp_column = block_column * across + warp % across;
        let y = (block_row * (WARPS / across) + warp / across) as i32;
        let z = block / blocks_across / blocks_down;
        let x = (warp_column * columns) as i32 + warp::lane_id() as i32 * VECTOR as i32;
        if x >= launch.nx || y >= launch.ny {
            return;
        }
        let offset = i64::from(z) * launch.plane + i64::from(y) * launch.pitch + i64::from(x);
        let from = input.wrapping_offset(offset as isize);
        overlap::wait_for_previous();
        overlap::start_next();

        let mut sums = [E::Real::ZERO; VECTOR];
        let mut entry = table;
        let mut left = launch.wide;
        while left > 0 {
            let row = Row::<SIDE>::load(from.wrapping_offset(row_offset(entry)).cast());
            let weights = entry.wrapping_add(2);
            let first = elements(SIDE, E::BYTES) - CLASS;
            unroll!(dx < 2 * CLASS + 1 => {
                let weight = E::Real::load_constant(weights.wrapping_add(dx * real_words));
                super::add::<E, SIDE, VECTOR>(&mut sums, &row, first + dx, weight)
            });
            entry = entry.wrapping_add(row_words(2 * CLASS + 1, E::Real::BYTES));
            left -= 1;
        }
        left = launch.narrow;
        while left > 0 {
            let at = from.wrapping_offset(row_offset(entry));
            let words = load_words::<WORDS>(at.cast());
            let weight = E::Real::load_constant(entry.wrapping_add(2));
            for column in 0..VECTOR {
                sums[column] = E::element(&words, column).multiply_add(weight, sums[column]);
            }
            entry = entry.wrapping_add(row_words(1, E::Real::BYTES));
            left -= 1;
        }
        let to = output.wrapping_offset(offset as isize);
        store::<E, VECTOR>(to, &sums, launch.nx - x);
    }
}

#[inline(always)]
#[track_caller]
unsafe fn row_offset(entry: *const u32) -> isize {
    // SAFETY: as the caller promises, a row of the table, which nobody writes.
    let (low, high) =
        unsafe { (global::load_constant(entry), global::load_constant(entry.wrapping_add(1))) };
    (u64::from(high) << 32 | u64::from(low)) as i64 as isize
}

macro_rules! kernels {
    ($($name:ident: $element:ty, $type:literal, $class:literal, $side:literal, $vector:literal;)*) => {$(
        /// One step of a stencil with rows of radius up to
        #[doc = stringify!($class)]
        /// on a grid of
        #[doc = stringify!($element)]
        /// .
        ///
        /// # Safety
        /// Launch with [`super::THREADS`] threads and as many blocks as [`RowsLaunch::blocks`] says.
        /// `input` and `output` point at grid point (0, 0, 0) of two different arrays laid out as in
        /// [`crate::layout`], of which `launch` has the strides. `table` has [`row_words`] words for
        /// each row, the wide ones first, whose offsets stay in the halo.
        #[kernel]
        pub unsafe fn $name(
            input: *const u8,
            output: *mut u8,
            launch: RowsLaunch,
            table: *const u32,
        ) {
            // SAFETY: the launch is as this function's contract says.
            unsafe {
                rows::<$element, $class, $side, $vector>(
                    input.cast(), output.cast(), &launch, table,
                );
            }
        }
    )*

    /// Every kernel of this module.
    #[cfg(not(target_arch = "nvptx64"))]
    pub const KERNELS: &[Kernel] = &[$(
        Kernel { element: $type, class: $class, entry: Entry::of::<$name>() },
    )*];
    };
}

// Kernel: element, its name, radius, words beside a thread's own, elements of its own.
kernels! {
    rows_f16_r1: F16, "f16", 1, 1, 8;
    rows_f16_r2: F16, "f16", 2, 1, 8;
    rows_f16_r4: F16, "f16", 4, 2, 8;
    rows_f16_r8: F16, "f16", 8, 4, 8;
    rows_bf16_r1: Bf16, "bf16", 1, 1, 8;
    rows_bf16_r2: Bf16, "bf16", 2, 1, 8;
    rows_bf16_r4: Bf16, "bf16", 4, 2, 8;
    rows_bf16_r8: Bf16, "bf16", 8, 4, 8;
    rows_f32_r1: F32, "f32", 1, 1, 4;
    rows_f32_r2: F32, "f32", 2, 2, 4;
    rows_f32_r4: F32, "f32", 4, 4, 4;
    rows_f32_r8: F32, "f32", 8, 8, 4;
    rows_f64_r1: F64, "f64", 1, 2, 2;
    rows_f64_r2: F64, "f64", 2, 4, 2;
    rows_f64_r4: F64, "f64", 4, 8, 2;
    rows_f64_r8: F64, "f64", 8, 16, 2;
}

/// A kernel's parameters, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters = (*const u8, *mut u8, RowsLaunch, *const u32);

/// A kernel, for those that launch it.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Stored type.
    pub element: &'static str,
    /// The largest radius along x.
    pub class: usize,
    /// What is launched.
    pub entry: Entry<Parameters>,
}

/// The kernel for a stored type and rows of a radius, if there is one.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn kernel(element: &str, radius: usize) -> Option<&'static Kernel> {
    KERNELS.iter().find(|kernel| kernel.element == element && kernel.class >= radius)
}
