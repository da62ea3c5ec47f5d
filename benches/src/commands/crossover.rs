// SPDX-License-Identifier: MIT OR Apache-2.0
//! Renews `docs/benchmarks/crossover.md` and its picture from recorded results. Needs no GPU.

use crate::crossover::{PAGE, PICTURE, generate};
use crate::{Records, renew, root};
use anyhow::Result;
use clap::Args;

/// Renew docs/benchmarks/crossover.md and docs/benchmarks/crossover.svg from recorded results
///
/// Exit codes: 0 done, 1 a file could not be read or written or does not fit, 2 bad arguments. What was
/// there stays unless all is right.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    records: Records,
}

/// Runs the command.
///
/// # Errors
/// What the command cannot do, as its help says.
pub fn run(arguments: Arguments) -> Result<()> {
    let report = generate(root(), arguments.records.given())?;
    renew(root(), [(PICTURE, report.picture), (PAGE, report.page)])
}
