// SPDX-License-Identifier: MIT OR Apache-2.0
//! The producer warp: planes of a tile, with their halo, from global memory into the ring.

use super::element::FactorType;
use super::{Derived, Gather, REACH, lead, least, tile};
use crate::fill::{self, StageRows};
use crate::overlap;
use crate::ring::Ring;
use cuda_std::thread;

/// Copies the input planes of segment after segment.
///
/// # Safety
/// One whole warp of the launch that the kernel's contract describes.
#[inline(always)]
pub(super) unsafe fn load<E: FactorType, const ROWS: u32>(
    input: *const u8,
    launch: &Gather,
    mut ring: Ring,
) {
    // SAFETY: reads special registers; the input is what the launch before writes.
    let (blocks, mut index) = unsafe {
        overlap::wait_for_previous();
        overlap::start_next();
        (thread::grid_dim_x(), thread::block_idx_x())
    };
    let [_, ny, nx] = launch.extents;
    let Derived { unit: [rows, columns], segments: [deep, down, across], .. } = launch.derived;
    let [first_plane, first_row] = launch.first;
    let last_row = (ny - 1 + launch.rows_below) as i32;
    let x_bytes = |x: u32| (x as isize - REACH as isize) * E::BYTES as isize;
    while index < deep * down * across {
        let segment = launch.at(index);
        let [down, across] = segment.units;
        // In 1D a unit's last groups may lie behind the array.
        let groups = (nx - segment.x).next_multiple_of(8 * tile::<ROWS>()[1]);
        let filled = StageRows {
            count: down * rows + launch.halo_rows,
            bytes: (least(across * columns, groups) + 2 * REACH) * E::BYTES,
            start: lead(E::BYTES),
            pitch: launch.row_bytes,
        };
        let mut z = segment.z as i32 + first_plane;
        let mut left = segment.planes + launch.window - 1;
        while left > 0 {
            let source = |row: u32| {
                let y = (segment.y + row) as i32 + first_row;
                let y = if y < last_row { y } else { last_row };
                let start = launch.offset(z, y, 0) * E::BYTES as isize + x_bytes(segment.x);
                input.wrapping_offset(start)
            };
            // SAFETY: the ring is set up; lengths and addresses are multiples of 16 because units, pitches
            // and origins are. Planes up to the window's last, rows up to `last_row` and columns up to the
            // halo of the last unit that holds points lie in the array.
            unsafe { filled.fill(&ring, source) };
            ring.advance();
            z += 1;
            left -= 1;
        }
        index += blocks;
    }
    // SAFETY: this warp's last copies have been issued.
    unsafe { fill::finish() };
}
