// SPDX-License-Identifier: MIT OR Apache-2.0
//! Renews `docs/benchmarks/scaling.md` and its picture. Needs no GPU.

use crate::scaling::{PAGE, PICTURE, generate};
use crate::{renew, root};
use anyhow::Result;
use clap::Args;

/// Renew docs/benchmarks/scaling.md and docs/benchmarks/scaling.svg from the model and tests/measurements/scaling-h200.csv
///
/// Exit codes: 0 done, 1 a file could not be read or written or holds no measurements, 2 bad arguments. What was
/// there stays unless all is right.
#[derive(Args, Debug)]
pub struct Arguments {}

/// Runs the command.
///
/// # Errors
/// What the command cannot do, as its help says.
pub fn run(arguments: Arguments) -> Result<()> {
    let Arguments {} = arguments;
    let report = generate(root())?;
    renew(root(), [(PICTURE, report.picture), (PAGE, report.page)])
}
