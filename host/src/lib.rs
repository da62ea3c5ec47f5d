// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stencil computations on sparse tensor cores and CPUs: library and command line.
//!
//! A [`Simulation`] advances a [`Grid`] by a [`Stencil`], or the fields of a [`System`], as many steps at a time as its owner likes;
//! [`run::run`] does all steps of a [`Job`], verifies and times them. Both go through an
//! [`Engine`](engine::Engine).

#[cfg(feature = "cli")]
pub mod bench;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "mpi")]
pub mod processes;
#[cfg(feature = "cli")]
mod signal;

/// The examples of the page, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/reference/rust.md")]
struct Page;

/// The examples of the page on gradients, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/how-to/gradients.md")]
struct GradientsPage;

/// The examples of the page on functions of one's own, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/how-to/own-function.md")]
struct OwnFunctionPage;

pub use compute::{device, engine, families, filter, plan, ranks, report, run};
pub use files::{io, record};
pub use problem::{
    Arithmetic, Boundary, Depth, Dtype, Error, ErrorKind, Grid, Job, Shape, ValueLocation, Values,
};
pub use problem::{bytes, check, control, error, memory, names, observe, values};
pub use problem::{with_dtype, with_values};
pub use systems::{Simulation, System, simulation};
pub use transform::{self, Stencil, Tap, catalogue};
pub use {::problem, systems as system};
