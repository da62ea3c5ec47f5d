// SPDX-License-Identifier: MIT OR Apache-2.0
//! FlashFFTStencil as published (Han et al., PPoPP 2025, doi:10.1145/3710848.3710897): so many time steps of a stencil
//! are a circular convolution of a tile with its halo, computed on chip by discrete Fourier transforms, which are
//! products on FP64 tensor cores. The host computes the steps' symbol; the number of steps changes nothing else.
//!
//! - **Kernel tailoring** (§3.1). A tile is loaded, transformed, multiplied with the symbol, transformed back and stored
//!   in one launch. Tiles overlap by what the steps reach; what is wrong there because the convolution is circular, is
//!   not stored.
//! - **Prime factors** (§3.2.1). In 1D a tile has 240 = 16 × 15 points, point n at row n mod 15 and column n mod 16 of a
//!   matrix, whose transform along both axes is that of the tile, without twiddles.
//! - **Diagonal indexing** (§3.2.2). So the next point lies one row down and one column on; nobody divides, and 16 points
//!   side by side lie in 16 banks of shared memory.
//! - **Double-layer filling** (§3.2.3). Two tiles are the real and the imaginary part of one.
//! - **Swizzled fragments and squeezed registers** (§3.3): [`product`].
//!
//! In 1D and 2D a warp takes pair of tiles after pair, with shared memory of its own; while it multiplies, it loads the next pair.
//!
//! | module | tiles |
//! | --- | --- |
//! | [`mod@line`] | 240 points of 1D |
//! | [`plane`] | 16 × 16 points of 2D |
//! | [`space`] | 16³ points of 3D, a pair of which takes a block |
//!
//! On chips before sm_90 eight products of 8 × 4 are one of 16 × 8 ([`crate::dense_f64`]).

// Indices, because iterators that are cut short keep arrays out of registers.
#![allow(clippy::needless_range_loop)]

pub mod line;
pub mod plane;
pub mod product;
pub mod space;

use crate::element::{from_words, to_words};
use crate::fault::{Fault, planted};
use crate::overlap;
use crate::unroll::unroll;
use cuda_std::shared::{self, Shared};
use cuda_std::{global, thread, warp};
use product::{Matrix, RightFactor, Square, transform};

/// Bytes of a number.
const BYTES: u32 = 8;

/// Rows and columns of a tile in shared memory, and of the matrices.
pub const SIDE: u32 = 16;

/// Numbers of a row in shared memory: two rows, of which 8 lanes load 16 bytes each, lie in all banks, and so do 16 points
/// side by side, each one row further down.
const PITCH: u32 = 24;

/// Bytes of a tile in shared memory.
const LAYER: u32 = SIDE * PITCH * BYTES;

/// Warps of a block.
pub const WARPS: u32 = 4;

/// Threads of a block.
pub const THREADS: u32 = WARPS * warp::SIZE;

/// Complex numbers of the table of the symbol: 8 for each lane.
pub const SYMBOLS: u32 = SIDE * SIDE;

/// Dynamic shared memory of a block: the symbol, and a pair of tiles for each warp.
pub const SHARED_BYTES: u32 = SYMBOLS * 2 * BYTES + WARPS * 2 * LAYER;

/// Which of a product's 16 rows of its second factor is a slot of K: slots t, t + 4, t + 8 and t + 12, which a lane has,
/// are what it has of a product's columns.
#[must_use]
pub const fn row_of_slot(slot: usize) -> usize {
    2 * (slot % 4) + slot / 4 % 2 + 8 * (slot / 8)
}

/// Row and column of the tile of waves whose number is the `index`th of a lane in the table of the symbol.
#[must_use]
pub const fn wave(lane: usize, index: usize) -> (usize, usize) {
    let (half, i) = (index / 4, index % 4);
    (lane / 4 + 8 * (i / 2), 8 * half + 2 * (lane % 4) + i % 2)
}

/// The row and the column of a number, of so many columns.
#[inline(always)]
fn place(number: u32, columns: u32) -> (u32, u32) {
    // There is always a column.
    let row = number.checked_div(columns).unwrap_or(0);
    (row, number - row * columns)
}

/// How a grid is cut into pairs of tiles.
trait Tiles: Copy {
    /// Rounds in which a tile moves to shared memory and from there: in each, 16 lanes move 16 points side by side.
    const ROUNDS: usize;

    /// Rows that hold points.
    const ROWS: u32;

    /// Pairs of tiles.
    fn pairs(&self) -> u32;

    /// The row in shared memory of a lane's point in a round; the column is the lane's.
    fn row(column: u32, round: u32) -> u32;

