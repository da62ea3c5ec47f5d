// SPDX-License-Identifier: MIT OR Apache-2.0
//! The checkpoint that a command goes on from, whatever it computes.

use std::path::{Path, PathBuf};

use super::file_args::FileArgs;
use super::files::CommandFiles;
use super::start::StartFrom;
use super::{Failure, warn};
use files::io::checkpoint::{self, Checkpoint, CheckpointProblem, Header};
use files::io::{StartSource, absolute};
use problem::observe::ComputedBy;
use problem::{Dtype, Error, Shape};
use systems::SystemState;

/// The checkpoint from which a run goes on.
pub struct ResumedRun {
    /// What it says of itself.
    header: Header,
    /// As it was named.
    path: PathBuf,
    /// What it holds, where no ranks read their parts of it.
    left: Option<SystemState>,
}

impl ResumedRun {
    /// The checkpoint that is named, if one is; where ranks read their parts of it, no more than what it says of itself.
    ///
    /// # Errors
    /// [`Failure::SameFile`]; a film cannot be gone on with; it is no checkpoint, cut or damaged.
    pub fn named(
        args: &FileArgs,
        files: &mut CommandFiles,
        by_parts: bool,
    ) -> Result<Option<Self>, Failure> {
        let Some(path) = &args.resume else { return Ok(None) };
        // Its place may be that of the next ones.
        if args.checkpoint.as_ref() != Some(path) {
            files.reads("--resume", Some(path))?;
        }
        if let Some(output) = args.output.as_ref().filter(|_| args.every.is_some())
            && !output.to_string_lossy().contains("{step")
        {
            return Err(Failure::FilmResumed { path: output.clone() });
        }
        Ok(Some(Self::read(path, by_parts)?))
    }

    /// As [`ResumedRun::named`], and it is one of this problem.
    ///
    /// # Errors
    /// [`ResumedRun::named`] or [`ResumedRun::check`] fails.
    pub fn of(
        problem: &CheckpointProblem,
        args: &FileArgs,
        files: &mut CommandFiles,
        by_parts: bool,
    ) -> Result<Option<Self>, Failure> {
        let resumed = Self::named(args, files, by_parts)?;
        resumed.as_ref().map(|resumed| resumed.check(problem)).transpose()?;
        Ok(resumed)
    }

    fn read(path: &Path, by_parts: bool) -> Result<Self, Error> {
        let (header, left) = if by_parts {
            (checkpoint::look(path)?, None)
        } else {
            let Checkpoint { header, arrays, records, series } = checkpoint::read(path)?;
            let (step, clock, rows_of) = (header.step, header.clock, header.rows_of.clone());
            (header, Some(SystemState { step, arrays, records, series, rows_of, clock }))
        };
        Ok(Self { header, path: path.to_owned(), left })
    }

    /// Makes sure that it is one of a problem, and says so if it is that of its end.
    ///
    /// # Errors
    /// [`Error::Checkpoint`]: it is of another one, or has more steps.
    pub fn check(&self, problem: &CheckpointProblem) -> Result<(), Error> {
        let Self { header, path, .. } = self;
        header.check(path, problem)?;
        let steps = &problem.steps;
        if header.step == *steps {
            warn(&format!(
                "{} holds the end: all {steps} steps are done, and nothing is left to compute; files are written from \
                 it, and a larger --steps goes on",
                path.display()
            ));
        }
        Ok(())
    }

    /// Steps that were taken.
    pub fn steps(&self) -> usize {
        self.header.step
    }

    /// What took them.
    pub fn by(&self) -> ComputedBy {
        self.header.by.clone()
    }

    /// The extents and the element type of its one grid.
    ///
    /// # Errors
    /// It holds something else.
    pub fn grid(&self) -> Result<(Shape, Dtype), Error> {
        self.header.grid(&self.path)
    }

    /// What a stencil's run goes on from.
    pub fn start(&mut self) -> StartFrom {
        match self.left.take().and_then(|left| left.arrays.into_iter().next()) {
            Some((_, grid)) => StartFrom::Grid(grid),
            None => StartFrom::Source(StartSource::Checkpoint(absolute(&self.path))),
        }
    }

    /// Rows of totals that it holds.
    pub fn rows(&self) -> usize {
        self.header.series[0]
    }

    /// What a system goes on from, which no ranks read by parts.
    pub fn state(self) -> SystemState {
        self.left.expect("all of it was read")
    }
}
