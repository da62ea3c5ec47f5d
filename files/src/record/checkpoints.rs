// SPDX-License-Identifier: MIT OR Apache-2.0
//! When checkpoints are written: every some steps, or every so often, and where a computation ends.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};

use super::written::WriteCounter;
use crate::io::Output;
use crate::io::checkpoint;
use problem::observe::{Observer, Snapshot, next_multiple};
use problem::{Error, ErrorKind};

/// How often checkpoints are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointInterval {
    /// Every so many steps, at least 1.
    Steps(usize),
    /// Where as much time has passed.
    Time(Duration),
}

impl Default for CheckpointInterval {
    /// Every ten minutes.
    fn default() -> Self {
        Self::Time(Duration::from_secs(600))
    }
}

impl FromStr for CheckpointInterval {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || "give a number of steps, such as 1000, or a time, such as 90s, 10m or 1h".to_owned();
        let number = |digits: &str| digits.parse::<f64>().ok().filter(|number| *number > 0.0);
        let unit = [('s', 1.0), ('m', 60.0), ('h', 3600.0)]
            .into_iter()
            .find(|(unit, _)| text.ends_with(*unit));
        let Some((unit, seconds)) = unit else {
            let steps = number(text).filter(|steps| steps.fract() == 0.0 && *steps < 1e15);
            return Ok(Self::Steps(steps.ok_or_else(wrong)? as usize));
        };
        let count = text.strip_suffix(unit).and_then(number).ok_or_else(wrong)?;
        Duration::try_from_secs_f64(count * seconds).map(Self::Time).map_err(|_| wrong())
    }
}

/// Writes checkpoints of a computation, each in the place of the one before.
pub struct Checkpoints {
    output: Output,
    every: CheckpointInterval,
    title: String,
    problem: String,
    /// When the last one was written, or the computation began.
    since: Instant,
    /// The step of the one that is there.
    written: Option<usize>,
    /// Steps at which none is due: the first one, and the last one, whose checkpoint is written when all steps are.
    ends: [usize; 2],
    /// Why that of the end could not be written.
    failed: Option<Error>,
    /// Files of earlier steps, of which a checkpoint says that they are there.
    before: Option<WriteCounter>,
}

impl Checkpoints {
    /// Of a problem with this title and hash, which takes the steps between these, in a file.
    #[must_use]
    pub fn new(
        output: Output,
        every: CheckpointInterval,
        title: String,
        problem: String,
        ends: [usize; 2],
    ) -> Self {
        let (since, written, failed) = (Instant::now(), None, None);
        let before = None;
        Self { output, every, title, problem, since, written, ends, failed, before }
    }

    /// Each of them written after files that were handed over before it.
    #[must_use]
    pub fn after(self, files: Option<WriteCounter>) -> Self {
        Self { before: files, ..self }
    }

    /// The file, and the step of the checkpoint that was written.
    #[must_use]
    pub fn written(&self) -> Option<(PathBuf, usize)> {
        self.written.map(|step| (self.path().to_owned(), step))
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.output.path()
    }

    /// Why none could be written where the computation ended, if so.
    pub fn failed(&mut self) -> Option<Error> {
        self.failed.take()
    }

    fn write(&mut self, done: usize, snapshot: &mut dyn Snapshot) -> Result<(), Error> {
        // A checkpoint that nothing can go on from must not replace a good one.
        snapshot.check_finite()?;
        // A run that goes on writes those of this step again, and none before.
        if let Some(files) = &self.before {
            files.wait();
        }
        let at = (done, snapshot.clock());
        checkpoint::write(&self.output, &self.title, &self.problem, at, snapshot)?;
        self.written = Some(done);
        self.since = Instant::now();
        Ok(())
    }
}

impl Observer for Checkpoints {
    fn next(&self, done: usize) -> Option<usize> {
        match self.every {
            CheckpointInterval::Steps(steps) => next_multiple(done, steps),
            CheckpointInterval::Time(_) => None,
        }
    }

    fn look(&mut self, done: usize, snapshot: &mut dyn Snapshot) -> Result<ControlFlow<()>, Error> {
        let due = match self.every {
            CheckpointInterval::Steps(steps) => done.is_multiple_of(steps),
            CheckpointInterval::Time(time) => self.since.elapsed() >= time,
        };
        if due && !self.ends.contains(&done) && self.written != Some(done) {
            self.write(done, snapshot)?;
        }
        Ok(ControlFlow::Continue(()))
    }

    fn ends(&mut self, done: usize, snapshot: &mut dyn Snapshot, why: &Error) {
        // Of a grid that is wrong, or a device that fails, nothing can be kept.
        let keeps = matches!(why.kind(), ErrorKind::Stopped | ErrorKind::File);
        if keeps && self.written != Some(done) && done != self.ends[0] {
            self.failed = self.write(done, snapshot).err();
        }
    }

    fn finishes(&mut self, done: usize, snapshot: &mut dyn Snapshot) {
        if self.written != Some(done) {
            self.failed = self.write(done, snapshot).err();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_and_times_are_read_and_others_answered() {
        let time = |seconds| Ok(CheckpointInterval::Time(Duration::from_secs(seconds)));
        assert_eq!("1000".parse(), Ok(CheckpointInterval::Steps(1000)));
        assert_eq!("1e6".parse(), Ok(CheckpointInterval::Steps(1_000_000)));
        assert_eq!("90s".parse(), time(90));
        assert_eq!("1.5m".parse(), time(90));
        assert_eq!("2h".parse(), time(7200));
        for wrong in ["", "0", "s", "-1", "1.5", "1d", "infs", "nan", "1e300h"] {
            assert!(wrong.parse::<CheckpointInterval>().is_err(), "{wrong}");
        }
    }
}
