// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is written of a computation: its end, and what it comes to on the way.

mod pattern;
mod recording;

pub use pattern::{Pattern, PatternError};
pub use recording::{Recording, Target, Wish};
