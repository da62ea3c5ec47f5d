// SPDX-License-Identifier: MIT OR Apache-2.0
//! Renews `docs/scaling.md` and its picture. Needs no GPU.

use anyhow::Result;
use benches::scaling::{PAGE, PICTURE, generate};
use benches::{renew, root};
use clap::Parser;

/// Renew docs/scaling.md and docs/scaling.svg from the model and tests/measurements/scaling-h200.csv
///
/// Exit codes: 0 done, 1 a file could not be read or written or holds no measurements, 2 bad arguments. What was
/// there stays unless all is right.
#[derive(Parser)]
struct Arguments {}

fn main() -> Result<()> {
    let Arguments {} = Arguments::parse();
    let report = generate(root())?;
    renew(root(), [(PICTURE, report.picture), (PAGE, report.page)])
}
