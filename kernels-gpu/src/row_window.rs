// SPDX-License-Identifier: MIT OR Apache-2.0
//! What kernels on row windows share: which columns a lane loads and which it stores.
//!
//! One `mma.sp` m16n8k32 adds the contribution of one input row to [`UNIT`] outputs of a row: N = 8
//! tiles of M = 16 columns, K = 32 inputs from [`SHIFT`] columns left of a tile on. The order of K is
//! chosen so that the B fragment of a lane is one 16-byte chunk as it lies. The order of M is chosen so
//! that the two rows of a lane are neighbouring outputs. (`transform::row_operand` builds the matching A.)
//! A lane then has a pair of outputs in each of two tiles. It stores them as they are, or exchanges
//! them by two transposes for 4 neighbours.

use crate::half::Half;
use crate::layout::CHUNK;
use crate::product::Product;
use crate::unroll::unroll;
use cuda_std::{global, matrix, warp};

/// Outputs of one product.
pub const UNIT: u32 = 8 * TILE;

/// Columns of half the tiles of a unit.
pub const HALF: u32 = UNIT / 2;

/// Columns of a tile.
const TILE: u32 = 2 * CHUNK;

/// Columns between a window's start and its first output; the most that weights may reach is one
/// less.
pub const SHIFT: u32 = CHUNK;

/// Columns that a lane stores.
pub const STORED: u32 = UNIT / warp::SIZE;

/// First column of the chunk that a lane loads, from the unit's window start: lanes t = 0, 1, 2, 3 of
/// a quad take chunks 0, 2, 1 and 3 of their tile's window.
#[inline(always)]
#[must_use]
pub const fn loaded_column(lane: u32) -> u32 {
    let (tile, pair) = (lane / 4, lane % 4);
    tile * TILE + (pair % 2 * 2 + pair / 2) * CHUNK
}

/// Operand A of each of `STEPS` products, and the metadata, which is that of all of them.
///
/// # Safety
/// In a kernel; `words` holds the words of A of each product, then 1 of metadata for sparse ones, each for 32
/// lanes, which nobody writes.
#[inline(always)]
pub unsafe fn operand<P: Product, const STEPS: usize>(
    words: *const u32,
    lane: u32,
) -> ([P::A; STEPS], u32) {
    let word = |index: usize| {
        // SAFETY: as the caller promises.
        unsafe { global::load_constant(words.add(index * warp::SIZE as usize + lane as usize)) }
    };
    let mut a = [P::A::default(); STEPS];
    unroll!(step < STEPS => a[step] = P::operand(|index| word(P::WORDS * step + index)));
    (a, if P::IS_SPARSE { word(P::WORDS * STEPS) } else { 0 })
}

/// First column of the chunk that a lane loads, from the unit's window start, in products whose column n is tile n / 2,
/// of the second half of the tiles where n is odd:
/// what a warp stores of one of a lane's two tiles is then half a unit in one piece.
#[inline(always)]
#[must_use]
pub const fn loaded_column_of_halves(lane: u32) -> u32 {
    let n = lane / 4;
    loaded_column(lane % 4) + n / 2 * TILE + n % 2 * HALF
}

/// First column of a lane's outputs in such a product; of those in the second half, [`HALF`] farther.
#[inline(always)]
#[must_use]
pub const fn paired_column(lane: u32) -> u32 {
    lane % 4 * TILE + lane / 4 * 2
}

/// The outputs of a product that this lane has, rounded: a pair in each of two tiles.
///
/// # Safety
/// Only in a kernel.
#[inline(always)]
pub unsafe fn pairs<T: Half>(sum: [f32; 4]) -> [u32; 2] {
    // SAFETY: as the caller promises.
    unsafe { [T::pack(sum[0], sum[2]), T::pack(sum[1], sum[3])] }
}

/// The outputs of a unit that this lane stores, rounded: columns [`STORED`]` · lane` and following.
///
/// # Safety
/// All 32 lanes execute it.
#[inline(always)]
pub unsafe fn neighbours<T: Half>(sum: [f32; 4]) -> [u32; 2] {
    // SAFETY: as the caller promises.
    let [even, odd] = unsafe { outputs::<T>(sum) };
    [even & 0xffff | odd << 16, even >> 16 | odd & 0xffff_0000]
}

/// The outputs of a tile in A's other order, `transform::row_operand::transposed_output_of_row`, that this
/// lane stores, rounded: columns [`STORED`]` · lane` and following.
///
/// # Safety
/// All 32 lanes execute it.
#[inline(always)]
pub unsafe fn outputs<T: Half>(sum: [f32; 4]) -> [u32; 2] {
    // SAFETY: as the caller promises.
    unsafe {
        let low = matrix::transpose(T::pack(sum[0], sum[1]));
        [low, matrix::transpose(T::pack(sum[2], sum[3]))]
    }
}

/// Which of a lane's outputs exist, as masks of their two words, if `columns` are left from the first
/// of them to the end of the row. The halo beside the grid must stay zero.
#[inline(always)]
#[must_use]
pub const fn kept(columns: i32) -> [u32; 2] {
    [kept_of_pair(columns), kept_of_pair(columns - 2)]
}

/// Which outputs of one word exist, as a mask of the word, if `columns` are left from the first of them to the end
/// of the row.
#[inline(always)]
#[must_use]
pub const fn kept_of_pair(columns: i32) -> u32 {
    match columns {
        ..=0 => 0,
        1 => 0x0000_ffff,
        2.. => 0xffff_ffff,
    }
}