    /// Where this lane's tile of a pair starts.
    fn start(&self, pair: u32, layer: u32) -> [i32; 2];

    /// Where a point of a tile lies, counted from grid point 0; a point behind the grid is one of the zeros there.
    fn source(&self, start: [i32; 2], column: u32, round: u32) -> isize;

    /// Whether a point of a tile is an output, one that the tile has right and that lies in the grid; and where it lies,
    /// counted from grid point 0.
    fn target(&self, start: [i32; 2], column: u32, round: u32) -> (bool, isize);
}

/// A lane's part in moving a pair of tiles: a column of one of them.
#[derive(Clone, Copy)]
struct Column {
    /// 0 or 1.
    layer: u32,
    /// Of the tile.
    column: u32,
    /// Its first row in shared memory.
    at: Shared,
}

impl Column {
    #[inline(always)]
    const fn new(tiles: Shared, lane: u32) -> Self {
        let (layer, column) = (lane / SIDE, lane % SIDE);
        Self { layer, column, at: tiles.offset(layer * LAYER + column * BYTES) }
    }

    /// Where its point of a round is.
    #[inline(always)]
    fn place<T: Tiles>(&self, round: usize) -> Shared {
        self.at.offset(T::row(self.column, round as u32) * PITCH * BYTES)
    }
}

/// The points of a pair of tiles on their way to shared memory: a lane's column.
type Points<const ROUNDS: usize> = [[u32; 2]; ROUNDS];

/// Loads a lane's points of a pair.
///
/// # Safety
/// There is such a pair, and the input is written.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
unsafe fn load<T: Tiles, const ROUNDS: usize>(
    input: *const f64,
    tiles: &T,
    pair: u32,
    own: Column,
) -> Points<ROUNDS> {
    let mut points = [[0; 2]; ROUNDS];
    let start = tiles.start(pair, own.layer);
    unroll!(round < ROUNDS => {
        let at = input.wrapping_offset(tiles.source(start, own.column, round as u32));
        // SAFETY: it lies in the grid or in the zeros around it.
        points[round] = unsafe { global::load_v2(at.cast()) };
    });
    points
}

/// The second factor of the first product: a pair of tiles.
///
/// # Safety
/// They are written.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
unsafe fn factor(tiles: Shared, lane: u32) -> RightFactor {
    let at = tiles.offset((lane / 4 * PITCH + lane % 4 * 2) * BYTES);
    let mut layers = [[[0.0; 4]; 2]; 2];
    unroll!(part < 4 => {
        let (layer, half) = (part / 2, part % 2);
        let row = at.offset(layer as u32 * LAYER + half as u32 * 8 * PITCH * BYTES);
        // SAFETY: as the caller promises; pairs of columns are aligned to 16 bytes.
        let ([a, b, c, d], [e, f, g, h]) =
            unsafe { (shared::load_v4(row), shared::load_v4(row.offset(8 * BYTES))) };
        layers[layer][half] = [[a, b], [c, d], [e, f], [g, h]].map(from_words);
    });
    let [re, im] = layers;
    RightFactor { re, im }
}

/// Writes a product back as a pair of tiles, of so many rows.
///
/// # Safety
/// Nobody accesses them now.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
unsafe fn store_square(tiles: Shared, rows: u32, lane: u32, square: Square) {
    let at = tiles.offset((lane / 4 * PITCH + lane % 4 * 2) * BYTES);
    let below = lane / 4 + 8 < rows;
    let parts = [square.re, square.im];
    unroll!(part < 4 => {
        let (layer, half) = (part / 2, part % 2);
        let at = at.offset(layer as u32 * LAYER + half as u32 * 8 * BYTES);
        let [[a, b], [c, d], [e, f], [g, h]] = parts[layer][half].map(to_words);
        // SAFETY: as the caller promises; pairs of columns are aligned to 16 bytes.
        unsafe {
            shared::store_v4(at, [a, b, c, d]);
            if below {
                shared::store_v4(at.offset(8 * PITCH * BYTES), [e, f, g, h]);
            }
        }
    });
}

/// The convolution of a pair of tiles: there along both axes, times the symbol, and back.
///
/// # Safety
/// The whole warp calls it; the table of the symbol is written.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
unsafe fn convolve(
    [first, second]: &[Matrix; 2],
    symbols: Shared,
    lane: u32,
    points: RightFactor,
) -> Square {
    // SAFETY: as the caller promises.
    unsafe {
        let waves = transform::<false>(first, points);
        let waves = transform::<false>(second, waves.transposed());
        let waves = waves.scaled_by(|index| {
            // Entries are aligned to 16 bytes.
            shared::load_v4(symbols.offset((index * warp::SIZE + lane) * 2 * BYTES))
        });
        let half_way = transform::<true>(first, waves.transposed());
        transform::<true>(second, half_way.transposed())
    }
}

