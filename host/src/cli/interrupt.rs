// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ctrl-C, and the signals by which a batch system or a lost terminal ends a program: they ask the work to
//! end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::signal;
use signal_hook::flag;

use super::Failure;
use crate::signal::Signal;
use problem::Error;
use problem::control::Stop;

/// The signals that were caught.
#[derive(Debug)]
pub struct Signals {
    /// The exit code of the one that came last, or 0.
    caught: Arc<AtomicUsize>,
    /// Set by the first one.
    flag: Arc<AtomicBool>,
}

impl Signals {
    /// From now on a signal only asks for an end, so that temporary files are removed and results kept; a
    /// second Ctrl-C ends the program at once. Where a handler cannot be installed, the signal keeps ending
    /// the program.
    pub fn catch() -> Self {
        let signals = Self { caught: Arc::default(), flag: Arc::default() };
        let again = Arc::new(AtomicBool::new(false));
        let code = i32::from(Signal::Interrupt.exit_code());
        // In this order: the first Ctrl-C finds the flag unset, and sets it.
        let _ = flag::register_conditional_shutdown(signal::SIGINT, code, Arc::clone(&again));
        let _ = flag::register(signal::SIGINT, again);
        for kind in Signal::ALL {
            // `nohup` has switched it off for a program that is to go on.
            let wanted = |number: &i32| kind != Signal::HangUp || !is_ignored(*number);
            if let Some(number) = kind.number().filter(wanted) {
                let code = usize::from(kind.exit_code());
                // Whoever sees the flag finds the signal.
                let _ = flag::register_usize(number, Arc::clone(&signals.caught), code);
                let _ = flag::register(number, Arc::clone(&signals.flag));
            }
        }
        signals
    }

    /// What they ask.
    pub fn stop(&self) -> Stop {
        Stop::from(Arc::clone(&self.flag))
    }

    /// The one that came last; Ctrl-C, if none came.
    pub fn last(&self) -> Signal {
        let code = self.caught.load(Ordering::Relaxed);
        let caught = Signal::ALL.into_iter().find(|kind| usize::from(kind.exit_code()) == code);
        caught.unwrap_or(Signal::Interrupt)
    }

    /// Adds to a failure which signal stopped the work, if one did.
    pub fn name(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Library(Error::Stopped { during }) => {
                Failure::Interrupted { signal: self.last(), during }
            }
            other => other.map_inner(|inner| self.name(inner)),
        }
    }
}

/// Whether a signal is switched off, where the system tells.
fn is_ignored(number: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (number - 1) & 1 == 1)
}
