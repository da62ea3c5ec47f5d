// SPDX-License-Identifier: MIT OR Apache-2.0
//! The producer warp: segments with their halo, from global memory into the ring.

use super::{LineCut, SEGMENTS};
use crate::fill::{self, StageRows};
use crate::overlap;
use crate::ring::Ring;
use cuda_std::thread;

/// Fills stage after stage.
///
/// # Safety
/// One whole warp of the launch that the kernel's contract describes.
#[inline(always)]
pub(super) unsafe fn load(input: *const f64, cut: &LineCut, mut ring: Ring) {
    // SAFETY: reads special registers; the input is what the launch before writes.
    let (blocks, mut stage) = unsafe {
        overlap::wait_for_previous();
        overlap::start_next();
        (thread::grid_dim_x(), thread::block_idx_x())
    };
    let rows = StageRows { count: SEGMENTS, bytes: cut.row_bytes, start: 0, pitch: cut.pitch };
    while stage < cut.count {
        let source = |segment: u32| {
            let column = cut.start(stage, segment) - cut.halo as i32;
            input.wrapping_offset(column as isize).cast()
        };
        // SAFETY: the ring is set up. Segments with their halo lie in the array, at multiples of 16 bytes.
        unsafe { rows.fill(&ring, source) };
        ring.advance();
        stage += blocks;
    }
    // SAFETY: this warp's last copies have been issued.
    unsafe { fill::finish() };
}
