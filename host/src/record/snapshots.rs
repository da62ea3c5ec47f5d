// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a computation has come to every some steps: copied where it is computed, written by another thread.

use std::path::PathBuf;

use super::film::Film;
use super::recording::Recording;
use super::writer::{Shot, Writer};
use crate::observe::{Observer, Onward, Standing, next_multiple};
use crate::problem::View;
use crate::values::Element;
use crate::{Error, Grid, Holder, Values};

/// Bytes of an array that are read at a time.
const PIECE_BYTES: usize = 4 << 20;

/// Writes a recording every some steps, the start included and the end not: that is for whoever checks it first.
pub struct Snapshots {
    recording: Recording,
    every: usize,
    last: usize,
    /// The first step that is not written yet.
    from: usize,
    is_film: bool,
    writer: Writer,
}

impl Snapshots {
    /// Of a computation that has taken `done` steps and is to take `last` in all; every `every` steps, at least 1.
    #[must_use]
    pub fn new(recording: Recording, every: usize, done: usize, last: usize) -> Self {
        let is_film = !recording.pattern().has_step();
        let listed = (0..=done).step_by(every).collect();
        let writer =
            Writer::start(recording.clone(), is_film, if done > 0 { listed } else { Vec::new() });
        let from = if done == 0 { 0 } else { done + 1 };
        Self { recording, every, last, from, is_film, writer }
    }

    /// Waits until all is written, after so many steps. A film gets them as its last picture, and is handed over
    /// with its place; a list of files gets their file.
    ///
    /// # Errors
    /// Something could not be read or written.
    pub fn finish(
        mut self,
        step: usize,
        standing: &mut dyn Standing,
    ) -> Result<Vec<(PathBuf, Film)>, Error> {
        if self.is_film && step >= self.from {
            self.shoot(step, standing)?;
        }
        self.writer.finish()
    }

    fn shoot(&mut self, step: usize, standing: &mut dyn Standing) -> Result<(), Error> {
        let view = self.recording.view();
        let fields = self.recording.fields().iter();
        let grids = fields.map(|(place, _)| copy(standing, *place, &view));
        let grids = grids.collect::<Result<Vec<_>, _>>()?;
        // Of fields that are copied as a whole nothing has to be read again, unless for the error.
        let fields = standing.arrays().iter().filter(|array| array.level == 0).count();
        let whole = view == View::whole(standing.shape()) && grids.len() == fields;
        if !whole || grids.iter().any(|grid| grid.check_finite(Holder::Result).is_err()) {
            standing.check_finite()?;
        }
        self.from = step + 1;
        self.writer.send(Shot { step, grids })
    }
}

impl Observer for Snapshots {
    fn next(&self, done: usize) -> Option<usize> {
        next_multiple(done, self.every)
    }

    fn look(&mut self, done: usize, standing: &mut dyn Standing) -> Result<Onward, Error> {
        let wanted = done.is_multiple_of(self.every) && done >= self.from && done != self.last;
        if wanted {
            self.shoot(done, standing)?;
        }
        Ok(Onward::Continue)
    }
}

/// A copy of what a view shows of an array, given by its place.
///
/// # Errors
/// There is no memory for it, or the device refuses.
pub fn copy(standing: &mut dyn Standing, array: usize, view: &View) -> Result<Grid, Error> {
    let mut all: Option<Values> = None;
    // Bytes of a value are known with the first one.
    let one = standing.read(array, crate::problem::Region { low: [0; 3], high: [1; 3] })?.dtype();
    Grid::check_memory(view.shape(), one)?;
    view.pieces(
        one,
        PIECE_BYTES,
        |region| standing.read(array, region),
        |part| {
            match &mut all {
                None => all = Some(part),
                Some(all) => append(all, part, view.shape().points()),
            }
            Ok::<(), Error>(())
        },
    )?;
    let values = all.expect("no grid is empty");
    Ok(Grid { shape: view.shape(), values })
}

/// Appends values of the same type to those of a grid of so many points.
fn append(all: &mut Values, part: Values, points: usize) {
    fn join<T: Element>(all: &mut Vec<T>, part: Vec<T>, points: usize) {
        all.reserve_exact(points.saturating_sub(all.len()));
        all.extend(part);
    }
    match (all, part) {
        (Values::F16(all), Values::F16(part)) => join(all, part, points),
        (Values::Bf16(all), Values::Bf16(part)) => join(all, part, points),
        (Values::F32(all), Values::F32(part)) => join(all, part, points),
        (Values::F64(all), Values::F64(part)) => join(all, part, points),
        _ => unreachable!("an array has one type"),
    }
}
