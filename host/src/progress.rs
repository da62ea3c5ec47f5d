// SPDX-License-Identifier: MIT OR Apache-2.0
//! A bar with the time left, for work that takes more than a second.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{Error, interrupt};

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// One stretch of work of a known number of steps.
pub struct Progress {
    bar: ProgressBar,
    /// Never to be shown, or shown already.
    settled: bool,
}

impl Progress {
    /// Starts the clock. The bar goes to stderr, and only if that is a terminal.
    #[must_use]
    pub fn new(name: &'static str, steps: usize, quiet: bool) -> Self {
        // Hidden at first, but counting, so that its estimate is good when it shows.
        let bar = bar("{msg} {wide_bar} {pos}/{len} steps, {eta} left", steps);
        Self { bar: bar.with_message(name), settled: quiet }
    }

    /// A bar for a number of measurements, which shows at once.
    #[must_use]
    pub fn of_measurements(count: usize, quiet: bool) -> Self {
        let bar = bar("{msg} {wide_bar} {pos}/{len}, {eta} left", count);
        if !quiet {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        Self { bar, settled: true }
    }

    /// Names what is being done now.
    pub fn starts(&mut self, name: String) {
        self.bar.set_message(name);
    }

    /// To be called between steps, with the number of those done.
    ///
    /// # Errors
    /// [`Error::Interrupted`] after Ctrl-C.
    pub fn reached(&mut self, done: usize) -> Result<(), Error> {
        interrupt::check()?;
        if !self.settled && self.bar.elapsed() > PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.settled = true;
        }
        self.bar.set_position(done as u64);
        Ok(())
    }
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
