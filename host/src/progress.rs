// SPDX-License-Identifier: MIT OR Apache-2.0
//! A bar with the time left, for work that takes more than a second.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::{Error, interrupt};

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// One stretch of work of a known number of steps.
pub struct Progress {
    name: &'static str,
    steps: usize,
    start: Instant,
    bar: Option<ProgressBar>,
    quiet: bool,
}

impl Progress {
    /// Starts the clock. The bar goes to stderr, and only if that is a terminal.
    #[must_use]
    pub fn new(name: &'static str, steps: usize, quiet: bool) -> Self {
        Self { name, steps, start: Instant::now(), bar: None, quiet }
    }

    /// To be called between steps, with the number of those done.
    ///
    /// # Errors
    /// [`Error::Interrupted`] after Ctrl-C.
    pub fn reached(&mut self, done: usize) -> Result<(), Error> {
        interrupt::check()?;
        if !self.quiet && self.bar.is_none() && self.start.elapsed() > PATIENCE {
            let template = "{msg} {wide_bar} {pos}/{len} steps, {eta} left";
            let style = ProgressStyle::with_template(template).expect("the template is valid");
            let bar = ProgressBar::new(self.steps as u64).with_elapsed(self.start.elapsed());
            self.bar = Some(bar.with_style(style).with_message(self.name));
        }
        if let Some(bar) = &self.bar {
            bar.set_position(done as u64);
        }
        Ok(())
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
