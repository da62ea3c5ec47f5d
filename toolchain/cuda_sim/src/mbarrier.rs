// SPDX-License-Identifier: MIT OR Apache-2.0
//! The states of barriers: of an `mbarrier`, and of one that some warps meet at.

use crate::clock::{Agent, Clock};
use crate::shadow::Event;

/// A barrier in shared memory.
pub(crate) struct Barrier {
    /// Arrivals in each phase.
    pub arrivals: u32,
    /// Arrivals still missing in this phase.
    pub missing: u32,
    /// Announced bytes that have not come, less bytes that came before their announcement.
    pub bytes: i64,
    /// Completed phases: also the index of the phase under way.
    pub phase: u32,
    /// The copies that complete here: those of phase p in epoch p + 1.
    pub agent: Agent,
    /// What the arrivals of the phase under way release.
    pub gathered: Clock,
    /// What the completed phases release.
    pub released: Clock,
    pub init: Event,
    /// Whether the copy engine sees the barrier.
    pub fenced: bool,
}

impl Barrier {
    /// What one who waits for a phase waits for.
    pub fn describe(&self, at: u32, phase: i64) -> String {
        let Self { arrivals, missing, bytes, .. } = self;
        format!(
            "phase {phase} of the barrier at byte {at} of shared memory, which lacks {missing} of \
             {arrivals} arrivals and {bytes} bytes"
        )
    }
}

/// What has come to a barrier of some warps since it last opened.
#[derive(Default)]
pub(crate) struct NamedBarrier {
    /// Threads that it waits for, and those that have come.
    pub expected: u32,
    pub arrived: u32,
    /// The warps that wait.
    pub waiting: Vec<usize>,
    pub gathered: Clock,
}

impl NamedBarrier {
    /// What a thread at it waits for.
    pub fn describe(&self, number: u32) -> String {
        let Self { expected, arrived, .. } = self;
        format!("barrier {number}, at which {arrived} of {expected} threads have arrived")
    }
}
