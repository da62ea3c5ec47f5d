// SPDX-License-Identifier: MIT OR Apache-2.0
//! ConvStencil in 3D (§4.2): a plane of outputs is the sum of what 2D stencils make of 2r + 1 planes of inputs.
//!
//! A block marches along z over a tile of 8 rows, one for each warp, which keeps the sums of the 2r + 1 output planes
//! that the input plane at hand belongs to, and stores the one that it completes. There is shared memory for two input
//! planes: while one is multiplied, the next one is loaded.
//!
//! What an input plane takes depends on the stencil ([`Planes`]).

use super::{BlockTile, GROUPS, Lane, Points, STEP, WARPS, half, outputs, steps};
use super::{store_outputs, wait_for_points};
use crate::element::from_words;
use crate::overlap;
use crate::unroll::unroll;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::shared::Shared;
use cuda_std::{global, kernel, math, mma, shared, thread, warp};

/// Words of a neighbour in the table for CUDA cores: bytes to its row in a matrix, its column in the window of the
/// first output, and its weight.
pub const TAP_WORDS: u32 = 4;

/// What multiplies the planes of a stencil.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planes {
    /// Each has products of its own.
    Products,
    /// Two that are equally far from the middle are alike: the products of an input plane serve both outputs.
    Symmetric,
    /// The middle one has products; the others, of few neighbours, are for CUDA cores.
    Cores,
}

impl Planes {
    /// Products of an input plane.
    #[must_use]
    pub const fn products(self, radius: u32) -> usize {
        match self {
            Self::Products => 2 * radius as usize + 1,
            Self::Symmetric => radius as usize + 1,
            Self::Cores => 1,
        }
    }
}

/// What a launch is given besides the grids, which are laid out as in [`crate::layout`], and the tables.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpaceLaunch {
    /// Extents of the grid (z, y, x).
    pub extents: [u32; 3],
    /// Numbers from a row of the grid to the next.
    pub pitch: u32,
    /// Rows from a plane of the grid to the next.
    pub plane_rows: u32,
    /// Output planes that a block computes one after the other.
    pub segment: u32,
    /// Where the neighbours of the plane dz = r − i end in the table for CUDA cores.
    pub ends: [u32; 7],
}

impl SpaceLaunch {
    /// Where the neighbours of the plane dz = r − i start and end in the table for CUDA cores.
    #[inline(always)]
    const fn neighbours(&self, i: usize) -> [u32; 2] {
        [if i == 0 { 0 } else { self.ends[i - 1] }, self.ends[i]]
    }
}

/// What a block has of a plane: 8 rows × 64 columns of radius 3, as published.
#[must_use]
pub const fn tile(radius: u32) -> BlockTile {
    BlockTile { radius, kernel_rows: 2 * radius + 1, groups: GROUPS, rows: WARPS }
}

/// Bytes of shared memory of a block.
#[must_use]
pub const fn shared_bytes(radius: u32) -> u32 {
    2 * tile(radius).bytes()
}

/// The product that is added to sum `i` and to no other.
#[inline(always)]
const fn of_one<const PRODUCTS: usize>(i: usize, radius: u32) -> Option<usize> {
    match PRODUCTS {
        1 if i == radius as usize => Some(0),
        products if products == 2 * radius as usize + 1 => Some(i),
        _ => None,
    }
}

/// Dual tessellation of an input plane: adds products with the same points and different weights to sums.
///
/// # Safety
/// The whole warp calls it; the plane, `bytes` behind the first, is written, and there are as many weights.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
unsafe fn multiply<const STEPS: usize, const PRODUCTS: usize>(
    lane: Lane,
    bytes: u32,
    matrix_bytes: u32,
    sums: &mut [[f64; 2]; PRODUCTS],
) {
    unroll!(matrix < 2 => {
        unroll!(step < STEPS => {
            // SAFETY: as the caller promises.
            unsafe {
                let point = lane.point::<STEPS>(step, bytes + matrix as u32 * matrix_bytes);
                let first = (matrix * STEPS + step) * PRODUCTS;
                unroll!(i < PRODUCTS => {
                    sums[i] = mma::m8n8k4_f64(point, lane.weight(first + i), sums[i])
                });
            }
        })
    });
}

/// A lane's part in what CUDA cores compute.
#[derive(Clone, Copy)]
struct Core {
    taps: *const u32,
    /// The row of matrix A that has the first neighbour.
    row: Shared,
    /// The lane's first output in a group.
    within: u32,
}

