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
    /// Lanes leave a stage before they have read it.
    EarlyRelease,
    /// One lane leaves a stage for its warp.
    OneLaneReleases,
    /// The producer announces no bytes; on sm_80 it does not arrive.
    NoAnnouncement,
    /// The producer returns while its copies are under way; on sm_80 only.
    NoFinish,
    /// Threads do not wait for the barriers to be set up.
    NoBlockSync,
    /// Warps multiply before the others have written their points.
    NoSyncOfPoints,
    /// A kernel does not wait for the launch that writes its input.
    NoWaitForPrevious,
    /// Threads that store do not wait for the launch that reads what they overwrite.
    NoWaitBeforeStores,
    /// A kernel waits for the launch before, and lets the next one start, when it has done all else.
    LateWait,
    /// No proxy fence comes after stores that the copy engine reads.
    NoFenceOfStores,
    /// No proxy fence comes after the zeros that copies overwrite.
    NoFenceOfZeros,
    /// No proxy fence comes before copies of what the step before has stored.
    NoFenceOfSteps,
    /// A warp publishes a stage before all of its lanes have written it.
    NoSyncBeforePublish,
    /// A tile's producer does not wait for its neighbours in the step before.
    NoWaitForRows,
    /// The signaller does not count finished tiles.
    NoCount,
    /// The signaller counts tiles before they are finished.
    EarlyCount,
    /// A stage is given back before the copies to global memory have read it.
    NoWaitStoresRead,
    /// A launch of chained sweeps writes the points of the rim, too.
    WholeGrid,
    /// A rim may end before the launch beside it.
    NoWaitAtEnd,
    /// Columns beyond the grid count between the steps of temporal blocking.
    ColumnsBeyond,
    /// Rows of a 2D grid, or planes of a 3D one, beyond it count between the steps of temporal blocking.
    RowsBeyond,
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
        /// Also when `run` panics.
        struct FaultGuard;
        impl Drop for FaultGuard {
            fn drop(&mut self) {
                PLANTED.set(None);
            }
        }
        PLANTED.set(Some(fault));
        let _remove = FaultGuard;
        run()
    }
}

#[cfg(all(feature = "faults", not(target_arch = "nvptx64")))]
pub use plant::{planted, with};
