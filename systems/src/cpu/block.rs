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