impl Core {
    /// The sum of the neighbours from `first` to `end` of the lane's two outputs and of `sums`.
    ///
    /// # Safety
    /// The table has these, and the plane, `bytes` behind the first, is written.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn add<const RADIUS: u32>(
        &self,
        [first, end]: [u32; 2],
        bytes: u32,
        sums: &mut [f64; 2],
    ) {
        let tile = const { tile(RADIUS) };
        let mut tap = first;
        while tap < end {
            // SAFETY: as the caller promises.
            let [row, column, low, high] =
                unsafe { global::load_v4(self.taps.wrapping_add((TAP_WORDS * tap) as usize)) };
            let weight = from_words([low, high]);
            unroll!(output < 2 => {
                // The second half of a window lies in matrix B.
                let column = self.within + column + output as u32;
                let beyond = if column < half(RADIUS) { 0 } else { tile.matrix() - half(RADIUS) };
                let at = self.row.offset(bytes + row + (column + beyond) * 8);
                // SAFETY: the window's columns are written.
                unsafe {
                    let point = from_words(shared::load_v2(at));
                    sums[output] = math::fma_f64(weight, point, sums[output]);
                }
            });
            tap += 1;
        }
    }
}

/// The kernel of a radius. `WIDTH` is 2r + 1.
#[inline(always)]
unsafe fn space<
    const RADIUS: u32,
    const WIDTH: usize,
    const STEPS: usize,
    const ROUNDS: usize,
    const PRODUCTS: usize,
>(
    input: *const u8,
    output: *mut u8,
    table: *const u32,
    weights: *const u32,
    taps: *const u32,
    launch: &SpaceLaunch,
) {
    const {
        assert!(WIDTH == 2 * RADIUS as usize + 1 && STEPS == steps(RADIUS, WIDTH as u32));
        assert!(ROUNDS == tile(RADIUS).rounds());
    }
    let tile = const { tile(RADIUS) };
    let middle = RADIUS as usize;
    let &SpaceLaunch { extents: [nz, ny, nx], pitch, plane_rows, segment, .. } = launch;
    // SAFETY: in a kernel; the input is what the launch before writes, the output what it reads; the launch gives
    // shared memory for both matrices of two planes.
    let (block, thread, lane, data) = unsafe {
        overlap::wait_for_previous();
        overlap::start_next();
        (thread::block_idx_x(), thread::thread_idx_x(), warp::lane_id(), shared::dynamic())
    };
    let (across, down) = (nx.div_ceil(tile.columns()), ny.div_ceil(tile.rows));
    let x = block % across * tile.columns();
    let y = block / across % down * tile.rows;
    let z = block / (across * down) * segment;
    let planes = if nz - z < segment { nz - z } else { segment };
    let offset =
        |z: isize, y: isize, x: isize| ((z * plane_rows as isize + y) * pitch as isize + x) * 8;
    let start = |at: u32| at as isize - RADIUS as isize;
    let first = input.wrapping_offset(offset(start(z), start(y), start(x)));
    // Rows below what the last output depends on are taken for the last one of these.
    let last = ny - 1 - y + 2 * RADIUS;
    let [_, columns] = tile.input();
    let load = |plane: u32| {
        let first = first.wrapping_offset(offset(plane as isize, 0, 0));
        let source = |point: u32| {
            let (row, column) = (point / columns, point % columns);
            let row = if row < last { row } else { last };
            first.wrapping_offset(offset(0, row as isize, column as isize)).cast()
        };
        // SAFETY: planes, rows and columns up to the radius outside of the grid lie in the halo, and columns behind
        // those in that of the next row; the table has a place for each point.
        unsafe { Points::<ROUNDS>::load(table, thread, source) }
    };
    // SAFETY: the table's places lie in the matrices of a plane.
    unsafe {
        load(0).store(data);
        wait_for_points();
    }
    let row = thread / warp::SIZE;
    let place = data.offset(row * half(RADIUS) * 8);
    let lanes = Lane::new(weights, place, tile.pitch(), half(RADIUS) * WIDTH as u32, lane);
    let within = lane % STEP * 2;
    let core = Core {
        taps,
        row: place.offset(lane / STEP * tile.pitch() * 8),
        within: if within < outputs(RADIUS) { within } else { 0 },
    };
    let mut sums = [[0.0; 2]; WIDTH];
    let (mut plane, all) = (0, planes + 2 * RADIUS);
    while plane < all {
        let next = if plane + 1 < all { plane + 1 } else { plane };
        let ahead = load(next);
        let bytes = plane % 2 * tile.bytes();
        // Sum i is of the output plane that the input plane at hand is dz = r - i away from.
        let mut products = [[0.0; 2]; PRODUCTS];
        unroll!(i < WIDTH => if let Some(product) = of_one::<PRODUCTS>(i, RADIUS) {
            products[product] = sums[i]
        });
        // SAFETY: all warps come here; the plane is written, and the launch gives weights and neighbours.
        unsafe {
            multiply::<STEPS, PRODUCTS>(lanes, bytes, tile.matrix() * 8, &mut products);
            unroll!(i < WIDTH => {
                if let Some(product) = of_one::<PRODUCTS>(i, RADIUS) {
                    sums[i] = products[product];
                } else if PRODUCTS == 1 {
                    core.add::<RADIUS>(launch.neighbours(i), bytes, &mut sums[i]);
                } else {
                    let [a, b] = products[i.abs_diff(middle)];
                    sums[i] = [sums[i][0] + a, sums[i][1] + b];
                }
            });
        }
        if plane >= 2 * RADIUS && y + row < ny {
            let z = z + plane - 2 * RADIUS;
            let output = output.wrapping_offset(offset(z as isize, (y + row) as isize, 0));
            // SAFETY: no other warp has these outputs.
            unsafe { store_outputs::<RADIUS>(output, x, nx, lane, sums[0]) };
        }
        unroll!(i < WIDTH => sums[i] = if i + 1 < WIDTH { sums[i + 1] } else { [0.0; 2] });
        // SAFETY: what was written there has been multiplied: all warps have been waited for since.
        unsafe {
            ahead.store(data.offset(tile.bytes() - bytes));
            wait_for_points();
        }
        plane += 1;
    }
}

