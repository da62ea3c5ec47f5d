// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches, as a device is given them.

use cuda_driver::{AnyCall, Extents};

/// When a launch may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartOrder {
    /// When the launch before it has ended.
    After,
    /// As soon as the launch before it lets it start. The kernel waits for that one before it touches what
    /// that one touches, and some thread of it does in any case, so that its end implies that of the
    /// launch before.
    Overlapping,
    /// As soon as the launch before it lets it start, for a kernel whose blocks wait for each other: they all run at once,
    /// or the device refuses. The kernel waits for the launch before, as one of [`Self::Overlapping`] does.
    Cooperative,
}

/// A kernel with its parameters, and how it is spread over the device.
pub struct Launch<'a> {
    /// The kernel with its parameters.
    pub call: &'a dyn AnyCall,
    /// Blocks, their threads and their shared memory.
    pub extents: Extents,
    /// When it may start.
    pub order: StartOrder,
}
