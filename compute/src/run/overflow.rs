// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values that outgrow their type: looked for now and then, and traced to the step that made them.

use std::time::{Duration, Instant};

use super::PIECE_BYTES;
use crate::engine::{Input, Session, State};
use problem::control::{Control, Work};
use problem::region::Region;
use problem::{Error, Grid};

/// Looking takes at most this part of the time of computing.
const SHARE: u32 = 50;
/// The time before the first look: shorter runs are looked at in the end.
const PATIENCE: Duration = Duration::from_millis(200);
/// The least time that a search for the step may take.
const SEARCH: Duration = Duration::from_secs(2);

/// When to look, and what was seen.
pub struct OverflowWatch {
    /// The last step after which all values were finite.
    finite: usize,
    /// Of computing, since the last look and before the next one.
    since: Duration,
    patience: Duration,
}

impl OverflowWatch {
    /// From a finite grid after so many steps on.
    pub fn from(done: usize) -> Self {
        Self { finite: done, since: Duration::ZERO, patience: PATIENCE }
    }

    /// To be told that the grid is now that after `done` steps, of which the last ones took so long:
    /// looks, if it is time to. Returns the position in C order and the value of the first that is not
    /// finite.
    ///
    /// # Errors
    /// The device refuses.
    pub fn passed(
        &mut self,
        session: &mut dyn Session,
        done: usize,
        time: Duration,
    ) -> Result<Option<(usize, f64)>, Error> {
        self.since += time;
        if self.since < self.patience { Ok(None) } else { self.look(session, done) }
    }

    /// Looks.
    ///
    /// # Errors
    /// The device refuses.
    pub fn look(
        &mut self,
        session: &mut dyn Session,
        done: usize,
    ) -> Result<Option<(usize, f64)>, Error> {
        let start = Instant::now();
        let bad = first_bad(session)?;
        if bad.is_none() {
            self.finite = done;
        }
        self.patience = PATIENCE.max(SHARE * start.elapsed());
        self.since = Duration::ZERO;
        Ok(bad)
    }

    /// Looks at a copy of the grid after `done` steps.
    ///
    /// # Errors
    /// [`Error::Overflow`], with the steps between which the first such value came.
    pub fn check(&mut self, grid: &Grid, done: usize) -> Result<(), Error> {
        match grid.values.first_not_finite() {
            None => self.finite = done,
            Some((index, value)) => {
                let (finite, position) = (self.finite, grid.shape.position(index));
                return Err(Error::Overflow { step: done, finite, value, position });
            }
        }
        Ok(())
    }

    /// The error for what was seen after `done` steps. If the session kept its input, it is advanced again
    /// to find the first such step, in no more than the time that the run took; otherwise the steps between
    /// which it lies are told.
    ///
    /// # Errors
    /// Somebody asked for an end, or the device refuses.
    pub fn trace(
        &self,
        session: &mut dyn Session,
        input: Input,
        done: usize,
        seen: (usize, f64),
        control: &Control,
        took: Duration,
    ) -> Result<Error, Error> {
        let (mut finite, mut step, mut seen) = (self.finite, done, seen);
        let mut progress = control.begin(Work::Tracing, step - finite);
        let (start, limit) = (Instant::now(), took.max(SEARCH));
        while input == Input::Kept && finite + 1 < step {
            let probe = finite.midpoint(step);
            let expected = took.mul_f64(probe as f64 / done.max(1) as f64);
            if start.elapsed() + expected > limit {
                break;
            }
            session.restart()?;
            session.advance(probe)?;
            match first_bad(session)? {
                Some(bad) => (step, seen) = (probe, bad),
                None => finite = probe,
            }
            progress.reached((done - self.finite) - (step - finite))?;
        }
        let (index, value) = seen;
        let position = session.shape().position(index);
        Ok(Error::Overflow { step, finite, value, position })
    }
}

/// Position in C order and value of the first that is not finite.
fn first_bad(session: &mut dyn Session) -> Result<Option<(usize, f64)>, Error> {
    if session.knows_finite()? {
        return Ok(None);
    }
    let shape = session.shape();
    let most = PIECE_BYTES / session.dtype().bytes();
    for piece in Region::pieces(shape, most) {
        let values = session.read(0, State::Now, piece)?;
        if let Some((index, value)) = values.first_not_finite() {
            return Ok(Some((piece.row_in(0, shape) + index, value)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::super::tests::Counting;
    use super::*;

    /// The grid of `Counting` is not finite from step 700 on.
    fn trace(done: usize, finite: usize, input: Input) -> String {
        let mut session = Counting::new(Some(700));
        session.advance(done).unwrap();
        let mut watch = OverflowWatch::from(0);
        watch.finite = finite;
        let seen = first_bad(&mut session).unwrap().unwrap();
        let control = Control::default();
        let error = watch.trace(&mut session, input, done, seen, &control, Duration::ZERO).unwrap();
        error.to_string()
    }

    #[test]
    fn the_step_and_the_place_are_found() {
        let exact = "after step 700 the grid holds inf at (x) = (1); after step 699 all values were \
                     finite";
        assert_eq!(trace(100_000, 0, Input::Kept), exact);
        assert_eq!(trace(800, 512, Input::Kept), exact);
        assert_eq!(trace(700, 699, Input::Dropped), exact);
    }

    #[test]
    fn without_the_input_the_steps_between_are_told() {
        let bracket = "after step 800 the grid holds inf at (x) = (1); after step 512 all values \
                       were finite";
        assert_eq!(trace(800, 512, Input::Dropped), bracket);
    }

    #[test]
    fn a_look_comes_when_computing_took_long_enough() {
        let mut session = Counting::new(Some(700));
        let mut watch = OverflowWatch::from(0);
        session.advance(699).unwrap();
        assert_eq!(watch.passed(&mut session, 699, PATIENCE).unwrap(), None);
        assert_eq!(watch.finite, 699);
        session.advance(1).unwrap();
        assert_eq!(watch.passed(&mut session, 700, PATIENCE / 2).unwrap(), None);
        assert_eq!(
            watch.passed(&mut session, 700, 50 * PATIENCE).unwrap(),
            Some((1, f64::INFINITY))
        );
    }
}
