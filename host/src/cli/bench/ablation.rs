// SPDX-License-Identifier: MIT OR Apache-2.0
//! `host bench STENCIL --ablation`.

use super::BenchArgs;
use crate::bench::ablation::{Ablation, AblationProblem, rungs};
use crate::bench::{BenchError, Origin};
use crate::cli::files::{CommandFiles, Destination};
use crate::cli::interrupt::Signals;
use crate::cli::progress::control;
use crate::cli::stencil_args::named;
use crate::cli::{Failure, print};
use problem::{Dtype, Shape};

/// Columns and rows of a grid that GPUs are busy with, and of one for `--quick`.
const EXTENTS: [usize; 2] = [10_240, 10_240];
const QUICK: [usize; 2] = [250, 260];

/// Time steps; with many divisors, so that whatever number is fused or chained goes into it.
const STEPS: usize = 48;
const QUICK_STEPS: usize = 12;

/// Measures the rungs of a problem, and prints them.
///
/// # Errors
/// No stencil has that name, it has no dense twin, any [`Failure`] of a run; that a result is wrong after the results.
pub fn run(args: &BenchArgs, signals: &Signals, commit: Option<&str>) -> Result<(), Failure> {
    let problem = problem(args)?;
    let rungs = rungs(&problem)?;
    let mut files = CommandFiles::default();
    let json = files.writes_or_prints("--json", args.json.as_deref())?;
    let mut ablation = Ablation::new(problem, Origin::now(commit));
    ablation.measure(&rungs, &control(signals.stop(), args.quiet))?;
    match json {
        Some(Destination::File(file)) => {
            file.write(|to| to.write_all(ablation.json().as_bytes()))?;
            if !args.quiet {
                print(&ablation.table())?;
            }
        }
        Some(Destination::Stdout) => print(&ablation.json())?,
        None if args.quiet => {}
        None => print(&ablation.table())?,
    }
    match ablation.failures() {
        0 => Ok(()),
        failed => Err(BenchError::Failed { failed, of: ablation.rows.len() }.into()),
    }
}

/// What is asked for.
fn problem(args: &BenchArgs) -> Result<AblationProblem, Failure> {
    let stencil = named(args.name.as_deref().unwrap_or_default())?;
    let refuse = |reason: &str| BenchError::NoAblation { reason: reason.into() };
    let dtype = match args.dtype.as_slice() {
        [] => Dtype::F16,
        [dtype] => *dtype,
        _ => return Err(refuse("an ablation measures one --dtype").into()),
    };
    let shape = match &args.size {
        Some(size) => size.parse::<Shape>()?.spread(stencil.dims())?,
        None => Shape::new(if args.quick { &QUICK } else { &EXTENTS })?,
    };
    let steps = args.steps.unwrap_or(if args.quick { QUICK_STEPS } else { STEPS });
    Ok(AblationProblem { stencil, shape, dtype, steps })
}
