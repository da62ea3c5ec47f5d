// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many values are computed together.

/// Vectors of a block.
pub const VECTORS: usize = 8;
/// Vectors of the last block of a row, if these hold it.
pub const FEW: usize = 4;
/// The most values that a vector holds.
const MOST_LANES: usize = 16;
/// Values behind a row that its last block may read.
pub const BEHIND: usize = VECTORS * MOST_LANES;
/// Vectors before the block that takes them, in which memory is asked for values: processors foresee a row, and not the next
/// one, where the values of several rows are taken by one instruction.
pub const AHEAD: usize = 2 * VECTORS;
/// Bytes of a line of the cache.
pub const LINE: usize = 64;
