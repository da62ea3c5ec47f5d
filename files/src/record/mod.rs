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

pub use checkpoints::{Checkpoints, Every};
pub use ends::Ends;
pub use film::Film;
pub use finite::Finite;
pub use pattern::{Pattern, PatternError};
pub use recording::{Moment, Recording, Target, Time, Units, Wish};
pub use snapshots::{Snapshots, Waited};
pub use steady::Steady;
pub use written::Written;
