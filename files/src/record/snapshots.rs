// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a computation has come to every some steps: copied where it is computed, written by other
//! threads.

use std::fmt;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use serde::Serialize;

use super::film::Film;
use super::recording::{Recording, StepTime};
use super::writer::{RecordedFields, Writer};
use super::written::WriteCounter;
use problem::observe::{Observer, PendingCopy, Snapshot, next_multiple};
use problem::{Error, Grid, ValueLocation, View};

/// Writes a recording every some steps, the start included and the end not: that is for whoever checks it first.
pub struct Snapshots {
    recording: Recording,
    every: usize,
    last: usize,
    /// The first step that is not written yet.
    from: usize,
    is_film: bool,
    /// What the device still sends.
    coming: Option<PendingFields>,
    writer: Writer,
    waited: SnapshotCost,
}

/// The fields after a step, on their way.
struct PendingFields {
    moment: StepTime,
    grids: Vec<Box<dyn PendingCopy>>,
}

/// The time and memory that snapshots took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SnapshotCost {
    /// Steps that were copied.
    pub snapshots: usize,
    /// Bytes of each.
    pub bytes: usize,
    /// Seconds in which no steps were taken for them.
    pub seconds: f64,
    /// Seconds after all steps until they were written.
    pub seconds_after: f64,
}

impl fmt::Display for SnapshotCost {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { snapshots, bytes, seconds, seconds_after } = self;
        let megabytes = *bytes as f64 * 1e-6;
        write!(
            f,
            "{snapshots} on the way, {megabytes:.3} MB each; steps waited {seconds:.3} s for them, "
        )?;
        write!(f, "the end {seconds_after:.3} s")
    }
}

impl Snapshots {
    /// Of a computation that has taken `done` steps and is to take `last` in all; every `every` steps, at least 1.
    ///
    /// # Errors
    /// The list of what an earlier run wrote cannot be read.
    pub fn new(
        recording: Recording,
        every: usize,
        done: usize,
        last: usize,
    ) -> Result<Self, Error> {
        let is_film = !recording.pattern().has_step();
        // Files of the step to go on from may not have been written.
        let listed: Vec<usize> = (0..done).step_by(every).collect();
        let writer = Writer::start(&recording, is_film, &listed)?;
        let waited = SnapshotCost { bytes: recording.shot_bytes(), ..SnapshotCost::default() };
        Ok(Self { recording, every, last, from: done, is_film, coming: None, writer, waited })
    }

    /// Who knows whether all is written that was handed over.
    #[must_use]
    pub fn written(&self) -> WriteCounter {
        self.writer.written()
    }

    /// Waits until all is written, after so many steps, and says what it cost. A film gets them as its last picture,
    /// and is handed over with its place; a list of files gets their file.
    ///
    /// # Errors
    /// Something could not be read or written.
    pub fn finish(
        mut self,
        step: usize,
        snapshot: &mut dyn Snapshot,
    ) -> Result<(Vec<(PathBuf, Film)>, SnapshotCost), Error> {
        let start = Instant::now();
        if self.is_film && step >= self.from {
            self.shoot(step, snapshot)?;
        }
        self.hand_over()?;
        let mut films = self.writer.finish()?;
        for (path, film) in &mut films {
            film.end().map_err(|source| Error::Write { path: path.clone(), source })?;
        }
        self.waited.seconds_after = start.elapsed().as_secs_f64();
        Ok((films, self.waited))
    }

    /// Asks for the fields as they are, which come while the next steps are taken.
    fn shoot(&mut self, step: usize, snapshot: &mut dyn Snapshot) -> Result<(), Error> {
        self.hand_over()?;
        if !self.is_film && self.recording.parts(snapshot).is_some() {
            return self.shoot_by_parts(step, snapshot);
        }
        let view = self.recording.view();
        let fields = self.recording.fields().iter();
        let grids = fields.map(|(place, _)| snapshot.capture(*place, &view));
        let grids = grids.collect::<Result<Vec<_>, _>>()?;
        // Of fields that are here as a whole nothing has to be read again, unless for the error.
        let fields = snapshot.arrays().iter().filter(|array| array.level == 0).count();
        let whole = view == View::whole(snapshot.shape()) && grids.len() == fields;
        let is_finite = |grid: Option<&Grid>| {
            grid.is_some_and(|grid| grid.check_finite(ValueLocation::Result).is_ok())
        };
        if !whole || !grids.iter().all(|grid| is_finite(grid.here())) {
            snapshot.check_finite()?;
        }
        self.from = step + 1;
        self.waited.snapshots += 1;
        let moment = self.recording.moment(step, snapshot);
        self.coming = Some(PendingFields { moment, grids });
        Ok(())
    }

    /// Has ranks write their parts, while no steps are taken: rank 0 has no room for all.
    fn shoot_by_parts(&mut self, step: usize, snapshot: &mut dyn Snapshot) -> Result<(), Error> {
        snapshot.check_finite()?;
        let targets = self.recording.targets(step);
        for target in &targets {
            let output = self.recording.output(&target.path)?;
            self.recording.stage_snapshot(target, &output, step, snapshot)?.publish()?;
        }
        self.writer.list(self.recording.moment(step, snapshot), &targets)?;
        self.from = step + 1;
        self.waited.snapshots += 1;
        Ok(())
    }

    /// Gives what has come to those who write.
    fn hand_over(&mut self) -> Result<(), Error> {
        let Some(PendingFields { moment, grids }) = self.coming.take() else { return Ok(()) };
        let grids = grids.into_iter().map(|grid| grid.arrive()).collect::<Result<_, _>>()?;
        self.writer.send(RecordedFields { moment, grids })
    }

    /// Does something while no steps are taken.
    fn holding_up<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        let start = Instant::now();
        let result = work(self);
        self.waited.seconds += start.elapsed().as_secs_f64();
        result
    }
}

impl Observer for Snapshots {
    fn next(&self, done: usize) -> Option<usize> {
        next_multiple(done, self.every)
    }

    fn look(&mut self, done: usize, snapshot: &mut dyn Snapshot) -> Result<ControlFlow<()>, Error> {
        let wanted = done.is_multiple_of(self.every) && done >= self.from && done != self.last;
        self.holding_up(|own| if wanted { own.shoot(done, snapshot) } else { own.hand_over() })?;
        Ok(ControlFlow::Continue(()))
    }

    fn ends(&mut self, _: usize, _: &mut dyn Snapshot, _: &Error) {
        // Whoever ends it tells another error.
        let _ = self.hand_over();
    }
}
