// SPDX-License-Identifier: MIT OR Apache-2.0
//! One time step of a 1D stencil that reaches up to 7 columns to either side, in f16 or bf16 with f32
//! sums.
//!
//! A single product yields 128 outputs ([`crate::row_window`]), so memory is the only limit: a warp
//! loads [`UNITS`] units of 256 bytes at once, straight into registers, multiplies, and stores. Each
//! chunk is loaded by two lanes of the same warp; the L1 cache serves the second. Neighbouring warps
//! take neighbouring units, and all warps together stride over the grid.

use crate::half::{Bf16, F16, Half};
use crate::overlap;
use crate::product::Product;
use crate::row_window::{SHIFT, STORED, UNIT, kept, loaded_column, neighbours, operand};
#[cfg(not(target_arch = "nvptx64"))]
use cuda_mma::fragment::Element;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::{global, kernel, thread, warp};

/// Units that a warp has in flight.
pub const UNITS: u32 = 4;

/// The kernel for one element type.
#[inline(always)]
unsafe fn line<T: Half + Product>(input: *const u16, output: *mut u16, words: *const u32, nx: u32) {
    // SAFETY: in a kernel; the operand is as the launch promises.
    let (lane, warp, warps, ([a], metadata)) = unsafe {
        let lane = warp::lane_id();
        let warps = thread::block_dim_x() / warp::SIZE;
        let warp = thread::block_idx_x() * warps + thread::thread_idx_x() / warp::SIZE;
        (lane, warp, thread::grid_dim_x() * warps, operand::<T, 1>(words, lane))
    };
    let units = nx.div_ceil(UNIT);
    let from = input.wrapping_offset(loaded_column(lane) as isize - SHIFT as isize);
    let column = STORED * lane;
    let mut first = warp * UNITS;
    // SAFETY: the input is what the launch before writes, the output what it reads.
    unsafe {
        overlap::wait_for_previous();
        overlap::start_next();
    }
    while first < units {
        let mut windows = [[0u32; 4]; UNITS as usize];
        for (i, window) in windows.iter_mut().enumerate() {
            // Units past the last one read that one's columns, and store nothing.
            let unit = first + i as u32;
            let unit = if unit < units { unit } else { units - 1 };
            let at = from.wrapping_add(unit as usize * UNIT as usize);
            // SAFETY: a unit and a chunk on either side lie in the array; grid point 0, units and
            // chunks are aligned to 16 bytes.
            *window = unsafe { global::load_v4(at.cast()) };
        }
        for (i, window) in windows.into_iter().enumerate() {
            let x = (first + i as u32) * UNIT + column;
            // SAFETY: all lanes execute it; the host's encoder orders the metadata.
            let [low, high] =
                unsafe { neighbours::<T>(T::multiply(a, metadata, window, [0.0; 4])) };
            let [keep_low, keep_high] = kept(nx.wrapping_sub(x) as i32);
            if keep_low != 0 {
                // SAFETY: column `x` is one of the grid, and the three after it lie in the array; no
                // other lane stores them.
                unsafe {
                    let at = output.wrapping_add(x as usize);
                    global::store_v2(at.cast(), [low & keep_low, high & keep_high]);
                }
            }
        }
        first += warps * UNITS;
    }
}

macro_rules! kernels {
    ($($name:ident: $element:ty;)*) => {$(
        /// One step: `output` = stencil of `input` on a grid of `nx` columns.
        ///
        /// # Safety
        /// Launch with whole warps and no shared memory. `input` and `output` point at grid point 0 of
        /// two different arrays laid out as in [`crate::layout`]; `nx` < 2³¹. `words` holds 4 words of A
        /// and 1 of metadata for 32 lanes.
        // A multiprocessor then takes 48 warps, which have 48 KB under way.
        #[kernel(registers = 40)]
        pub unsafe fn $name(input: *const u16, output: *mut u16, words: *const u32, nx: u32) {
            // SAFETY: the launch is as this function's contract says.
            unsafe { line::<$element>(input, output, words, nx) };
        }
    )*};
}

kernels! {
    line1d_f16: F16;
    line1d_bf16: Bf16;
}

/// A kernel's parameters, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters = (*const u16, *mut u16, *const u32, u32);

/// The kernel for a type, if there is one.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn kernel(element: Element) -> Option<Entry<Parameters>> {
    match element {
        Element::F16 => Some(Entry::of::<line1d_f16>()),
        Element::Bf16 => Some(Entry::of::<line1d_bf16>()),
        Element::Tf32 => None,
    }
}
