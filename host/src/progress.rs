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
        let template = "{msg} {wide_bar} {pos}/{len} steps, {eta} left";
        let style = ProgressStyle::with_template(template).expect("the template is valid");
        // Hidden at first, but counting, so that its estimate is good when it shows.
        let hidden = ProgressDrawTarget::hidden();
        let bar = ProgressBar::with_draw_target(Some(steps as u64), hidden);
        Self { bar: bar.with_style(style).with_message(name), settled: quiet }
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

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
