// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stencil computations on sparse tensor cores and CPUs: library and command line.
//!
//! A [`Simulation`] advances a [`Grid`] by a [`Stencil`], as many steps at a time as its owner likes;
//! [`run::run`] does all steps of a [`Job`](engine::Job), verifies and times them. Both go through an
//! [`Engine`](engine::Engine).

pub mod arithmetic;
pub mod bench;
pub mod boundary;
pub mod bytes;
pub mod cli;
pub mod control;
pub mod device;
pub mod engine;
pub mod error;
pub mod families;
pub mod grid;
pub mod growth;
pub mod io;
pub mod job;
pub mod memory;
pub mod names;
mod near;
pub mod plan;
pub mod reference;
pub mod region;
pub mod report;
pub mod run;
pub mod sample;
pub mod seams;
pub mod shape;
pub mod simulation;
pub mod values;
pub mod verify;

/// The examples of the page, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/library.md")]
struct Page;

pub use arithmetic::Arithmetic;
pub use boundary::Boundary;
pub use error::{Error, ErrorKind, Holder};
pub use grid::Grid;
pub use job::{Depth, Job};
pub use shape::Shape;
pub use simulation::Simulation;
pub use transform::{Stencil, catalogue};
pub use values::{Dtype, Values};
