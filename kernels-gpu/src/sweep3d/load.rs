// SPDX-License-Identifier: MIT OR Apache-2.0
//! The producer warps: planes of the tile from global memory into the ring. Columns of the halo are not
//! read: they would be 6 % more bytes of a grid of 1024 columns. They are cleared in shared memory, when
//! a stage is used for the first time.

use super::{ELEMENT, LEAD, ROW_BYTES, Segment, Sweep};
use crate::layout::{CHUNK, STRIP};
use crate::overlap;
use crate::ring::Ring;
use core::ops::Range;
use cuda_std::shared::{self, Shared};
use cuda_std::{barrier, copy, warp};

/// Which rows a producer copies: one of so many.
#[derive(Clone, Copy)]
pub(super) struct Share {
    pub producers: u32,
    pub index: u32,
}

/// Copies the input planes of a segment, row by row.
///
/// # Safety
/// One whole warp of the launch that the kernel's contract describes.
#[inline(always)]
pub(super) unsafe fn load<const RADIUS: u32>(
    sweep: &Sweep,
    segment: &Segment,
    mut ring: Ring,
    stages: u32,
    Share { producers, index }: Share,
) {
    let radius = RADIUS as i32;
    let rows = sweep.tile.input_rows(RADIUS);
    let last_row = sweep.ny - 1 + radius;
    // SAFETY: reads a special register; the input is what the launch before writes.
    let lane = unsafe {
        overlap::wait_for_previous();
        overlap::start_next();
        warp::lane_id()
    };
    let row_chunks = segment.strips * (STRIP / CHUNK) + 2;
    // A row's chunks that hold columns of the grid: one left of the tile comes first.
    let behind = 1 + ((sweep.nx - segment.x) as u32).div_ceil(CHUNK);
    let present = Range {
        start: u32::from(segment.x == 0),
        end: if behind < row_chunks { behind } else { row_chunks },
    };
    let bytes = (present.end - present.start) * CHUNK * ELEMENT;
    let first_byte = LEAD + present.start * CHUNK * ELEMENT;
    let x = segment.x + (present.start * CHUNK) as i32 - CHUNK as i32;
    let mut to_clear = if present == (0..row_chunks) { 0 } else { stages };
    let depth = 2 * RADIUS + 1;
    // A lane of each warp has a row, so that each warp issues its share of the copies.
    let first_row = lane * producers + index;
    let mine = (rows - index).div_ceil(producers);
    let mut count = -radius;
    let end = count + (segment.rounds(depth) * depth) as i32;
    while count < end {
        let z = sweep.plane(segment, count);
        // SAFETY: the ring is set up; the announcement comes before the copies, and after what
        // the lanes clear, so that it hands that on too.
        unsafe {
            ring.wait_empty();
            if to_clear > 0 {
                let mut row = first_row;
                while row < rows {
                    let start = ring.data().offset(row * ROW_BYTES + LEAD);
                    clear(start, 0..present.start);
                    clear(start, present.end..row_chunks);
                    row += warp::SIZE * producers;
                }
                copy::fence_shared();
                warp::sync();
                to_clear -= 1;
            }
            if lane == 0 {
                barrier::arrive_expect(ring.full(), mine * bytes);
            }
            warp::sync();
        }
        let mut row = first_row;
        while row < rows {
            let y = segment.y - radius + row as i32;
            let y = if y < last_row { y } else { last_row };
            // SAFETY: `bytes` and all addresses are multiples of 16 because chunks, pitch and
            // origins are; planes up to the last round's, rows up to `last_row` and columns up to
            // the last chunk that the grid reaches into lie in the array.
            unsafe {
                let from = sweep.input.offset(sweep.offset(z, y, x));
                let to = ring.data().offset(row * ROW_BYTES + first_byte);
                copy::bulk(to, from.cast(), bytes, ring.full());
            }
            row += warp::SIZE * producers;
        }
        count += 1;
        ring.advance();
    }
}

/// Puts zeros into some chunks of a row.
///
/// # Safety
/// They lie in a stage that is this warp's to fill.
#[inline(always)]
unsafe fn clear(row: Shared, chunks: Range<u32>) {
    let mut chunk = chunks.start;
    while chunk < chunks.end {
        // SAFETY: as the caller promises; chunks are 16 bytes and aligned.
        unsafe { shared::store_v4(row.offset(chunk * CHUNK * ELEMENT), [0; 4]) };
        chunk += 1;
    }
}
