// SPDX-License-Identifier: MIT OR Apache-2.0
//! A weighted sum of one field as a task: a stencil, or a system that is one.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::request;
use crate::cli::computation_args::ComputationArgs;
use crate::cli::files::CommandFiles;
use crate::cli::resumed::ResumedRun;
use crate::cli::start::StartFrom;
use crate::cli::system;
use crate::cli::task::{Compute, Task};
use crate::cli::{Failure, input, remedy, warn};
use compute::run::{Options, checked};
use files::io::checkpoint::CheckpointProblem;
use files::record::{CheckpointInterval, Units};
use problem::Job;
use problem::control::Control;
use problem::observe::ComputedBy;
use systems::System;

/// A sum, and what is said of it.
pub struct SumRun {
    pub job: Job,
    /// From what.
    pub given: StartFrom,
    /// What checkpoints say of it.
    pub problem: CheckpointProblem,
    /// The name of the field in files.
    pub field: String,
    pub units: Units,
    /// What is said before it is computed.
    pub warnings: Vec<String>,
    /// Of random values to start with.
    pub seed: Option<u64>,
    /// The files that weights and values are read from.
    pub read: [Option<PathBuf>; 2],
    /// Steps that an earlier run took, and by what.
    pub done: usize,
    pub by: Option<ComputedBy>,
}

impl SumRun {
    /// The task to compute it, by ranks that share the grid or not.
    ///
    /// # Errors
    /// A file to start from cannot be read, or holds a value that is not finite.
    pub fn task(self, args: &ComputationArgs, shared: bool) -> Result<Task<'_>, Failure> {
        let Self { job, given, problem, field, units, mut warnings, seed, read, done, by } = self;
        warnings.extend(given.growth(&job)?.map(|growth| growth.to_string()));
        let (fields, began) = (vec![field.clone()], by.clone());
        let compute: Compute = Box::new(move |around, watching| {
            let start = given.start(shared);
            let options = options(args, around.control);
            let options = Options { done, sharing: around.sharing, field: Some(field), ..options };
            let planned = request::plan(job, options, start, began.as_ref())?;
            let stale = planned.stale_speeds().map(remedy::of_stale_speeds);
            let reduced = planned.reduced().map(str::to_owned);
            reduced.into_iter().chain(stale).for_each(|text| warn(&text));
            let computed = match given {
                StartFrom::Grid(grid) => {
                    planned.compute_observed(Cow::Owned(grid), &mut watching.observers())
                }
                StartFrom::Source(initial) => {
                    planned.compute_from(&initial, &mut watching.observers())
                }
            };
            Ok(Box::new(computed.map_err(|error| watching.explain(error))?))
        });
        let (receivers, totals) = (Vec::new(), Vec::new());
        Ok(Task {
            problem,
            fields,
            units,
            receivers,
            totals,
            warnings,
            seed,
            read,
            done,
            by,
            compute,
        })
    }

    /// A system that is this job, from the values that it starts with or those of a file.
    ///
    /// # Errors
    /// Any [`Failure`] of reading a file.
    pub fn of_system(
        system: &System,
        job: Job,
        args: &ComputationArgs,
        files: &mut CommandFiles,
        shared: bool,
    ) -> Result<Self, Failure> {
        let named = args.input.as_deref().map(|given| system::named(system, given)).transpose()?;
        let from = named.as_ref().and_then(|all| all.first()).map(|(_, path)| path.as_path());
        files.reads("--input", from)?;
        let job = checked(job)?;
        let problem = system.checkpointed();
        let mut resumed = ResumedRun::of(&problem, &args.files, files, shared)?;
        let done = resumed.as_ref().map_or(0, ResumedRun::steps);
        let by = resumed.as_ref().map(ResumedRun::by);
        let given = match (&mut resumed, from) {
            (Some(resumed), _) => resumed.start(),
            (None, Some(path)) => StartFrom::Grid(input::of_system(path, job.shape, job.dtype)?),
            (None, None) => StartFrom::Grid(systems::sum::start(system, &[])?),
        };
        let read = [None, from.map(Path::to_owned).or(args.files.resume.clone())];
        Ok(Self {
            job,
            given,
            problem,
            field: system.fields().next().unwrap_or_default().to_owned(),
            units: system.units(),
            warnings: system.warnings().to_vec(),
            seed: None,
            read,
            done,
            by,
        })
    }
}

fn options(args: &ComputationArgs, control: Control) -> Options {
    let &ComputationArgs { engine, verify, ref files, .. } = args;
    // Whoever looks at every step asks for single ones.
    let looks = [files.every, files.check_finite, files.until.as_ref().map(|until| until.every)];
    let kept = match files.checkpoint_every {
        Some(CheckpointInterval::Steps(steps)) => Some(steps),
        _ => None,
    };
    let portion = looks.into_iter().chain([kept]).flatten().min();
    // A jump over all steps leaves nothing to look at in between.
    let stops = portion.is_none() && files.checkpoint.is_some();
    let resumable = files.checkpoint.is_some();
    let more = Options { engine, verify, time: args.measured(), control, ..Options::default() };
    Options { stops, portion, resumable, ..more }
}
