// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is written of a computation: its end, and what it comes to on the way.

mod checkpoints;
mod ends;
mod film;
mod finite;
mod index;
mod pattern;
mod recording;
mod snapshots;
mod steady;
#[cfg(test)]
mod tests;
mod writer;
mod written;

pub use checkpoints::{CheckpointInterval, Checkpoints};
pub use ends::TotalsEnd;
pub use film::Film;
pub use finite::FiniteEnd;
pub use pattern::{Pattern, PatternError};
pub use recording::{OutputFields, Recording, RecordingClock, RecordingRequest, StepTime, Units};
pub use snapshots::{SnapshotCost, Snapshots};
pub use steady::SteadyEnd;
pub use written::WriteCounter;
