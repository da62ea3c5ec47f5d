// SPDX-License-Identifier: MIT OR Apache-2.0
//! A command that computes a job, whatever it was read from: a stencil's name, its weights, or a system that is a stencil.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::finish;
use super::request::{self, Given, Resumed};
use crate::cli::file_args::FileArgs;
use crate::cli::files::CommandFiles;
use crate::cli::input;
use crate::cli::progress::control;
use crate::cli::sharing::SharingArgs;
use crate::cli::system::{self, SystemArgs};
use crate::cli::watching::{self, Problem, Watching};
use crate::cli::{Failure, remedy, warn};
use compute::engine::EngineRequest;
use compute::ranks::engine::Ranks;
use compute::run::{Options, Time, checked};
use files::record::{Every, Units};
use problem::check::verify::Verify;
use problem::control::Stop;
use problem::observe::By;
use problem::{Depth, Job};
use systems::System;

/// How a command computes, and what it does with the result.
#[derive(Clone, Copy)]
pub struct Command<'a> {
    pub engine: EngineRequest,
    pub verify: Option<Verify>,
    pub time: Time,
    pub json: Option<&'a Path>,
    pub quiet: bool,
    pub sharing: &'a SharingArgs,
    pub files: &'a FileArgs,
}

/// What a command computes.
pub struct Task {
    pub job: Job,
    /// From what.
    pub given: Given,
    /// What checkpoints say of it.
    pub problem: Problem,
    /// The name of the field in files.
    pub field: String,
    pub units: Units,
    /// What the stencil is made for, where that is not what is asked for.
    pub misuse: Option<String>,
    /// Of random values to start with.
    pub seed: Option<u64>,
    /// The files that weights and values are read from.
    pub read: [Option<PathBuf>; 2],
    /// Steps that an earlier run took, and by what.
    pub done: usize,
    pub by: Option<By>,
    /// Whether ranks share the grid.
    pub shared: bool,
}

impl<'a> Command<'a> {
    /// The command that computes a system.
    pub fn of(args: &'a SystemArgs) -> Self {
        let &SystemArgs { engine, verify, time, quiet, .. } = args;
        let (json, sharing, files) = (args.json.as_deref(), &args.sharing, &args.files);
        Self { engine, verify, time, json, quiet, sharing, files }
    }

    /// Computes a system that is this job, from the values that it starts with or those of a file.
    ///
    /// # Errors
    /// Any [`Failure`], as [`Command::run`].
    pub fn run_sum(
        self,
        system: &System,
        job: Job,
        from: Option<&Path>,
        mut files: CommandFiles,
        processes: Option<Ranks>,
        stop: Stop,
    ) -> Result<(), Failure> {
        system.warnings().iter().for_each(|warning| warn(warning));
        let named = from.map(|given| system::named(system, given)).transpose()?;
        let from = named.as_ref().and_then(|all| all.first()).map(|(_, path)| path.as_path());
        files.reads("--input", from)?;
        // Jumps make no sums of steps, and keep the digits of weights.
        let jumps = self.engine == EngineRequest::Fft || job.jump != Depth::Auto;
        let fuse = if jumps && job.fuse == Depth::Steps(1) { Depth::Auto } else { job.fuse };
        let job = Job { fuse, ..job };
        let shared = self.sharing.is_asked() || processes.is_some();
        let resumed = watching::resumed(self.files, &mut files)?;
        let mut resumed = resumed.map(|path| Resumed::read(path, shared)).transpose()?;
        let problem = system::problem(system);
        if let Some(Resumed { header, .. }) = &resumed {
            watching::check(self.files, header, &problem)?;
        }
        let given = match (&mut resumed, from) {
            (Some(resumed), _) => resumed.given(),
            (None, Some(path)) => Given::Grid(input::of_system(path, job.shape, job.dtype)?),
            (None, None) => Given::Grid(systems::sum::start(system)?),
        };
        let (done, by) = match resumed {
            Some(Resumed { header, .. }) => (header.step, Some(header.by)),
            None => (0, None),
        };
        let field = system.fields().next().unwrap_or_default().to_owned();
        let (job, units) = (checked(job)?, system::units(system));
        let sources = [None, from.map(Path::to_owned).or(self.files.resume.clone())];
        let (misuse, seed) = (None, None);
        let task = Task {
            job,
            given,
            problem,
            field,
            units,
            misuse,
            seed,
            read: sources,
            done,
            by,
            shared,
        };
        self.run(task, files, processes, stop)
    }

