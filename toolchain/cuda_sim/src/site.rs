// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a kernel does something.

use crate::source::SourceLine;
use std::fmt;

/// A lane at a line of the kernel's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// Index of the block in the grid.
    pub block: u32,
    /// Index of the warp in the block.
    pub warp: u32,
    /// Index of the lane in the warp.
    pub lane: u32,
    /// The call of the device function, or the line of the instruction.
    pub location: SourceLine,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { block, warp, lane, location } = self;
        write!(f, "block {block}, warp {warp}, lane {lane}, at {location}")
    }
}
