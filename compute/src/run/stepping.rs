// SPDX-License-Identifier: MIT OR Apache-2.0
//! The steps of any computation: batches of launches, with looks of observers and comparisons in between.

use std::ops::ControlFlow;
use std::time::Duration;

use problem::Error;
use problem::control::{Control, Work};
use problem::observe::{Observer, Snapshot};

/// The time of a batch of launches between two looks at signals and the progress bar.
const BATCH: Duration = Duration::from_millis(100);

/// A computation whose steps [`take_steps`] takes.
pub trait Stepping {
    /// Steps that are done.
    fn done(&self) -> usize;

    /// Time steps of the launch that most steps are taken with.
    fn launch(&self) -> usize;

    /// The computation as it stands.
    fn snapshot(&mut self) -> Box<dyn Snapshot + '_>;

    /// Takes so many steps at once, or fewer where it comes to an end of its own, and looks now and then whether all values are finite. Returns how long it took by the
    /// clock of this machine.
    ///
    /// # Errors
    /// A value is not finite, or the device refuses.
    fn take(&mut self, steps: usize) -> Result<Duration, Error>;

    /// Begins or ends the comparisons that are due at the present step, which may take steps. Returns the next step at which
    /// one begins or ends. All steps end at `last`; an observer may end them earlier, at `may_end` or later.
    ///
    /// # Errors
    /// A value is not what it must be, or the device refuses.
    fn compare(&mut self, last: usize, may_end: Option<usize>) -> Result<Option<usize>, Error>;

    /// Whether it has come to an end of its own.
    fn is_over(&self) -> bool {
        false
    }

    /// Ends the comparisons after the last step.
    ///
    /// # Errors
    /// As [`Stepping::compare`].
    fn finish(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// How many launches a batch has: twice as many as the batch before, until a batch takes about a tenth of a second.
#[derive(Clone, Copy, Debug)]
pub struct BatchSize {
    launches: usize,
}

impl Default for BatchSize {
    fn default() -> Self {
        Self { launches: 1 }
    }
}

impl BatchSize {
    /// Steps of a batch.
    fn batch(self, launch: usize) -> usize {
        self.launches.saturating_mul(launch)
    }

    /// Notes that so many steps took so long.
    fn took(&mut self, steps: usize, launch: usize, time: Duration) {
        let of_launch = time.as_secs_f64() * launch as f64 / steps as f64;
        let most = self.launches.saturating_mul(2);
        self.launches = ((BATCH.as_secs_f64() / of_launch) as usize).clamp(1, most);
    }
}

/// Takes steps until `last` are done in all or an observer has seen enough, and tells the observer of the end.
///
/// # Errors
/// A step or a comparison of `of` fails, somebody asked for an end, or the observer fails.
pub fn take_steps(
    of: &mut dyn Stepping,
    last: usize,
    pace: &mut BatchSize,
    observer: &mut dyn Observer,
    control: &Control,
) -> Result<(), Error> {
    let outcome = try_take(of, last, pace, observer, control).and_then(|()| of.finish());
    match &outcome {
        Ok(()) => observer.finishes(of.done(), &mut *of.snapshot()),
        Err(why) => observer.ends(of.done(), &mut *of.snapshot(), why),
    }
    outcome
}

fn try_take(
    of: &mut dyn Stepping,
    last: usize,
    pace: &mut BatchSize,
    observer: &mut dyn Observer,
    control: &Control,
) -> Result<(), Error> {
    let first = of.done();
    let mut piece = control.begin(Work::Computing, last.saturating_sub(first));
    loop {
        let done = of.done();
        match done - first {
            0 => control.stop.check()?,
            taken => piece.reached(taken)?,
        }
        if observer.look(done, &mut *of.snapshot())? == ControlFlow::Break(()) {
            return Ok(());
        }
        if done >= last || of.is_over() {
            return Ok(());
        }
        let may_end = observer.may_end(done).map(|end| end.min(last));
        let stop = of.compare(last, may_end)?;
        if of.done() == done {
            let next = stop.into_iter().chain(observer.next(done)).fold(last, usize::min);
            // Batches are of whole launches, so that what is compared comes from the kernels that are measured.
            let launch = of.launch();
            let steps = pace.batch(launch).min(next.max(done + 1) - done);
            let time = of.take(steps)?;
            pace.took(steps, launch, time);
        }
    }
}
