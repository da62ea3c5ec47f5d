// SPDX-License-Identifier: MIT OR Apache-2.0
//! How work that takes long is ended before its time, and followed on its way. By default it is neither: nothing
//! is shown, and no signal is caught.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Error;
use crate::error::InterruptedWork;

/// Asks work to end. Clones share the request.
///
/// ```
/// # use problem as stencil;
/// use stencil::control::Stop;
/// let stop = Stop::default();
/// let other = stop.clone();
/// assert!(stop.check().is_ok());
/// other.request();
/// assert!(stop.check().is_err());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// From now on work ends where it looks for this, which it does about ten times a second between
    /// launches.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Ends the work that asks, if that was requested.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn check(&self) -> Result<(), Error> {
        match self.0.load(Ordering::Relaxed) {
            true => Err(Error::Stopped { during: InterruptedWork::Computing }),
            false => Ok(()),
        }
    }
}

/// A request that a flag makes, such as one that is set by a signal.
impl From<Arc<AtomicBool>> for Stop {
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }
}

/// Work of a number of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Time steps.
    Computing,
    /// Time steps of the reference, summed over the regions that are compared.
    Verifying,
    /// Time steps between which the first one lies whose result is not finite.
    Tracing,
    /// Measurements of a benchmark.
    Benchmark,
}

/// Whoever is told how far work has come.
pub trait Progress: Send + Sync {
    /// Work begins.
    fn begin(&self, work: Work, steps: usize) -> Box<dyn Meter>;
}

/// One piece of work; dropped at its end.
pub trait Meter {
    /// So many of its steps are done.
    fn reached(&mut self, done: usize);

    /// What is done now.
    fn starts(&mut self, _what: &str) {}

    /// Why the measured speeds of the GPU are not planned with.
    fn stale_speeds(&mut self, _why: &str) {}
}

/// Who may end work, and who is told of it.
#[derive(Clone, Default)]
pub struct Control {
    /// Who may end it.
    pub stop: Stop,
    /// Who is told; by default nobody.
    pub progress: Option<Arc<dyn Progress>>,
}

impl Control {
    /// Begins a piece of work.
    #[must_use]
    pub fn begin(&self, work: Work, steps: usize) -> Piece {
        let meter = self.progress.as_ref().map(|progress| progress.begin(work, steps));
        Piece { stop: self.stop.clone(), meter, told: false }
    }
}

/// A piece of work under control.
pub struct Piece {
    stop: Stop,
    meter: Option<Box<dyn Meter>>,
    /// Whether stale speeds were told of.
    told: bool,
}

impl Piece {
    /// To be called between steps, with the number of those done.
    ///
    /// # Errors
    /// [`Error::Stopped`], if that was requested.
    pub fn reached(&mut self, done: usize) -> Result<(), Error> {
        self.stop.check()?;
        if let Some(meter) = &mut self.meter {
            meter.reached(done);
        }
        Ok(())
    }

    /// Says once why the measured speeds of the GPU are not planned with.
    pub fn stale_speeds(&mut self, why: &str) {
        if let Some(meter) = self.meter.as_mut().filter(|_| !self.told) {
            meter.stale_speeds(why);
            self.told = true;
        }
    }

    /// Names what is done now.
    pub fn starts(&mut self, what: &str) {
        if let Some(meter) = &mut self.meter {
            meter.starts(what);
        }
    }
}

/// Steps cut where the number of all that are done is a multiple of `every` (at least 1): how many, and whether
/// they end there.
pub fn portions(done: usize, steps: usize, every: usize) -> impl Iterator<Item = (usize, bool)> {
    let (every, last) = (every.max(1), done.saturating_add(steps));
    let mut at = done;
    std::iter::from_fn(move || {
        let portion = (every - at % every).min(last - at);
        at += portion;
        (portion > 0).then_some((portion, at.is_multiple_of(every)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Notes what it is told.
    #[derive(Clone, Default)]
    struct Notes(Arc<Mutex<Vec<String>>>);

    impl Progress for Notes {
        fn begin(&self, work: Work, steps: usize) -> Box<dyn Meter> {
            self.0.lock().unwrap().push(format!("{work:?} {steps}"));
            Box::new(self.clone())
        }
    }

    impl Meter for Notes {
        fn reached(&mut self, done: usize) {
            self.0.lock().unwrap().push(done.to_string());
        }
    }

    #[test]
    fn progress_is_told_until_somebody_asks_for_an_end() {
        let notes = Notes::default();
        let control = Control { progress: Some(Arc::new(notes.clone())), ..Control::default() };
        let mut piece = control.begin(Work::Computing, 7);
        piece.reached(3).unwrap();
        control.stop.request();
        let error = InterruptedWork::Verifying.of(piece.reached(4).unwrap_err());
        assert_eq!(error.to_string(), "stopped while the result was being verified");
        assert_eq!(*notes.0.lock().unwrap(), ["Computing 7", "3"]);
    }

    #[test]
    fn portions_end_at_multiples_of_all_steps() {
        let cut = |done, steps, every| portions(done, steps, every).collect::<Vec<_>>();
        assert_eq!(cut(0, 7, 3), [(3, true), (3, true), (1, false)]);
        assert_eq!(cut(7, 5, 3), [(2, true), (3, true)]);
        assert_eq!(cut(5, 2, 0), [(1, true), (1, true)]);
        assert_eq!(cut(5, 2, usize::MAX), [(2, false)]);
        assert_eq!(cut(3, 0, 3), []);
    }
}
