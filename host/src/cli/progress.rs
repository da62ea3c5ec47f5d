// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far long work has come, with the time left, on stderr: a bar where that is a terminal, else a line now
//! and then.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{buffered_output, remedy, warn};
use problem::control::{Control, Meter, Progress, Stop, Work};

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);
/// From a line to the next, where there is no terminal.
const INTERVAL: Duration = Duration::from_secs(10);

/// Work that ends with a signal, and is shown unless it is to be quiet.
pub fn control(stop: Stop, quiet: bool) -> Control {
    let shown = (!quiet && buffered_output::shows_progress())
        .then(|| Arc::new(Terminal) as Arc<dyn Progress>);
    Control { stop, progress: shown }
}

/// Shows work on stderr.
struct Terminal;

impl Progress for Terminal {
    fn begin(&self, work: Work, steps: usize) -> Box<dyn Meter> {
        Box::new(ShownWork::new(work, steps))
    }
}

/// A piece of work whose progress is shown.
struct ShownWork {
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

impl ShownWork {
    /// Starts the clock.
    fn new(work: Work, length: usize) -> Self {
        let (name, unit) = match work {
            Work::Computing => ("computing", " steps"),
            Work::Verifying => ("verifying", " steps"),
            Work::Tracing => ("finding the step", " steps"),
            Work::Benchmark => ("", ""),
        };
        // Hidden at first, but counting, so that its estimate is good when it shows.
        let template = format!("{{msg}} {{wide_bar}} {{pos}}/{{len}}{unit}, {{eta}} left");
        let bar = bar(&template, length).with_message(name);
        let display = match io::stderr().is_terminal() {
            true => Display::Bar,
            false => Display::Lines(Instant::now() + INTERVAL),
        };
        let mut shown = Self { bar, name: name.to_owned(), length, unit, display };
        if work == Work::Benchmark && matches!(shown.display, Display::Bar) {
            shown.show();
        }
        shown
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

impl Meter for ShownWork {
    fn reached(&mut self, done: usize) {
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
    }

    fn starts(&mut self, what: &str) {
        self.bar.set_message(what.to_owned());
        what.clone_into(&mut self.name);
    }

    fn stale_speeds(&mut self, why: &str) {
        self.bar.suspend(|| warn(&remedy::of_stale_speeds(why)));
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

impl Drop for ShownWork {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_when_it_is_time_and_says_what_is_left() {
        let shown = ShownWork::new(Work::Computing, 1000);
        let (start, later) = (Instant::now(), Instant::now() + INTERVAL);
        assert_eq!(shown.line(100, later, start), None);
        let line = shown.line(100, start, later).unwrap();
        assert!(line.starts_with("computing: 100 of 1000 steps, about "), "{line}");
        assert!(line.ends_with(" left"), "{line}");
        // Of no step there is nothing to estimate by.
        assert_eq!(shown.line(0, start, later), None);
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
        assert!(control(Stop::default(), true).progress.is_none());
        assert!(control(Stop::default(), false).progress.is_some());
    }
}
