// SPDX-License-Identifier: MIT OR Apache-2.0
//! Renews `docs/benchmarks/performance.md` and its charts from recorded results. Needs no GPU.

use crate::performance::{CHART, PAGE, ROOFLINE, generate};
use crate::{Records, renew, root};
use anyhow::Result;
use clap::Args;

/// Renew docs/benchmarks/performance.md and its charts in docs/images from recorded results
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
    renew(root(), [(CHART, report.chart), (ROOFLINE, report.roofline), (PAGE, report.page)])
}