macro_rules! kernels {
    ($($name:ident: $planes:ident, $radius:literal;)*) => {
        $(
            #[doc = concat!(
                "One step of a stencil of radius ", stringify!($radius), ", [`Planes::", stringify!($planes), "`]:"
            )]
            /// `output` = stencil of `input`.
            ///
            /// # Safety
            /// Launch a block of [`super::THREADS`] for each tile and segment, row by row and plane by plane, with
            /// [`shared_bytes`] of dynamic shared memory. `input` and `output` point at grid point (0, 0, 0) of two
            /// different arrays laid out as in [`crate::layout`]. `table` has a word for each of [`BlockTile::rounds`] ×
            /// [`super::THREADS`] points, `weights` those of A and B for 32 lanes of each product in each step, `taps`
            /// [`TAP_WORDS`] for each neighbour on CUDA cores, as `stencil::families::convstencil` makes them.
            // Of a multiprocessor's 65536 registers for two blocks.
            #[kernel(registers = 128)]
            pub unsafe fn $name(
                input: *const u8,
                output: *mut u8,
                table: *const u32,
                weights: *const u32,
                taps: *const u32,
                launch: SpaceLaunch,
            ) {
                // SAFETY: the launch is as this function's contract says.
                unsafe {
                    space::<
                        $radius,
                        { 2 * $radius + 1 },
                        { steps($radius, 2 * $radius + 1) },
                        { tile($radius).rounds() },
                        { Planes::$planes.products($radius) },
                    >(input, output, table, weights, taps, &launch)
                };
            }
        )*

        /// The kernel for planes and a radius, if there is one.
        #[cfg(not(target_arch = "nvptx64"))]
        #[must_use]
        pub fn kernel(planes: Planes, radius: u32) -> Option<Entry<Parameters>> {
            match (planes, radius) {
                $((Planes::$planes, $radius) => Some(Entry::of::<$name>()),)*
                _ => None,
            }
        }
    };
}

kernels! {
    convstencil3d_r1: Products, 1;
    convstencil3d_r2: Products, 2;
    convstencil3d_r3: Products, 3;
    convstencil3d_symmetric_r1: Symmetric, 1;
    convstencil3d_symmetric_r2: Symmetric, 2;
    convstencil3d_symmetric_r3: Symmetric, 3;
    convstencil3d_cores_r1: Cores, 1;
    convstencil3d_cores_r2: Cores, 2;
    convstencil3d_cores_r3: Cores, 3;
}

/// A kernel's parameters, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters = (*const u8, *mut u8, *const u32, *const u32, *const u32, SpaceLaunch);
