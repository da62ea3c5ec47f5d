// SPDX-License-Identifier: MIT OR Apache-2.0
//! FlashFFTStencil in 3D: tiles of 16³ points, of which two side by side are a pair that a block convolves.
//!
//! Products are of two axes, and the third one is that of the warps, so spectra change hands twice, in shared memory:
//!
//! | phase | a warp has, of each z or wave along y in turn | transforms |
//! | --- | --- | --- |
//! | `planes_there` | a plane of the tile | along x, along y |
//! | `slabs` | waves along x at all z | along z; times the symbol; back along x, back along z |
//! | `planes_back` | waves along y at all x of a plane | back along y |

use super::product::{Matrix, RightFactor, Square, transform};
use super::{BYTES, SIDE};
use crate::element::{from_words, to_words};
use crate::fault::{Fault, planted};
use crate::overlap;
use crate::unroll::unroll;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::shared::{self, Shared};
use cuda_std::{global, kernel, thread, warp};

/// Warps of a block.
const WARPS: u32 = 4;

/// Threads of a block.
pub const THREADS: u32 = WARPS * warp::SIZE;

/// Numbers from a plane to the next in shared memory: lanes that load every other plane meet in no bank.
const PLANE: u32 = SIDE * SIDE + 2;

/// Bytes of a tile in shared memory.
const LAYER: u32 = SIDE * PLANE * BYTES;

/// Dynamic shared memory of a block: a pair of tiles.
pub const SHARED_BYTES: u32 = 2 * LAYER;

/// Where a number is in a layer: 8 rows two apart have their columns in different banks, and so have two rows side by
/// side.
#[inline(always)]
const fn place(z: u32, y: u32, x: u32) -> u32 {
    let swizzle = (y / 2 % 4 * 4) ^ (y % 2 * 8);
    (z * PLANE + y * SIDE + (x ^ swizzle)) * BYTES
}

/// How a grid is cut into tiles, of which two side by side are a pair.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpaceTiling {
    /// Elements from one row of the grid to the next, and from one plane.
    pub pitches: [i64; 2],
    /// Extents (z, y, x) of the grid.
    pub extents: [u32; 3],
    /// Points of a tile before its first output.
    pub before: [u32; 3],
    /// Outputs of a tile along each axis.
    pub own: [u32; 3],
    /// Tiles along y, pairs along x.
    pub across: [u32; 2],
    /// Pairs of tiles.
    pub pairs: u32,
}

impl SpaceTiling {
    /// For steps that reach so far before and behind a point, along an axis less than a tile together.
    #[must_use]
    pub const fn new([row, plane]: [i64; 2], extents: [u32; 3], [z, y, x]: [[u32; 2]; 3]) -> Self {
        let before = [z[0], y[0], x[0]];
        let own = [SIDE - z[0] - z[1], SIDE - y[0] - y[1], SIDE - x[0] - x[1]];
        let across = [extents[1].div_ceil(own[1]), extents[2].div_ceil(2 * own[2])];
        let pairs = extents[0].div_ceil(own[0]) * across[0] * across[1];
        Self { pitches: [row, plane], extents, before, own, across, pairs }
    }

    /// Where the first tile of a pair starts.
    #[inline(always)]
    fn start(&self, pair: u32) -> [i32; 3] {
        let (row, column) = super::place(pair, self.across[1]);
        let (plane, row) = super::place(row, self.across[0]);
        let tile = [plane, row, 2 * column];
        core::array::from_fn(|axis| (tile[axis] * self.own[axis]) as i32 - self.before[axis] as i32)
    }

    /// Where a tile of a pair starts, of which the first tile starts at (z, y, x).
    #[inline(always)]
    fn of_layer(&self, [z, y, x]: [i32; 3], layer: usize) -> [i32; 3] {
        [z, y, x + (layer as u32 * self.own[2]) as i32]
    }

    /// Where a point lies, counted from grid point 0.
    #[inline(always)]
    fn offset(&self, [z, y, x]: [i32; 3]) -> isize {
        let [row, plane] = self.pitches;
        (i64::from(z) * plane + i64::from(y) * row) as isize + x as isize
    }

    /// Where a point of a tile that starts at `start` lies, counted from grid point 0; a point outside of the grid is one
    /// of the zeros around it.
    #[inline(always)]
    fn source(&self, start: [i32; 3], point: [u32; 3]) -> isize {
        self.offset(core::array::from_fn(|axis| {
            let (at, last) = (start[axis] + point[axis] as i32, self.extents[axis] as i32);
            let at = if at < last { at } else { last };
            // There are fewer zeros before the grid than beside it.
            if axis < 2 && at < -1 { -1 } else { at }
        }))
    }

