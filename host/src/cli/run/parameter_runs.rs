// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run for each value of a constant: side by side where a GPU is faster so ([`systems::batch`]), else one after the other.

use std::path::Path;

use super::{RunArgs, meant, of_system, run_system};
use crate::cli::computation_args::ComputationArgs;
use crate::cli::files::CommandFiles;
use crate::cli::options::SumOnlyOption;
use crate::cli::sweep::ParameterSweep;
use crate::cli::{Failure, buffered_output, print, print_bytes, system, warn};
use compute::plan::{choose, choose_whole};
use compute::ranks::engine::Ranks;
use compute::run::Time;
use problem::Job;
use problem::control::Stop;
use systems::System;
use systems::batch::{self, Batch, BatchSeat};
use systems::plan::Request;

/// A value as it is written, and the options of its run.
type Value<'a> = (&'a str, ComputationArgs);

/// The runs for the values of a parameter.
struct Runs<'a> {
    name: &'a str,
    args: &'a RunArgs,
    path: &'a Path,
    only: Option<SumOnlyOption>,
    stop: Stop,
}

/// Runs a system's file for each value of a constant.
///
/// # Errors
/// The failure of the first run that fails; those after it are left out, but for those beside it.
pub fn run(
    sweep: &ParameterSweep,
    (args, path): (&RunArgs, &Path),
    only: Option<SumOnlyOption>,
    processes: Option<Ranks>,
    stop: Stop,
) -> Result<(), Failure> {
    if processes.is_some() {
        let (option, problem) = ("--sweep".into(), "several processes");
        let instead = "start them for each value: --set NAME=VALUE";
        return Err(Failure::NotOf { option, problem, instead });
    }
    let runs = Runs { name: sweep.name(), args, path, only, stop };
    let values: Vec<Value> = sweep.each(&args.computation)?.collect();
    let mut told = String::new();
    for values in values.chunks(batch::MOST) {
        match runs.plan(values) {
            Ok((batch, systems)) => runs.beside(values, batch, systems)?,
            Err(why) => {
                // Of many values once.
                if values.len() > 1 && told != why && !args.computation.quiet {
                    print(&format!("one after the other: {why}\n"))?;
                    told = why;
                }
                values.iter().try_for_each(|value| runs.alone(value))?;
            }
        }
    }
    Ok(())
}

impl Runs<'_> {
    /// Runs that are side by side, and their systems by number.
    ///
    /// # Errors
    /// Why they are to be one after the other.
    fn plan(&self, values: &[Value]) -> Result<(Batch, Vec<System>), String> {
        let of_all = &self.args.computation;
        if of_all.sharing.is_asked() {
            return Err("each is shared among GPUs".into());
        }
        if let Time::Repeat(_) = of_all.time {
            return Err("--time measures each by itself".into());
        }
        let read = |(_, of_value): &Value| {
            let system = system::read(self.path, of_value)?;
            let (job, family) = meant(&system, self.args, self.only)?;
            Ok::<_, Failure>((system, job, family))
        };
        // What fails is told when it is its turn.
        let read = values.iter().map(read).collect::<Result<Vec<_>, _>>();
        let read = read.map_err(|_| "one of them cannot be run".to_owned())?;
        let [(first, job, family), ..] = read.as_slice() else {
            return Err("there are none".into());
        };
        let rows = of_all.series.as_ref().map(|series| series.period(first.steps()));
        let steps = system::unobserved_steps(&of_all.files, rows, first.steps());
        let alone = match job {
            None => None,
            Some(job) => Some(self.of_stencil(job, steps == first.steps())?),
        };
        let request = Request { engine: of_all.engine, family: *family, steps, written: false };
        let systems: Vec<System> = read.into_iter().map(|(system, ..)| system).collect();
        Ok((Batch::plan(&systems, request, alone)?, systems))
    }

    /// Predicted seconds of a step of a system that is a stencil; `whole` where nobody looks at it on the way.
    fn of_stencil(&self, job: &Job, whole: bool) -> Result<f64, String> {
        let is_asked = self.only.is_some() || self.args.kernel.is_some();
        let choose = if whole { choose_whole } else { choose };
        let choice =
            choose(self.args.computation.engine, job).map_err(|error| error.to_string())?;
        match choice.forecast.predicted_seconds.filter(|_| !is_asked && job.steps > 0) {
            Some(seconds) => Ok(seconds / job.steps as f64),
            None => Err(format!("{} computes each as a stencil", choice.engine.name())),
        }
    }

    /// Runs a value's system by itself.
    fn alone(&self, (value, computation): &Value) -> Result<(), Failure> {
        let name = self.name;
        self.head(value)?;
        let done =
            of_system(self.path, (self.args, computation), self.only, None, self.stop.clone());
        done.inspect_err(|_| {
            warn(&format!("the run with {name} = {value} is the last one; it failed"));
        })
    }

    /// Says which value a report is of.
    fn head(&self, value: &str) -> Result<(), Failure> {
        if self.args.computation.quiet {
            return Ok(());
        }
        Ok(print(&format!("{} = {value}\n", self.name))?)
    }

    /// Runs systems side by side, and in their turn those that cannot be.
    fn beside(&self, values: &[Value], batch: Batch, systems: Vec<System>) -> Result<(), Failure> {
        let members: Vec<usize> = batch.members().collect();
        let mut done: Vec<Option<_>> = std::thread::scope(|scope| {
            // Seats of those that do not come to run are given up where this ends early: nobody waits for them.
            let mut taken = members.iter().zip(batch.seats());
            let mut next = taken.next();
            let mut threads = Vec::new();
            for (number, ((value, computation), system)) in values.iter().zip(systems).enumerate() {
                let Some((_, seat)) = next.take_if(|(member, _)| **member == number) else {
                    threads.push(None);
                    continue;
                };
                next = taken.next();
                let name = format!("{} = {value}", self.name);
                let is_first = threads.iter().all(Option::is_none);
                let run = move || self.one_of(computation, &system, seat);
                threads.push(Some(scope.spawn(move || buffered_output::hold(name, is_first, run))));
            }
            let ended = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().map(|thread| thread.map(ended)).collect()
        });
        let mut failed = None;
        for (done, value) in done.iter_mut().zip(values) {
            match done.take() {
                None if failed.is_some() => (),
                None => failed = self.alone(value).err(),
                Some((done, text)) => {
                    self.head(value.0)?;
                    print_bytes(&text)?;
                    if let Err(failure) = done {
                        let what = format!("the run with {} = {} failed", self.name, value.0);
                        match failed {
                            None => warn(&what),
                            Some(_) => warn(&format!("{what}: {failure}")),
                        }
                        failed.get_or_insert(failure);
                    }
                }
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Runs the system of a seat.
    fn one_of(
        &self,
        computation: &ComputationArgs,
        system: &System,
        seat: BatchSeat,
    ) -> Result<(), Failure> {
        let mut files = CommandFiles::default();
        files.reads("the system", Some(self.path))?;
        // One's time is that of all of them.
        let computation = ComputationArgs { time: Time::Off, ..computation.clone() };
        let by = (&computation, None, Some(seat));
        run_system(system, None, by, files, None, self.stop.clone())
    }
}
