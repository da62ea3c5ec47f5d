// SPDX-License-Identifier: MIT OR Apache-2.0
//! The CPU engine beside Devito, in turns: what the command `devito` does.

mod comparison;
mod environment;
mod peer;

pub use comparison::{Case, Comparison, compare, distance};
pub use environment::Environment;

/// The release of Devito that it is compared with.
pub const RELEASE: &str = "4.8.23";
