// SPDX-License-Identifier: MIT OR Apache-2.0
//! A 2D grid in device memory: rows of `pitch` elements with a frame of zeros.
//!
//! Two buffers take turns as input and output. Their origins differ by half a chunk
//! ([`SHIFT`] = 4 columns): a window that starts 4 columns left of its outputs starts at a 16-byte
//! boundary in one buffer when the outputs do so in the other. So every load and every store is
//! aligned, in both directions, and the frame stays zero. See `docs/decisions/half-chunk-shift.md`.

/// Elements in a chunk: the 16 bytes of one aligned shared-memory load.
pub const CHUNK: u32 = 8;

/// Columns between a window's start and its first output, and between the buffers' origins.
pub const SHIFT: u32 = CHUNK / 2;

/// Zero columns left of column 0 in the first buffer: one 128-byte line.
pub const LEFT: u32 = 64;

/// Zero rows above the first and below the last row; at least the largest radius.
pub const HALO_ROWS: u32 = 8;

/// Array column of grid column 0 in buffer 0 or 1.
#[must_use]
pub const fn origin(buffer: usize) -> u32 {
    if buffer == 0 { LEFT } else { LEFT + SHIFT }
}

/// Grid column of the first output of a sweep that writes buffer 0 or 1: where a chunk of that
/// buffer starts.
#[must_use]
pub const fn first_column(output_buffer: usize) -> i32 {
    if output_buffer == 0 { 0 } else { -(SHIFT as i32) }
}

/// Elements from one row to the next for grids of `nx` columns: room for the widest window that
/// begins in the last strip, rounded up to a 128-byte line.
#[must_use]
pub const fn pitch(nx: u32) -> u32 {
    (LEFT + SHIFT + nx + crate::sweep2d::STRIP + 2 * CHUNK).next_multiple_of(64)
}

/// Elements of the whole array.
#[must_use]
pub const fn elements(nx: u32, ny: u32) -> usize {
    pitch(nx) as usize * (ny as usize + 2 * HALO_ROWS as usize)
}

/// Position of grid point (y, x) in buffer 0 or 1.
#[must_use]
pub const fn position(buffer: usize, nx: u32, y: u32, x: u32) -> usize {
    (y as usize + HALO_ROWS as usize) * pitch(nx) as usize + (origin(buffer) + x) as usize
}