    /// Whether a point of a tile is an output, one that the tile has right and that lies in the grid; and where it lies,
    /// counted from grid point 0.
    #[inline(always)]
    fn target(&self, start: [i32; 3], point: [u32; 3]) -> (bool, isize) {
        let at: [i32; 3] = core::array::from_fn(|axis| start[axis] + point[axis] as i32);
        let of = |axis: usize| {
            let is_right = point[axis].wrapping_sub(self.before[axis]) < self.own[axis];
            is_right & (at[axis] < self.extents[axis] as i32)
        };
        (of(0) & of(1) & of(2), self.offset(at))
    }
}

/// What a warp of a block needs to know.
#[derive(Clone, Copy)]
struct Place {
    tiles: Shared,
    warp: u32,
    lane: u32,
}

impl Place {
    /// A product's factor, whose rows are those of `at`: its first argument counts them, the second the columns.
    ///
    /// # Safety
    /// They are written.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn factor(&self, at: impl Fn(u32, u32) -> u32) -> RightFactor {
        let (column, row) = (self.lane / 4, self.lane % 4 * 2);
        let mut layers = [[[0.0; 4]; 2]; 2];
        unroll!(number < 16 => {
            let (layer, half, i) = (number / 8, number / 4 % 2, number % 4);
            let slot = i as u32;
            let place = at(row + slot % 2 + slot / 2 * 8, column + half as u32 * 8);
            let from = self.tiles.offset(layer as u32 * LAYER + place);
            // SAFETY: as the caller promises.
            layers[layer][half][i] = from_words(unsafe { shared::load_v2(from) });
        });
        let [re, im] = layers;
        RightFactor { re, im }
    }

    /// Stores a product, whose rows and columns are those of `at`; columns side by side lie there side by side, too.
    ///
    /// # Safety
    /// Nobody else accesses them now.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn store(&self, square: Square, at: impl Fn(u32, u32) -> u32) {
        let (row, column) = (self.lane / 4, self.lane % 4 * 2);
        let parts = [square.re, square.im];
        unroll!(part < 4 => {
            let (layer, half) = (part / 2, part % 2);
            let [[a, b], [c, d], [e, f], [g, h]] = parts[layer][half].map(to_words);
            let to = |row| {
                self.tiles.offset(layer as u32 * LAYER + at(row, column + half as u32 * 8))
            };
            // SAFETY: as the caller promises; pairs of columns are aligned to 16 bytes.
            unsafe {
                shared::store_v4(to(row), [a, b, c, d]);
                shared::store_v4(to(row + 8), [e, f, g, h]);
            }
        });
    }
}

/// Planes of a pair, from global memory to waves along x and y.
///
/// # Safety
/// The whole block comes here, after whoever has read the tiles last.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
unsafe fn planes_there(
    matrix: &Matrix,
    place_of: Place,
    input: *const f64,
    space: &SpaceTiling,
    pair: u32,
) {
    let (row, column) = (place_of.lane / 4, place_of.lane % 4 * 2);
    let mut z = place_of.warp;
    while z < SIDE {
        let start = space.start(pair);
        let mut layers = [[[0.0; 4]; 2]; 2];
        unroll!(number < 16 => {
            let (layer, half, i) = (number / 8, number / 4 % 2, number % 4);
            let slot = i as u32;
            let x = column + slot % 2 + slot / 2 * 8;
            let at = space.source(space.of_layer(start, layer), [z, row + half as u32 * 8, x]);
            // SAFETY: it lies in the grid or in the zeros around it.
            let words = unsafe { global::load_v2(input.wrapping_offset(at).cast()) };
            layers[layer][half][i] = from_words(words);
        });
        let [re, im] = layers;
        // SAFETY: all lanes come here; no other warp has this plane.
        unsafe {
            let waves = transform::<false>(matrix, RightFactor { re, im });
            let waves = transform::<false>(matrix, waves.transposed());
            place_of.store(waves, |wave_y, wave_x| place(z, wave_y, wave_x));
        }
        z += WARPS;
    }
}

/// Waves along y, from all z to waves along z, and from there to points along x and z.
///
/// # Safety
/// The whole block comes here, after all planes.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
unsafe fn slabs(matrix: &Matrix, place_of: Place, symbols: *const u32) {
    let mut wave = place_of.warp;
    while wave < SIDE {
        let table = symbols.wrapping_add((wave * SIDE * SIDE * 4) as usize);
        // SAFETY: all lanes come here; no other warp has these waves, and the lanes have read them all before one writes.
        unsafe {
            let factor = place_of.factor(|z, wave_x| place(z, wave, wave_x));
            let waves = transform::<false>(matrix, factor);
            let waves = waves.scaled_by(|index| {
                // The table has so many entries of 16 bytes and stays as it is.
                let entry = (index * warp::SIZE + place_of.lane) * 4;
                global::load_v4(table.wrapping_add(entry as usize))
            });
            let half_way = transform::<true>(matrix, waves.transposed());
            let points = transform::<true>(matrix, half_way.transposed());
            warp::sync();
            place_of.store(points, |z, x| place(z, wave, x));
        }
        wave += WARPS;
    }
}

