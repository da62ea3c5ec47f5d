// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far long work has come, with the time left: a bar where stderr is a terminal, else a line now and
//! then.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{Error, interrupt};

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);
/// From a line to the next, where there is no terminal.
const INTERVAL: Duration = Duration::from_secs(10);

/// One stretch of work of a known number of steps.
pub struct Progress {
    bar: ProgressBar,
    name: String,
    length: usize,
    unit: &'static str,
    display: Display,
}

/// What is still to be shown.
enum Display {
    /// Nothing, or the bar is there.
    Settled,
    /// A bar, after a while.
    Bar,
    /// Lines; the time of the next.
    Lines(Instant),
}

impl Progress {
    /// Starts the clock.
    #[must_use]
    pub fn new(name: &'static str, steps: usize, quiet: bool) -> Self {
        Self::of(name, steps, " steps", quiet)
    }

    /// For a number of measurements; the bar shows at once.
    #[must_use]
    pub fn of_measurements(count: usize, quiet: bool) -> Self {
        let mut progress = Self::of("", count, "", quiet);
        if matches!(progress.display, Display::Bar) {
            progress.show();
        }
        progress
    }

    fn of(name: &str, length: usize, unit: &'static str, quiet: bool) -> Self {
        // Hidden at first, but counting, so that its estimate is good when it shows.
        let template = format!("{{msg}} {{wide_bar}} {{pos}}/{{len}}{unit}, {{eta}} left");
        let bar = bar(&template, length).with_message(name.to_owned());
        let display = match (quiet, io::stderr().is_terminal()) {
            (true, _) => Display::Settled,
            (false, true) => Display::Bar,
            (false, false) => Display::Lines(Instant::now() + INTERVAL),
        };
        Self { bar, name: name.to_owned(), length, unit, display }
    }

    /// Names what is being done now.
    pub fn starts(&mut self, name: String) {
        self.bar.set_message(name.clone());
        self.name = name;
    }

    /// To be called between steps, with the number of those done.
    ///
    /// # Errors
    /// [`Error::Interrupted`] after a signal.
    pub fn reached(&mut self, done: usize) -> Result<(), Error> {
        interrupt::check()?;
        self.bar.set_position(done as u64);
        match self.display {
            Display::Bar if self.bar.elapsed() > PATIENCE => self.show(),
            Display::Lines(next) => {
                let now = Instant::now();
                if let Some(line) = self.line(done, next, now) {
                    // Nothing is lost if stderr is gone.
                    let _ = writeln!(io::stderr(), "{line}");
                    self.display = Display::Lines(now + INTERVAL);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn show(&mut self) {
        self.bar.set_draw_target(ProgressDrawTarget::stderr());
        self.display = Display::Settled;
    }

    /// The line for now, if it is time for one.
    fn line(&self, done: usize, next: Instant, now: Instant) -> Option<String> {
        let Self { name, length, unit, .. } = self;
        let line = || {
            let left = HumanDuration(estimate(self.bar.elapsed(), done, *length)?);
            Some(format!("{name}: {done} of {length}{unit}, about {left} left"))
        };
        if now < next { None } else { line() }
    }
}

/// The time for the rest, if it takes as long as what is done did.
fn estimate(elapsed: Duration, done: usize, length: usize) -> Option<Duration> {
    let left = length.saturating_sub(done) as f64;
    (done > 0).then(|| elapsed.mul_f64(left / done as f64))
}

/// Not shown yet.
fn bar(template: &str, length: usize) -> ProgressBar {
    let style = ProgressStyle::with_template(template).expect("the template is valid");
    let hidden = ProgressDrawTarget::hidden();
    ProgressBar::with_draw_target(Some(length as u64), hidden).with_style(style)
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_when_it_is_time_and_says_what_is_left() {
        let progress = Progress::new("computing", 1000, true);
        let (start, later) = (Instant::now(), Instant::now() + INTERVAL);
        assert_eq!(progress.line(100, later, start), None);
        let line = progress.line(100, start, later).unwrap();
        assert!(line.starts_with("computing: 100 of 1000 steps, about "), "{line}");
        assert!(line.ends_with(" left"), "{line}");
        // Of no step there is nothing to estimate by.
        assert_eq!(progress.line(0, start, later), None);
    }

    #[test]
    fn the_rest_is_estimated_by_what_is_done() {
        let estimate = |seconds, done| estimate(Duration::from_secs(seconds), done, 1000);
        assert_eq!(estimate(10, 100), Some(Duration::from_secs(90)));
        assert_eq!(estimate(10, 1000), Some(Duration::ZERO));
        assert_eq!(estimate(10, 0), None);
    }

    #[test]
    fn quiet_shows_nothing() {
        assert!(matches!(Progress::new("computing", 10, true).display, Display::Settled));
    }
}
