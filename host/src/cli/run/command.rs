// SPDX-License-Identifier: MIT OR Apache-2.0
//! A computation with its options, whatever it computes.

use super::finish;
use crate::cli::computation_args::ComputationArgs;
use crate::cli::files::CommandFiles;
use crate::cli::progress::control;
use crate::cli::task::{Surroundings, Task};
use crate::cli::watching::RunObservers;
use crate::cli::{Failure, warn};
use compute::ranks::engine::Ranks;
use files::io::checkpoint::CheckpointProblem;
use problem::control::Stop;

/// A computation with its options.
#[derive(Clone, Copy)]
pub struct Command<'a>(pub &'a ComputationArgs);

impl Command<'_> {
    /// Computes, writes what is asked for, verifies, measures and reports.
    ///
    /// # Errors
    /// Any [`Failure`]. Files are written unless the verification fails, the report also then.
    pub fn run(
        self,
        task: Task,
        mut files: CommandFiles,
        processes: Option<Ranks>,
        stop: Stop,
    ) -> Result<(), Failure> {
        let args = self.0;
        let Task { problem, fields, units, receivers, totals, warnings, seed, read, .. } = task;
        let (done, by, compute) = (task.done, task.by, task.compute);
        let CheckpointProblem { shape, dtype, steps, .. } = problem;
        let outputs =
            args.files.outputs(shape, dtype.stored(), &fields, units, steps, &mut files)?;
        let records = files.writes("--receivers", args.receivers.as_deref())?;
        let series = args.series.as_ref().map(|series| series.path.as_path());
        let series = files.writes("--series", series)?;
        let json = files.writes_or_prints("--json", args.json.as_deref())?;
        let mut watching =
            RunObservers::new(&args.files, outputs.as_ref(), &problem, done, by, &mut files)?;
        // Also with --quiet: what they tell of makes a result worthless, though nothing fails.
        warnings.iter().for_each(|warning| warn(warning));
        let sharing = args.sharing.sharing(args.engine, shape.dims(), processes)?;
        let control = control(stop, args.quiet);
        let mut completed = compute(Surroundings { sharing, control }, &mut watching)?;
        let told = finish::FinishOptions {
            quiet: args.quiet,
            seed,
            read,
            receivers: &receivers,
            totals: &totals,
        };
        let written = finish::WrittenFiles { outputs: outputs.as_ref(), records, series, json };
        Ok(finish::finish(&args.files, told, &mut *completed, written, watching)?)
    }
}
