// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that write files while computing goes on.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};

use super::film::Film;
use super::index::Index;
use super::recording::{OutputFields, Recording, StepTime};
use super::written::WriteCounter;
use crate::io::Content;
use problem::observe::CompletedCopy;
use problem::{Error, Grid};

/// Bytes of values that may wait to be written; two steps may in any case. Whoever has more waits.
const MOST_BYTES: usize = 1 << 30;
/// Threads, at most.
const MOST_THREADS: usize = 8;

/// The fields of a recording after some step.
pub struct RecordedFields {
    pub moment: StepTime,
    /// By their place in the recording.
    pub grids: Vec<CompletedCopy>,
}

/// The films that a thread made, with where each is to lie; none, of a series of files.
pub type Films = Vec<(PathBuf, Film)>;

/// The threads: one for films, whose pictures follow each other; several for files.
pub struct Writer {
    queue: Option<SyncSender<RecordedFields>>,
    threads: Vec<JoinHandle<Result<Films, Error>>>,
    written: WriteCounter,
    /// As long as a thread has it: who hands over learns from that whether any is left.
    common: Weak<WriterState>,
}

impl Writer {
    /// Writes what comes: films, or with a name for each step a series. `listed` are the steps of a series that an
    /// earlier run wrote.
    ///
    /// # Errors
    /// The list of that series cannot be read.
    pub fn start(recording: &Recording, is_film: bool, listed: &[usize]) -> Result<Self, Error> {
        let (threads, waiting) = if is_film { (1, 2) } else { room(recording.shot_bytes()) };
        let (queue, shots) = sync_channel(waiting);
        let written = WriteCounter::default();
        let writing = Arc::new(WriterState {
            recording: recording.clone(),
            shots: Mutex::new(shots),
            indices: Mutex::new(recording.listed(listed)?),
            written: written.clone(),
        });
        let threads = (0..threads).map(|_| {
            let common = Arc::clone(&writing);
            thread::spawn(move || {
                let outcome = if is_film { common.film() } else { common.series() };
                outcome.inspect_err(|_| common.written.fail())
            })
        });
        let (threads, common) = (threads.collect(), Arc::downgrade(&writing));
        Ok(Self { queue: Some(queue), threads, written, common })
    }

    /// Who knows whether all is written that was handed over.
    pub fn written(&self) -> WriteCounter {
        self.written.clone()
    }

    /// Adds files that somebody else wrote to the lists of their series.
    ///
    /// # Errors
    /// The system refuses.
    pub fn list(&self, moment: StepTime, targets: &[OutputFields]) -> Result<(), Error> {
        // Where none is left, the end tells why.
        self.common.upgrade().map_or(Ok(()), |common| common.list(moment, targets))
    }

    /// Hands over what is to be written.
    ///
    /// # Errors
    /// Something before could not be.
    pub fn send(&mut self, shot: RecordedFields) -> Result<(), Error> {
        if !self.written.has_failed() {
            self.written.expect_one();
            if self.queue.as_ref().is_some_and(|queue| queue.send(shot).is_ok()) {
                return Ok(());
            }
        }
        self.finish().map(|_| ())
    }

    /// Waits until all is written.
    ///
    /// # Errors
    /// Something could not be.
    pub fn finish(&mut self) -> Result<Films, Error> {
        self.queue = None;
        let mut films = Vec::new();
        let mut failed = None;
        for thread in self.threads.drain(..) {
            match thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
                Ok(own) => films.extend(own),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(films), Err)
    }
}

impl Drop for Writer {
    /// What was handed over is written, also where a computation ends by an error.
    fn drop(&mut self) {
        self.queue = None;
        for thread in self.threads.drain(..) {
            // Whoever wants to know asks for the end.
            let _ = thread.join();
        }
    }
}

/// Threads for shots of so many bytes, and how many shots may wait for them.
fn room(bytes: usize) -> (usize, usize) {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let shots = (MOST_BYTES / bytes.max(1)).clamp(2, 2 * MOST_THREADS);
    // The others compute, or draw for all.
    let threads = (cores / 2).clamp(1, MOST_THREADS).min(shots - 1);
    (threads, shots - threads)
}

/// The state that all threads of a writer share.
struct WriterState {
    recording: Recording,
    shots: Mutex<Receiver<RecordedFields>>,
    indices: Mutex<Vec<Index>>,
    written: WriteCounter,
}

impl WriterState {
    /// The next shot, unless there are no more, or another thread has failed.
    fn next(&self) -> Option<RecordedFields> {
        let shots = self.shots.lock().unwrap_or_else(PoisonError::into_inner);
        let shot = shots.recv().ok();
        shot.filter(|_| !self.written.has_failed())
    }

    fn series(&self) -> Result<Films, Error> {
        while let Some(RecordedFields { moment, grids }) = self.next() {
            let _one = self.written.one();
            let grids: Vec<Grid> = grids.into_iter().map(|grid| grid()).collect();
            let (targets, recording) = (self.recording.targets(moment.step), &self.recording);
            for (target, grids) in targets.iter().zip(shares(&targets, &grids)) {
                let content = &mut Content::of_grids(recording.about(target, moment), grids);
                let output = recording.output(&target.path)?;
                recording.stage_content(&output, content)?.publish()?;
            }
            self.list(moment, &targets)?;
        }
        Ok(Vec::new())
    }

    /// Adds the files of a step to the lists of their series.
    fn list(&self, moment: StepTime, targets: &[OutputFields]) -> Result<(), Error> {
        let mut indices = self.indices.lock().unwrap_or_else(PoisonError::into_inner);
        for (index, target) in indices.iter_mut().zip(targets) {
            index.add(moment.on_the_axis(), &target.path);
            index.write()?;
        }
        Ok(())
    }

    fn film(&self) -> Result<Films, Error> {
        let (mut films, recording) = (Vec::new(), &self.recording);
        for OutputFields { path, .. } in recording.targets(0) {
            films.push((path.clone(), Film::new(&path, recording.look())?));
        }
        while let Some(RecordedFields { moment, grids }) = self.next() {
            let _one = self.written.one();
            let grids: Vec<Grid> = grids.into_iter().map(|grid| grid()).collect();
            let targets = recording.targets(moment.step);
            for ((path, film), grids) in films.iter_mut().zip(shares(&targets, &grids)) {
                let failed = |source| Error::Write { path: path.clone(), source };
                grids.iter().try_for_each(|grid| film.add(grid)).map_err(failed)?;
            }
        }
        Ok(films)
    }
}

/// Of the fields of a recording those of each target: one has all of them, or each has the next.
fn shares<'a>(targets: &[OutputFields], grids: &'a [Grid]) -> impl Iterator<Item = &'a [Grid]> {
    let each = targets.first().map_or(1, |target| target.fields.len());
    grids.chunks(each.max(1))
}
