// SPDX-License-Identifier: MIT OR Apache-2.0
//! A 2D grid in device memory: rows of `pitch` elements with a frame of zeros, the same for input
//! and output, so that rows start at 128-byte lines and every store is aligned.

/// Elements in a chunk: 16 bytes, the unit of a copy to shared memory.
pub const CHUNK: u32 = 8;

/// Columns between a window's start and its first output: half a chunk. A window is two chunks wide
/// and starts where an 8-byte load can; see `docs/decisions/half-chunk-window.md`.
pub const SHIFT: u32 = CHUNK / 2;

/// Zero columns left of column 0: one 128-byte line.
pub const LEFT: u32 = 64;

/// Zero rows above the first and below the last row; at least the largest radius.
pub const HALO_ROWS: u32 = 8;

/// Elements from one row to the next for grids of `nx` columns: whole strips and the chunk that the
/// last window reaches into, rounded up to a 128-byte line.
#[must_use]
pub const fn pitch(nx: u32) -> u32 {
    (LEFT + nx.next_multiple_of(crate::sweep2d::STRIP) + CHUNK).next_multiple_of(64)
}

/// Elements of the whole array.
#[must_use]
pub const fn elements(nx: u32, ny: u32) -> usize {
    pitch(nx) as usize * (ny as usize + 2 * HALO_ROWS as usize)
}

/// Position of grid point (y, x).
#[must_use]
pub const fn position(nx: u32, y: u32, x: u32) -> usize {
    (y as usize + HALO_ROWS as usize) * pitch(nx) as usize + (LEFT + x) as usize
}
