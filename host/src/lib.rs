// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stencil computations on sparse tensor cores and CPUs: library and command line.
//!
//! A [`Simulation`] advances a [`Grid`] by a [`Stencil`], as many steps at a time as its owner likes;
//! [`run::run`] does all steps of a [`Job`], verifies and times them. Both go through an
//! [`Engine`](engine::Engine).

pub mod bench;
pub mod bytes;
pub mod check;
pub mod cli;
pub mod control;
pub mod device;
pub mod engine;
pub mod error;
pub mod families;
pub mod io;
pub mod memory;
pub mod names;
mod near;
pub mod observe;
pub mod plan;
pub mod problem;
pub mod ranks;
pub mod record;
pub mod report;
pub mod run;
pub mod simulation;
pub mod system;
pub mod values;

/// The examples of the page, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/library.md")]
struct Page;

/// Likewise.
#[cfg(doctest)]
#[doc = include_str!("../../docs/systems.md")]
struct SystemsPage;

pub use error::{Error, ErrorKind, Holder};
pub use problem::{Arithmetic, Boundary, Depth, Grid, Job, Shape};
pub use simulation::Simulation;
pub use system::{System, SystemSimulation};
pub use transform::{self, Stencil, Tap, catalogue};
pub use values::{Dtype, Values};
