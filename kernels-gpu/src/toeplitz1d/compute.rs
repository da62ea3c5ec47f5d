// SPDX-License-Identifier: MIT OR Apache-2.0
//! The warps that multiply: from the ring to global memory.

use super::{BYTES, LineCut, TILE, TILES, WARP_COLUMNS};
use crate::dense_f64::{A, B, C, load_a, multiply_add};
use crate::element::{from_words, to_words};
use crate::overlap;
use crate::ring::Ring;
use crate::unroll::unroll;
use cuda_std::shared::Shared;
use cuda_std::{global, shared, thread, warp};

/// Fragments of B that are loaded while others are multiplied.
const AHEAD: usize = 1;

/// Fragments of B that a lane holds.
const HELD: usize = AHEAD + 1;

/// Computes a warp's columns of stage after stage.
///
/// # Safety
/// One whole warp of the launch that the kernel's contract describes; `warp` of those that multiply.
#[inline(always)]
pub(super) unsafe fn compute<const K: usize>(
    output: *mut f64,
    operand: *const u32,
    cut: &LineCut,
    mut ring: Ring,
    warp: u32,
) {
    // SAFETY: reads special registers.
    let (lane, blocks, mut stage) = (warp::lane_id(), thread::grid_dim_x(), thread::block_idx_x());
    let mut a = [[0.0; 8]; K];
    // SAFETY: the operand has so many products, which no launch writes.
    unroll!(k < K => a[k] = unsafe { load_a(operand, k, lane) });
    let (group, pair) = (lane / 4, lane % 4);
    let from = group * cut.pitch + warp * WARP_COLUMNS * BYTES + pair * 2 * BYTES;
    // SAFETY: the output is what the launch before reads.
    unsafe { overlap::wait_before_stores() };
    while stage < cut.count {
        let mut b = [[0.0; 4]; HELD];
        // SAFETY: the ring is set up. All lanes come here, and have read the stage when it is left; no other lane
        // stores what this one does.
        unsafe {
            ring.wait_full();
            let at = ring.data().offset(from);
            unroll!(k < AHEAD => b[k] = load_b(at, k));
            let mut c = [[0.0; 4]; TILES];
            unroll!(k < TILES + K - 1 => {
                if k + AHEAD < TILES + K - 1 {
                    b[(k + AHEAD) % HELD] = load_b(at, k + AHEAD);
                }
                add(&a, b[k % HELD], k, &mut c);
            });
            warp::sync();
            if lane == 0 {
                ring.release();
            }
            ring.advance();
            let line = |i| Line::new(output, cut, stage, 2 * pair + i, warp, group);
            let to = [line(0), line(1)];
            unroll!(tile < TILES => store(to, tile, c[tile]));
        }
        stage += blocks;
    }
}

/// Fragment `k` of B, of which `at` is this lane's place in the first.
///
/// # Safety
/// The stage is filled.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
unsafe fn load_b(at: Shared, k: usize) -> B {
    let at = at.offset(k as u32 * TILE * BYTES);
    // SAFETY: as the caller promises; segments and pairs of columns are aligned to 16 bytes.
    let [a, b, c, d] = unsafe { shared::load_v4(at) };
    // SAFETY: as the caller promises; this is 8 columns further on, aligned to 16 bytes, too.
    let [e, f, g, h] = unsafe { shared::load_v4(at.offset(8 * BYTES)) };
    [[a, b], [c, d], [e, f], [g, h]].map(from_words)
}

/// Adds fragment `k` of B to all tiles that it is an input of: what product `k` multiplies for the first tile,
/// product `k - 1` multiplies for the second. So no product waits for the one before it.
///
/// # Safety
/// The whole warp calls it.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
unsafe fn add<const K: usize>(a: &[A; K], b: B, k: usize, c: &mut [C; TILES]) {
    unroll!(tile < TILES => {
        if tile <= k && k - tile < K {
            // SAFETY: all lanes execute it.
            c[tile] = unsafe { multiply_add(a[k - tile], b, c[tile]) };
        }
    });
}

/// Where a lane stores its outputs of a segment.
#[derive(Clone, Copy)]
struct Line {
    /// Where the outputs of the first tile go.
    at: *mut f64,
    /// Their column, counted from the first that the segment owns.
    column: u32,
    /// Columns that it owns of the grid.
    own: u32,
}

impl Line {
    #[inline(always)]
    fn new(
        output: *mut f64,
        cut: &LineCut,
        stage: u32,
        segment: u32,
        warp: u32,
        group: u32,
    ) -> Self {
        let own = cut.own(stage, segment);
        let left = cut.nx as i32 - own;
        let column = cut.start(stage, segment) + (warp * WARP_COLUMNS + 2 * group) as i32;
        Self {
            at: output.wrapping_offset(column as isize),
            // Others' columns are very large numbers.
            column: (column - own) as u32,
            own: if left > 0 { left as u32 } else { 0 },
        }
    }
}

/// Stores a tile's outputs, as far as the segments own them; both start at even columns.
///
/// # Safety
/// The columns that the segments own of the grid are valid, and no other lane stores them.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
unsafe fn store(to: [Line; 2], tile: usize, c: C) {
    let store = |line: Line, first: f64, second: f64| {
        let columns = tile as u32 * TILE;
        let (at, column) =
            (line.at.wrapping_add(columns as usize), line.column.wrapping_add(columns));
        let [[a, b], [c, d]] = [first, second].map(to_words);
        // SAFETY: as the caller promises; column 0 is aligned to 16 bytes, and columns are even.
        unsafe {
            if column.wrapping_add(1) < line.own {
                global::store_v4(at.cast(), [a, b, c, d]);
            } else if column < line.own {
                global::store_v2(at.cast(), [a, b]);
            }
        }
    };
    store(to[0], c[0], c[2]);
    store(to[1], c[1], c[3]);
}
