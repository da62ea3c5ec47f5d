// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread that writes files while computing goes on.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use super::film::Film;
use super::recording::{Recording, Target};
use crate::io::{Content, Output};
use crate::{Error, Grid};

/// Steps whose values wait to be written; whoever has more waits.
const QUEUE: usize = 2;

/// The fields of a recording after some step.
pub struct Shot {
    pub step: usize,
    /// By their place in the recording.
    pub grids: Vec<Grid>,
}

/// The films that a thread made, with where each is to lie; none, of a series of files.
pub type Films = Vec<(PathBuf, Film)>;

/// The thread.
pub struct Writer {
    queue: Option<SyncSender<Shot>>,
    thread: Option<JoinHandle<Result<Films, Error>>>,
}

impl Writer {
    /// Writes what comes: films, or with a name for each step a series. `listed` are the steps of a series that an
    /// earlier run wrote.
    pub fn start(recording: Recording, is_film: bool, listed: Vec<usize>) -> Self {
        let (queue, shots) = sync_channel(QUEUE);
        let thread = thread::spawn(move || match is_film {
            true => film(&recording, &shots),
            false => series(&recording, &shots, &listed),
        });
        Self { queue: Some(queue), thread: Some(thread) }
    }

    /// Hands over what is to be written.
    ///
    /// # Errors
    /// Something before could not be.
    pub fn send(&mut self, shot: Shot) -> Result<(), Error> {
        let sent = self.queue.as_ref().is_some_and(|queue| queue.send(shot).is_ok());
        if sent { Ok(()) } else { self.finish().map(|_| ()) }
    }

    /// Waits until all is written.
    ///
    /// # Errors
    /// Something could not be.
    pub fn finish(&mut self) -> Result<Films, Error> {
        self.queue = None;
        let Some(thread) = self.thread.take() else { return Ok(Vec::new()) };
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for Writer {
    /// What was handed over is written, also where a computation ends by an error.
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // Whoever wants to know asks for the end.
            let _ = thread.join();
        }
    }
}

/// Of the fields of a recording those of a target, which come in its order.
fn of_target(recording: &Recording, target: &Target, grids: &[Grid]) -> Vec<Grid> {
    let wanted = |name: &(usize, String)| target.fields.contains(name);
    let fields = recording.fields().iter().zip(grids);
    fields.filter(|(name, _)| wanted(name)).map(|(_, grid)| grid.clone()).collect()
}

fn series(recording: &Recording, shots: &Receiver<Shot>, listed: &[usize]) -> Result<Films, Error> {
    let mut indices = recording.listed(listed);
    for Shot { step, grids } in shots {
        let targets = recording.targets(step);
        for target in &targets {
            let grids = of_target(recording, target, &grids);
            let content = &mut Content::of_grids(recording.about(target, step), &grids);
            let look = recording.look();
            let output = Output::new(&target.path)?;
            output.write(|to| recording.format().write(content, &look, to))?;
        }
        for (index, target) in indices.iter_mut().zip(&targets) {
            index.add(recording.time(step), &target.path);
            index.write()?;
        }
    }
    Ok(Vec::new())
}

fn film(recording: &Recording, shots: &Receiver<Shot>) -> Result<Films, Error> {
    let mut films = Vec::new();
    for Target { path, .. } in recording.targets(0) {
        films.push((path.clone(), Film::new(&path)?));
    }
    for Shot { step, grids } in shots {
        for ((path, film), target) in films.iter_mut().zip(recording.targets(step)) {
            let grids = of_target(recording, &target, &grids);
            let content = &mut Content::of_grids(recording.about(&target, step), &grids);
            let failed = |source| Error::Write { path: path.clone(), source };
            film.add(recording, content, 0).map_err(failed)?;
        }
    }
    Ok(films)
}