/// Waits until all lanes have written the points of a pair.
///
/// # Safety
/// All lanes come here.
#[inline(always)]
unsafe fn wait_for_points() {
    if !planted(Fault::NoSyncOfPoints) {
        // SAFETY: as the caller promises.
        unsafe { warp::sync() };
    }
}

/// Copies the table of the symbol to shared memory.
///
/// # Safety
/// All threads of the block come here; the table stays as it is.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
unsafe fn load_symbols(table: *const u32, to: Shared, thread: u32) {
    const EACH: usize = (SYMBOLS / THREADS) as usize;
    unroll!(i < EACH => {
        let entry = i as u32 * THREADS + thread;
        let from = table.wrapping_add(4 * entry as usize);
        // SAFETY: as the caller promises.
        let words = core::array::from_fn(|word| unsafe { global::load_constant(from.wrapping_add(word)) });
        // SAFETY: no other thread has this entry.
        unsafe { shared::store_v4(to.offset(entry * 2 * BYTES), words) };
    });
    thread::sync_threads();
}

/// The steps of a launch, pair of tiles after pair.
///
/// # Safety
/// As the kernels' contracts say.
#[inline(always)]
unsafe fn run<T: Tiles, const ROUNDS: usize>(
    input: *const f64,
    output: *mut f64,
    matrices: *const u32,
    distinct: usize,
    symbols: *const u32,
    tiles: &T,
) {
    const { assert!(ROUNDS == T::ROUNDS && T::ROWS + 1 >= SIDE) };
    // SAFETY: in a kernel, whose launch gives the shared memory and tables that never change.
    let (block, blocks, thread, lane, table, matrices) = unsafe {
        let (thread, lane, table) = (thread::thread_idx_x(), warp::lane_id(), shared::dynamic());
        load_symbols(symbols, table, thread);
        let first = Matrix::load(matrices, 0, lane);
        let second = if distinct == 1 { first } else { Matrix::load(matrices, 1, lane) };
        let (block, blocks) = (thread::block_idx_x(), thread::grid_dim_x());
        (block, blocks, thread, lane, table, [first, second])
    };
    let warp = thread / warp::SIZE;
    let place = table.offset(SYMBOLS * 2 * BYTES + warp * 2 * LAYER);
    let own = Column::new(place, lane);
    // The row that holds no points, if there is one, is of zeros.
    if T::ROWS < SIDE {
        // SAFETY: the warp's own tiles.
        unsafe { shared::store_v2(own.at.offset(T::ROWS * PITCH * BYTES), [0; 2]) };
    }
    // SAFETY: the input is what the launch before writes, the output what it reads.
    unsafe {
        overlap::wait_for_previous();
        overlap::start_next();
    }
    let mut pair = block * WARPS + warp;
    if pair >= tiles.pairs() {
        return;
    }
    // SAFETY: there is such a pair.
    let mut points: Points<ROUNDS> = unsafe { load(input, tiles, pair, own) };
    loop {
        let next = pair + blocks * WARPS;
        // SAFETY: all lanes come here. Tiles are the warp's own; a lane stores its own points.
        unsafe {
            unroll!(round < ROUNDS => shared::store_v2(own.place::<T>(round), points[round]));
            wait_for_points();
            let factor = factor(place, lane);
            if next < tiles.pairs() {
                points = load(input, tiles, next, own);
            }
            let square = convolve(&matrices, table, lane, factor);
            warp::sync();
            store_square(place, T::ROWS, lane, square);
            warp::sync();
            let start = tiles.start(pair, own.layer);
            unroll!(round < ROUNDS => {
                let (wanted, at) = tiles.target(start, own.column, round as u32);
                let words = shared::load_v2(own.place::<T>(round));
                global::store_v2_if(wanted, output.wrapping_offset(at).cast(), words);
            });
            warp::sync();
        }
        if next >= tiles.pairs() {
            return;
        }
        pair = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_slot_is_a_row_and_every_entry_a_wave() {
        let rows: BTreeSet<usize> = (0..16).map(row_of_slot).collect();
        assert!(rows.into_iter().eq(0..16));
        let waves: BTreeSet<_> =
            (0..32).flat_map(|lane| (0..8).map(move |i| wave(lane, i))).collect();
        assert_eq!(waves.len(), 256);
        assert_eq!(waves.last(), Some(&(15, 15)));
    }
}