    /// Computes, writes what is asked for, verifies, measures and reports.
    ///
    /// # Errors
    /// Any [`Failure`]. The grid is written unless the verification fails, the report also then.
    pub fn run(
        self,
        task: Task,
        mut files: CommandFiles,
        processes: Option<Ranks>,
        stop: Stop,
    ) -> Result<(), Failure> {
        let Task { job, given, problem, field, units, misuse, seed, read, done, by, shared } = task;
        let Job { shape, dtype, steps, .. } = job;
        let fields = std::slice::from_ref(&field);
        let outputs =
            self.files.outputs(shape, dtype.stored(), fields, units, steps, &mut files)?;
        let json = files.writes_or_prints("--json", self.json)?;
        let mut watching =
            Watching::new(self.files, outputs.as_ref(), &problem, done, by.clone(), &mut files)?;
        // Also with --quiet: it makes the result worthless, though nothing fails.
        let growth = given.growth(&job)?.map(|growth| growth.to_string());
        misuse.into_iter().chain(growth).for_each(|warning| warn(&warning));
        let start = given.start(shared);
        let sharing = self.sharing.sharing(self.engine, shape.dims(), processes)?;
        let options = Options { done, sharing, field: Some(field), ..self.options(stop) };
        let planned = request::plan(job, options, start, by.as_ref())?;
        let stale = planned.stale_speeds().map(remedy::of_stale_speeds);
        planned.reduced().map(str::to_owned).into_iter().chain(stale).for_each(|text| warn(&text));
        let computed = match given {
            Given::Grid(grid) => {
                planned.compute_observed(Cow::Owned(grid), &mut watching.observers())
            }
            Given::Initial(initial) => planned.compute_from(&initial, &mut watching.observers()),
        };
        let computed = computed.map_err(|error| watching.explain(error))?;
        let told = finish::Told { quiet: self.quiet, seed, read };
        Ok(finish::finish(self.files, told, computed, outputs.as_ref(), watching, json)?)
    }

    fn options(self, stop: Stop) -> Options {
        let Self { engine, verify, quiet, files, .. } = self;
        // Nobody would see what was measured.
        let unseen = quiet && self.json.is_none() && self.time == Time::Auto;
        let time = if unseen { Time::Off } else { self.time };
        // Whoever looks at every step asks for single ones.
        let looks = [files.every, files.check_finite, files.until.map(|until| until.every)];
        let kept = match files.checkpoint_every {
            Some(Every::Steps(steps)) => Some(steps),
            _ => None,
        };
        let portion = looks.into_iter().chain([kept]).flatten().min();
        // A jump over all steps leaves nothing to look at in between.
        let stops = portion.is_none() && files.checkpoint.is_some();
        let (resumable, control) = (files.checkpoint.is_some(), control(stop, quiet));
        let more = Options { engine, verify, time, control, ..Options::default() };
        Options { stops, portion, resumable, ..more }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: SystemArgs,
    }

    #[test]
    fn what_nobody_sees_is_not_measured_unless_it_is_asked_for() {
        for (more, time) in [
            ("", Time::Auto),
            ("--quiet", Time::Off),
            ("--quiet --json -", Time::Auto),
            ("--quiet --json report.json", Time::Auto),
            ("--quiet --time 3", Time::Repeat(3)),
            ("--time off", Time::Off),
            ("--time off --json -", Time::Off),
        ] {
            let line = format!("run {more}");
            let Line { args } = Line::parse_from(line.split_whitespace());
            let command = Command::of(&args);
            assert_eq!(command.options(Stop::default()).time, time, "{more}");
        }
    }
}