/// Waves along y of planes, to points in global memory.
///
/// # Safety
/// The whole block comes here, after all slabs.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
unsafe fn planes_back(
    matrix: &Matrix,
    place_of: Place,
    output: *mut f64,
    space: &SpaceTiling,
    pair: u32,
) {
    let (row, column) = (place_of.lane / 4, place_of.lane % 4 * 2);
    let mut z = place_of.warp;
    while z < SIDE {
        let start = space.start(pair);
        // SAFETY: all lanes come here.
        let points = unsafe {
            let factor = place_of.factor(|wave_y, x| place(z, wave_y, x));
            transform::<true>(matrix, factor)
        };
        let parts = [points.re, points.im];
        unroll!(number < 16 => {
            let (layer, half, i) = (number / 8, number / 4 % 2, number % 4);
            let of_four = i as u32;
            let x = column + of_four % 2 + half as u32 * 8;
            let (wanted, at) = space.target(space.of_layer(start, layer), [z, row + of_four / 2 * 8, x]);
            let to = output.wrapping_offset(at).cast();
            // SAFETY: it lies in the grid, if it is wanted, and no other tile has it.
            unsafe { global::store_v2_if(wanted, to, to_words(parts[layer][half][i])) };
        });
        z += WARPS;
    }
}

/// So many steps of a stencil on a 3D grid, in f64.
///
/// # Safety
/// Launch blocks of [`THREADS`] with [`SHARED_BYTES`] of dynamic shared memory. `input` and `output` point at grid point
/// (0, 0, 0) of two different arrays laid out as in [`crate::layout`]; `space` is of its pitches and extents, of fewer
/// than 2³¹ pairs. `matrices` is that of 16 points, `symbols` the steps' symbol over the points of a tile, as
/// `stencil::families::flashfft` makes them.
// Three blocks on a multiprocessor.
#[kernel(registers = 168)]
pub unsafe fn flashfft3d_f64(
    input: *const f64,
    output: *mut f64,
    matrices: *const u32,
    symbols: *const u32,
    space: SpaceTiling,
) {
    // SAFETY: in a kernel, with tables that never change; the input is what the launch before writes, the output what it
    // reads.
    let (mut pair, blocks, place_of, matrix) = unsafe {
        let (thread, lane, tiles) = (thread::thread_idx_x(), warp::lane_id(), shared::dynamic());
        let matrix = Matrix::load(matrices, 0, lane);
        overlap::wait_for_previous();
        overlap::start_next();
        let place_of = Place { tiles, warp: thread / warp::SIZE, lane };
        (thread::block_idx_x(), thread::grid_dim_x(), place_of, matrix)
    };
    while pair < space.pairs {
        // SAFETY: all threads come here.
        unsafe {
            planes_there(&matrix, place_of, input, &space, pair);
            if !planted(Fault::NoSyncOfPoints) {
                thread::sync_threads();
            }
            slabs(&matrix, place_of, symbols);
            thread::sync_threads();
            planes_back(&matrix, place_of, output, &space, pair);
            thread::sync_threads();
        }
        pair += blocks;
    }
}

/// A kernel's parameters, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters = (*const f64, *mut f64, *const u32, *const u32, SpaceTiling);

/// The kernel.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn kernel() -> Entry<Parameters> {
    Entry::of::<flashfft3d_f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_number_has_a_place_and_pairs_of_columns_are_whole() {
        let mut places = BTreeSet::new();
        for z in 0..SIDE {
            for y in 0..SIDE {
                for x in 0..SIDE {
                    let at = place(z, y, x);
                    assert!(at < LAYER && places.insert(at));
                    assert!(x % 2 == 1 || (at.is_multiple_of(16) && place(z, y, x + 1) == at + 8));
                }
            }
        }
    }

    /// 16 lanes, or 8 with 16 bytes, take one turn if all are in different banks.
    #[test]
    fn lanes_meet_in_no_bank() {
        let banks = |places: &mut dyn Iterator<Item = u32>, bytes: u32| {
            places.map(|at| at % 128 / bytes).collect::<BTreeSet<u32>>().len()
        };
        for first in [0, 4] {
            let lanes = || (0..4).flat_map(move |g| (0..4).map(move |t| (first + g, 2 * t)));
            for fixed in 0..SIDE {
                // Slabs: every other plane, of neighbouring waves; planes back: every other row.
                assert_eq!(banks(&mut lanes().map(|(g, t)| place(t, fixed, g)), 8), 16);
                assert_eq!(banks(&mut lanes().map(|(g, t)| place(fixed, t, g)), 8), 16);
            }
        }
        for first in [0, 2, 4, 6] {
            let lanes = (0..2).flat_map(|g| (0..4).map(move |t| place(3, first + g, 2 * t)));
            assert_eq!(banks(&mut lanes.into_iter(), 16), 8, "planes there");
        }
    }
}
