// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a rank waits: alert at first, then with ever longer pauses, since ranks may share a core, and threads of this one may be
//! computing.

use std::thread;
use std::time::{Duration, Instant};

/// No pause until so much has been waited.
const ALERT: Duration = Duration::from_micros(200);
/// The longest pause.
const LONGEST: Duration = Duration::from_millis(1);
/// The longest pause while bytes are moving: MPI moves them only while it is called.
const SHORT: Duration = Duration::from_micros(50);
/// Pauses grow with what has been waited, of which they are this part at most.
const SHARE: u32 = 16;
/// How often something else is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// A wait.
pub struct Pause {
    start: Instant,
    look: Instant,
    longest: Duration,
}

impl Default for Pause {
    fn default() -> Self {
        let start = Instant::now();
        Self { start, look: start + LOOK, longest: LONGEST }
    }
}

impl Pause {
    /// A wait for bytes that are moving.
    pub fn moving() -> Self {
        Self { longest: SHORT, ..Self::default() }
    }

    /// Lets others work.
    pub fn wait(&mut self) {
        let waited = self.start.elapsed();
        match waited < ALERT {
            true => thread::yield_now(),
            false => thread::sleep(self.longest.min(waited / SHARE)),
        }
    }

    /// Whether it is time to look at something else.
    pub fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let due = now >= self.look;
        if due {
            self.look = now + LOOK;
        }
        due
    }
}
