// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state of an `mbarrier`.

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
