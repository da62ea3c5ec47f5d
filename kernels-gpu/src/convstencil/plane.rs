// SPDX-License-Identifier: MIT OR Apache-2.0
//! ConvStencil in 2D: a tile is 32 rows of 8 groups; a warp has 4 of its rows, whose products go on in turns.

use super::{BlockTile, GROUPS, Lane, Points, WARPS, half, steps, tessellate};
use super::{store_outputs, wait_for_points};
use crate::overlap;
use crate::unroll::unroll;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::{kernel, shared, thread, warp};

/// Rows of a warp.
const ROWS: u32 = 4;

/// What a block computes: 32 rows × 64 columns of radius 3, as published.
#[must_use]
pub const fn tile(radius: u32) -> BlockTile {
    BlockTile { radius, kernel_rows: 2 * radius + 1, groups: GROUPS, rows: ROWS * WARPS }
}

/// The kernel of a radius.
#[inline(always)]
unsafe fn plane<const RADIUS: u32, const STEPS: usize, const ROUNDS: usize>(
    input: *const u8,
    output: *mut u8,
    table: *const u32,
    weights: *const u32,
    [nx, ny, pitch]: [u32; 3],
) {
    const {
        assert!(STEPS == steps(RADIUS, 2 * RADIUS + 1) && ROUNDS == tile(RADIUS).rounds());
        assert!(2 * tile(RADIUS).matrix() <= 1 << 16, "a place is half a word");
    }
    let tile = const { tile(RADIUS) };
    // SAFETY: in a kernel; the input is what the launch before writes, the output what it reads; the launch gives
    // shared memory for both matrices.
    let (block, thread, lane, data) = unsafe {
        overlap::wait_for_previous();
        overlap::start_next();
        (thread::block_idx_x(), thread::thread_idx_x(), warp::lane_id(), shared::dynamic())
    };
    let across = nx.div_ceil(tile.columns());
    let (y, x) = (block / across * tile.rows, block % across * tile.columns());
    let offset = |y: isize, x: isize| (y * pitch as isize + x) * 8;
    let first = offset(y as isize - RADIUS as isize, x as isize - RADIUS as isize);
    let first = input.wrapping_offset(first);
    // Rows below what the last output depends on are taken for the last one of these.
    let last = ny - 1 - y + 2 * RADIUS;
    let [_, columns] = tile.input();
    let source = |point: u32| {
        let (row, column) = (point / columns, point % columns);
        let row = if row < last { row } else { last };
        first.wrapping_offset(offset(row as isize, column as isize)).cast()
    };
    // SAFETY: points up to the radius outside of the grid lie in the halo, and columns behind those in that of the
    // next row; the table has a place for each point.
    unsafe {
        Points::<ROUNDS>::load(table, thread, source).store(data);
        wait_for_points();
    }
    let row = thread / warp::SIZE * ROWS;
    let place = data.offset(row * half(RADIUS) * 8);
    let used = half(RADIUS) * (2 * RADIUS + 1);
    let products = Lane::new(weights, place, tile.pitch(), used, lane);
    // SAFETY: all warps come here, and the launch gives the weights of this radius.
    let sums: [[f64; 2]; ROWS as usize] = unsafe {
        tessellate::<STEPS, { ROWS as usize }>(products, half(RADIUS) * 8, tile.matrix() * 8)
    };
    unroll!(i < ROWS as usize => {
        let y = y + row + i as u32;
        if y < ny {
            // SAFETY: no other warp has these outputs.
            unsafe {
                let output = output.wrapping_offset(offset(y as isize, 0));
                store_outputs::<RADIUS>(output, x, nx, lane, sums[i]);
            }
        }
    });
}

macro_rules! kernels {
    ($($name:ident: $radius:literal;)*) => {
        $(
            /// One step of a stencil of this radius on a grid of `nx` × `ny` points.
            ///
            /// # Safety
            /// Launch a block of [`super::THREADS`] for each [`BlockTile::rows`] and [`BlockTile::columns`] of [`tile`], row by
            /// row, with [`BlockTile::bytes`] of dynamic shared memory. `input` and `output` point at grid point (0, 0) of
            /// two different planes laid out as in [`crate::layout`], of rows of `pitch` numbers. `table` has a word
            /// for each of [`BlockTile::rounds`] × [`super::THREADS`] points, `weights` those of A and B for 32 lanes in
            /// each step, as `stencil::families::convstencil` makes them.
            #[kernel]
            pub unsafe fn $name(
                input: *const u8,
                output: *mut u8,
                table: *const u32,
                weights: *const u32,
                nx: u32,
                ny: u32,
                pitch: u32,
            ) {
                // SAFETY: the launch is as this function's contract says.
                unsafe {
                    plane::<$radius, { steps($radius, 2 * $radius + 1) }, { tile($radius).rounds() }>(
                        input, output, table, weights, [nx, ny, pitch],
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
    convstencil2d_r1: 1;
    convstencil2d_r2: 2;
    convstencil2d_r3: 3;
}

/// A kernel's parameters, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters = (*const u8, *mut u8, *const u32, *const u32, u32, u32, u32);
