// SPDX-License-Identifier: MIT OR Apache-2.0
//! ConvStencil in 1D (§4.1): a matrix has a row for each group and no more columns than half a window.

use super::{BlockTile, GROUPS, Lane, Points, WARPS, half, outputs, steps, tessellate};
use super::{store_outputs, wait_for_points};
use crate::overlap;
use crate::unroll::unroll;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::{kernel, shared, thread, warp};

/// Products of a warp.
const PRODUCTS: u32 = 2;

/// What a block computes: 1024 points of radius 3, as published.
#[must_use]
pub const fn tile(radius: u32) -> BlockTile {
    BlockTile { radius, kernel_rows: 1, groups: GROUPS * PRODUCTS * WARPS, rows: 1 }
}

/// The kernel of a radius.
#[inline(always)]
unsafe fn line<const RADIUS: u32, const STEPS: usize, const ROUNDS: usize>(
    input: *const u8,
    output: *mut u8,
    table: *const u32,
    weights: *const u32,
    nx: u32,
) {
    const { assert!(STEPS == steps(RADIUS, 1) && ROUNDS == tile(RADIUS).rounds()) };
    let tile = const { tile(RADIUS) };
    // SAFETY: in a kernel; the input is what the launch before writes, the output what it reads; the launch gives
    // shared memory for both matrices.
    let (block, thread, lane, data) = unsafe {
        overlap::wait_for_previous();
        overlap::start_next();
        (thread::block_idx_x(), thread::thread_idx_x(), warp::lane_id(), shared::dynamic())
    };
    let x = block * tile.columns();
    let last = (nx - 1 + RADIUS - x) as i32;
    // Points behind what the last output depends on are taken for the last one of these.
    let source = |point: u32| {
        let column = point as i32 - RADIUS as i32;
        let column = if column < last { column } else { last };
        input.wrapping_offset((x as isize + column as isize) * 8).cast()
    };
    // SAFETY: points up to the radius outside of the grid lie in the halo; the table has a place for each point.
    unsafe {
        Points::<ROUNDS>::load(table, thread, source).store(data);
        wait_for_points();
    }
    let group = thread / warp::SIZE * PRODUCTS * GROUPS;
    let place = data.offset(group * tile.pitch() * 8);
    let products = Lane::new(weights, place, tile.pitch(), half(RADIUS), lane);
    // SAFETY: all warps come here, and the launch gives the weights of this radius.
    let sums: [[f64; 2]; PRODUCTS as usize] = unsafe {
        tessellate::<STEPS, { PRODUCTS as usize }>(
            products,
            GROUPS * tile.pitch() * 8,
            tile.matrix() * 8,
        )
    };
    unroll!(i < PRODUCTS as usize => {
        let x = x + (group + i as u32 * GROUPS) * outputs(RADIUS);
        // SAFETY: no other warp has these outputs.
        unsafe { store_outputs::<RADIUS>(output, x, nx, lane, sums[i]) };
    });
}

macro_rules! kernels {
    ($($name:ident: $radius:literal;)*) => {
        $(
            /// One step of a stencil of this radius on a grid of `nx` columns.
            ///
            /// # Safety
            /// Launch a block of [`super::THREADS`] for each [`BlockTile::columns`] of [`tile`], with [`BlockTile::bytes`] of
            /// dynamic shared memory. `input` and `output` point at grid point 0 of two different arrays laid out as in
            /// [`crate::layout`]; `nx` < 2³¹. `table` has a word for each of [`BlockTile::rounds`] × [`super::THREADS`]
            /// points, `weights` those of A and B for 32 lanes in each step, as `stencil::families::convstencil` makes
            /// them.
            #[kernel]
            pub unsafe fn $name(
                input: *const u8,
                output: *mut u8,
                table: *const u32,
                weights: *const u32,
                nx: u32,
            ) {
                // SAFETY: the launch is as this function's contract says.
                unsafe {
                    line::<$radius, { steps($radius, 1) }, { tile($radius).rounds() }>(
                        input, output, table, weights, nx,
                    )
                };
            }
        )*

        /// The kernel for a radius, if there is one.
        #[cfg(not(target_arch = "nvptx64"))]
        #[must_use]
        pub fn kernel(radius: u32) -> Option<Entry<Parameters>> {
            match radius {
                $($radius => Some(Entry::of::<$name>()),)*
                _ => None,
            }
        }
    };
}

kernels! {
    convstencil1d_r1: 1;
    convstencil1d_r2: 2;
    convstencil1d_r3: 3;
    convstencil1d_r4: 4;
}

/// A kernel's parameters, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters = (*const u8, *mut u8, *const u32, *const u32, u32);
