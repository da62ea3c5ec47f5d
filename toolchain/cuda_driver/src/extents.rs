// SPDX-License-Identifier: MIT OR Apache-2.0
//! How large a launch is.

/// The extents of a one-dimensional launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extents {
    /// Blocks of the grid.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
}
