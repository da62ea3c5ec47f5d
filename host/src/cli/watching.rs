// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who looks at a computation of a command: snapshots, checkpoints, whether values are finite, whether they still
//! change.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::file_args::{EndCondition, FileArgs, Outputs};
use super::files::CommandFiles;
use super::{Failure, warn};
use files::io::checkpoint::{self, CheckpointProblem};
use files::io::{Staged, is_stream, space};
use files::record::{
    Checkpoints, FiniteEnd, SnapshotCost, Snapshots, SteadyEnd, StepTime, TotalsEnd,
};
use problem::observe::{ComputedBy, Observer, Observers, Snapshot};
use problem::{Error, ErrorKind};

/// The observers of a run.
pub struct RunObservers {
    steady: Option<SteadyEnd>,
    /// Of a system with a condition, and how that is written.
    ends: Option<(TotalsEnd, String)>,
    finite: Option<FiniteEnd>,
    another: Option<EngineChange>,
    snapshots: Option<Snapshots>,
    checkpoints: Option<Checkpoints>,
    /// What snapshots cost, once they are written.
    waited: Option<SnapshotCost>,
    /// Whether files of some steps are written.
    series: bool,
    tolerance: f64,
}

impl RunObservers {
    /// At a problem of which so many steps are done, and by whom if an earlier run did them. Makes sure that there is
    /// room on the disk for what they will write.
    ///
    /// # Errors
    /// A file cannot be written, is one that another option names, or there is no room.
    pub fn new(
        args: &FileArgs,
        outputs: Option<&Outputs>,
        problem: &CheckpointProblem,
        done: usize,
        by: Option<ComputedBy>,
        files: &mut CommandFiles,
    ) -> Result<Self, Failure> {
        let kept = files.writes("--checkpoint", args.checkpoint.as_deref())?;
        let mut room: Vec<(PathBuf, u64)> = Vec::new();
        if let Some(outputs) = outputs {
            room.extend(outputs.bytes(done, problem.steps));
        }
        if let Some(path) = &args.checkpoint {
            // The next one is written beside the last.
            let bytes = checkpoint::bytes(problem.shape, problem.dtype, problem.arrays);
            room.push((path.clone(), 2 * bytes));
        }
        space::require(&room)?;
        let CheckpointProblem { title, hash, steps, .. } = problem;
        let snapshots = outputs.and_then(|outputs| {
            let every = outputs.every?;
            Some(Snapshots::new(outputs.recording.clone(), every, done, *steps))
        });
        let snapshots = snapshots.transpose()?;
        let checkpoints = kept.map(|output| {
            let every = args.checkpoint_every.unwrap_or_default();
            let ends = [done, *steps];
            Checkpoints::new(output, every, title.clone(), hash.clone(), ends)
                .after(snapshots.as_ref().map(Snapshots::written))
        });
        let (mut steady, mut ends, mut tolerance) = (None, None, 0.0);
        if let Some(until) = &args.until {
            match &until.when {
                EndCondition::Steady(of) => {
                    tolerance = *of;
                    steady = Some(SteadyEnd::new(tolerance, until.every));
                }
                EndCondition::Condition(text) => {
                    ends = Some((TotalsEnd::new(until.every), text.clone()))
                }
            }
        }
        Ok(Self {
            steady,
            ends,
            finite: args.check_finite.map(|every| FiniteEnd { every }),
            another: by.map(EngineChange),
            snapshots,
            checkpoints,
            waited: None,
            series: outputs.is_some_and(|outputs| outputs.every.is_some() && !outputs.is_film()),
            tolerance,
        })
    }

