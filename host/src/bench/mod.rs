// SPDX-License-Identifier: MIT OR Apache-2.0
//! The benchmark: the papers' workloads and some systems of fields in every element type and mode, each result verified in the
//! run that gives its speed, and compared with an earlier benchmark.
//!
//! [`cases`] less what a [`Selection`] leaves out are measured by [`measure()`] into [`Results`], which
//! [`table`], [`csv`] and [`json`] render, and [`compare()`] sets beside older ones.

pub mod ablation;
mod case;
pub mod chart;
mod compare;
pub mod csv;
mod error;
pub mod json;
mod measure;
mod origin;
mod record;
mod regret;
mod row;
mod system;
pub mod table;
mod workload;

pub use case::{BenchCase, DepthMode, Selection, cases};
pub use compare::{CasePair, Change, Comparison, compare};
pub use error::BenchError;
pub use measure::measure;
pub use origin::Origin;
pub use row::{Measurement, Outcome, Results, Row};
pub use workload::{ProblemKind, Workload};
