// SPDX-License-Identifier: MIT OR Apache-2.0
//! Renews `docs/benchmarks/criteria.md` and its picture from recorded measurements. Needs no GPU.

use std::path::PathBuf;

use crate::criteria::{MEASUREMENTS, PAGE, PICTURE, generate};
use crate::{renew, root};
use anyhow::Result;
use clap::Args;

/// Renew docs/benchmarks/criteria.md and docs/benchmarks/criteria.svg from recorded measurements of an H200
///
/// Exit codes: 0 done, 1 a file could not be read or written or holds no measurements, 2 bad arguments. What was
/// there stays unless all is right.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Candidates of the planner as gpu-candidates times them, a line each: stencil, shape, dtype, boundary, engine,
    /// kernel, fuse, chain, seconds_per_step; tests/measurements/h200.csv if not given
    #[arg(value_name = "FILE.csv")]
    file: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// What the command cannot do, as its help says.
pub fn run(arguments: Arguments) -> Result<()> {
    let root = root();
    let file = arguments.file.unwrap_or_else(|| root.join(MEASUREMENTS));
    // By its place in the repository, wherever the command was started.
    let known = root.join(MEASUREMENTS);
    let is_known = match (file.canonicalize(), known.canonicalize()) {
        (Ok(file), Ok(known)) => file == known,
        _ => false,
    };
    let name = if is_known { MEASUREMENTS.to_owned() } else { file.display().to_string() };
    let report = generate(root, &file, &name)?;
    renew(root, [(PICTURE, report.picture), (PAGE, report.page)])
}