    /// All of them.
    pub fn observers(&mut self) -> Observers<'_> {
        let Self { steady, ends, finite, another, snapshots, checkpoints, .. } = self;
        let mut all: Vec<&mut dyn Observer> = Vec::new();
        // In this order: what is not finite is not written, and a checkpoint is of what is on the disk.
        all.extend(another.iter_mut().map(|observer| observer as &mut dyn Observer));
        all.extend(finite.iter_mut().map(|observer| observer as &mut dyn Observer));
        all.extend(snapshots.iter_mut().map(|observer| observer as &mut dyn Observer));
        all.extend(checkpoints.iter_mut().map(|observer| observer as &mut dyn Observer));
        all.extend(steady.iter_mut().map(|observer| observer as &mut dyn Observer));
        all.extend(ends.iter_mut().map(|(observer, _)| observer as &mut dyn Observer));
        Observers(all)
    }

    /// What went wrong, with the checkpoint that was kept.
    pub fn explain(&mut self, error: Error) -> Failure {
        let series = self.series && error.kind() == ErrorKind::Stopped;
        let alone = |error: Error| match series {
            true => Failure::OnTheWay(Box::new(error.into())),
            false => error.into(),
        };
        let Some(checkpoints) = &mut self.checkpoints else { return alone(error) };
        if let Some(error) = checkpoints.failed() {
            warn(&format!("there is no checkpoint of the last step: {error}"));
        }
        match checkpoints.written() {
            None => alone(error),
            Some((path, step)) => Failure::Kept { failure: Box::new(error.into()), path, step },
        }
    }

    /// Why there is no checkpoint of the end, which others than the result may need.
    ///
    /// # Errors
    /// It could not be written.
    pub fn kept(&mut self) -> Result<(), Error> {
        let failed = self.checkpoints.as_mut().and_then(Checkpoints::failed);
        failed.map_or(Ok(()), Err)
    }

    /// Writes the files of the end beside their places, after so many steps.
    ///
    /// # Errors
    /// The system refuses, the device, or something before could not be written.
    pub fn stage<'a>(
        &mut self,
        outputs: &Outputs,
        files: &'a [(files::record::OutputFields, files::io::Output)],
        step: usize,
        snapshot: &mut dyn Snapshot,
    ) -> Result<Vec<Staged<'a>>, Error> {
        let films = match self.snapshots.take() {
            None => Vec::new(),
            Some(snapshots) => {
                let (films, waited) = snapshots.finish(step, snapshot)?;
                self.waited = Some(waited);
                films
            }
        };
        if outputs.is_film() {
            let films = films.into_iter().zip(files);
            return films.map(|((_, film), (_, output))| film.stage(output)).collect();
        }
        let mut staged = Vec::new();
        for (target, output) in files {
            staged.push(outputs.recording.stage_snapshot(target, output, step, snapshot)?);
        }
        Ok(staged)
    }

    /// What files on the way cost, once they are written.
    pub fn waited(&self) -> Option<SnapshotCost> {
        self.waited
    }

    /// What is to be said besides: lines of the report, or a warning.
    pub fn told(&self, step: usize) -> String {
        let snapshots = self.waited.map(|waited| format!("snapshots  {waited}\n"));
        snapshots.unwrap_or_default()
            + &self.steady(step).unwrap_or_default()
            + &self.end(step).unwrap_or_default()
    }

    /// What is to be said of the condition at which it was to end.
    fn end(&self, step: usize) -> Option<String> {
        let (ends, text) = self.ends.as_ref()?;
        if !ends.is_reached() {
            warn(&format!("after step {step} it does not hold yet: {text}"));
            return None;
        }
        Some(format!("end        after step {step}: {text}\n"))
    }

    /// What is to be said of the steady state.
    fn steady(&self, step: usize) -> Option<String> {
        let steady = self.steady.as_ref()?;
        let Some(change) = steady.change() else {
            warn("too few steps to see whether values still change: --until looks every so many");
            return None;
        };
        if !steady.is_reached() {
            let tolerance = self.tolerance;
            warn(&format!(
                "after step {step} a value still changes by {change:.3e} a step, not below {tolerance:e}"
            ));
            return None;
        }
        Some(format!(
            "steady     after step {step}: no value changes by more than {change:.3e} a step\n"
        ))
    }
}

/// Moves files to their places, and lists those of a series that ends then.
///
/// # Errors
/// The system refuses.
pub fn publish(
    outputs: &Outputs,
    staged: Vec<Staged>,
    last: Option<StepTime>,
) -> Result<(), Error> {
    staged.into_iter().try_for_each(Staged::publish)?;
    let every = outputs.every.filter(|_| outputs.recording.pattern().has_step());
    every.zip(last).map_or(Ok(()), |(every, last)| outputs.recording.list(every, last))
}

/// The one file, or the name that many have.
pub fn named(
    files: &[(files::record::OutputFields, files::io::Output)],
    pattern: &Path,
) -> PathBuf {
    match files {
        [(only, _)] if !is_stream(&only.path) => only.path.clone(),
        _ => pattern.to_owned(),
    }
}

/// Says it where something else goes on than what began.
struct EngineChange(ComputedBy);

impl Observer for EngineChange {
    fn next(&self, _: usize) -> Option<usize> {
        None
    }

    fn look(&mut self, _: usize, snapshot: &mut dyn Snapshot) -> Result<ControlFlow<()>, Error> {
        let now = snapshot.by();
        if now != self.0 {
            let before = std::mem::replace(&mut self.0, now);
            let now = &self.0;
            warn(&format!(
                "{before} computed the checkpoint, and {now} goes on: the last digits may differ"
            ));
        }
        Ok(ControlFlow::Continue(()))
    }
}
