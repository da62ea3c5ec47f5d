// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ctrl-C: a flag that long work looks at between its steps.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Error;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C sets the flag, so that temporary files are removed; a second one ends the
/// program at once. Where a handler cannot be installed, Ctrl-C keeps ending the program.
pub fn install() {
    let _ = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            process::exit(i32::from(Error::Interrupted.exit_code()));
        }
    });
}

/// Ends the work that asks, if there was a Ctrl-C.
///
/// # Errors
/// [`Error::Interrupted`].
pub fn check() -> Result<(), Error> {
    if INTERRUPTED.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
}
