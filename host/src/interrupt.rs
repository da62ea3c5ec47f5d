// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ctrl-C, and the signals by which a batch system or a lost terminal ends a program: a flag that long
//! work looks at between its steps.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::signal;
use signal_hook::flag;

use crate::Error;

/// A signal that asks for an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM: a batch system, or `kill`.
    Terminate,
    /// SIGHUP: the terminal is gone.
    HangUp,
}

impl Signal {
    const ALL: [Self; 3] = [Self::Interrupt, Self::Terminate, Self::HangUp];

    /// As shells report a program that the signal ended: 128 and its number.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::HangUp => 129,
            Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }

    /// Its number, on systems that have it.
    fn number(self) -> Option<i32> {
        match self {
            Self::Interrupt => Some(signal::SIGINT),
            Self::Terminate => Some(signal::SIGTERM),
            #[cfg(unix)]
            Self::HangUp => Some(signal::SIGHUP),
            #[cfg(not(unix))]
            Self::HangUp => None,
        }
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Interrupt => "Ctrl-C",
            Self::Terminate => "SIGTERM",
            Self::HangUp => "SIGHUP",
        })
    }
}

/// The exit code of the signal that came last, or 0.
fn caught() -> &'static Arc<AtomicUsize> {
    static CAUGHT: OnceLock<Arc<AtomicUsize>> = OnceLock::new();
    CAUGHT.get_or_init(Arc::default)
}

/// From now on a signal sets the flag, so that temporary files are removed and results kept; a second
/// Ctrl-C ends the program at once. Where a handler cannot be installed, the signal keeps ending the
/// program.
pub fn install() {
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
            let _ = flag::register_usize(number, Arc::clone(caught()), code);
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

/// The signal that came last, if one did.
#[must_use]
pub fn signal() -> Option<Signal> {
    let code = caught().load(Ordering::Relaxed);
    Signal::ALL.into_iter().find(|kind| usize::from(kind.exit_code()) == code)
}

/// Ends the work that asks, if there was a signal.
///
/// # Errors
/// [`Error::Interrupted`].
pub fn check() -> Result<(), Error> {
    signal().map_or(Ok(()), |signal| Err(Error::Interrupted { signal, during: During::Computing }))
}

/// What a signal put an end to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum During {
    /// Before there was a result.
    Computing,
    /// There was a result, but it was not verified.
    Verifying,
    /// There was a result, but its speed was not measured.
    Measuring,
}

impl During {
    /// The same for an error of this part of a run.
    #[must_use]
    pub fn of(self, error: Error) -> Error {
        match error {
            Error::Interrupted { signal, .. } => Error::Interrupted { signal, during: self },
            other => other,
        }
    }
}
