// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mistakes that a test can plant in the kernels, to see that the tests catch them. Without the
//! feature `faults`, and always on the GPU, [`planted`] is a constant `false`.

/// A mistake in the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The metadata of rows g and g + 8 changes places.
    MetadataHalf,
    /// The two chunks of a window change places.
    SwappedChunks,
    /// Input rows start one too low.
    Halo,
    /// Copies start one column too far left.
    UnalignedCopy,
    /// Consumers do not wait for a stage to be filled.
    NoFullWait,
    /// The producer does not wait for a stage to be empty.
    NoEmptyWait,
    /// Consumers wait for the other parity.
    Parity,
    /// A warp leaves a stage before all of its lanes have read it.
    NoWarpSync,
    /// Every lane leaves a stage, not one for its warp.
    EveryLaneReleases,
    /// The producer announces no bytes.
    NoAnnouncement,
    /// Threads do not wait for the barriers to be set up.
    NoBlockSync,
}

/// Whether a mistake is planted.
#[cfg(not(all(feature = "faults", not(target_arch = "nvptx64"))))]
#[inline(always)]
#[must_use]
pub const fn planted(_: Fault) -> bool {
    false
}

#[cfg(all(feature = "faults", not(target_arch = "nvptx64")))]
mod plant {
    use super::Fault;
    use std::cell::Cell;

    thread_local!(static PLANTED: Cell<Option<Fault>> = const { Cell::new(None) });

    /// Whether a mistake is planted.
    #[must_use]
    pub fn planted(fault: Fault) -> bool {
        PLANTED.get() == Some(fault)
    }

    /// Runs something with a mistake planted in the kernels that this OS thread emulates.
    pub fn with<T>(fault: Fault, run: impl FnOnce() -> T) -> T {
        PLANTED.set(Some(fault));
        let result = run();
        PLANTED.set(None);
        result
    }
}

#[cfg(all(feature = "faults", not(target_arch = "nvptx64")))]
pub use plant::{planted, with};
