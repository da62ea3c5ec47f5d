// SPDX-License-Identifier: MIT OR Apache-2.0
//! When a step is, and how long it is.

use serde::{Deserialize, Serialize};

/// When steps are, and how long: from one of them on, up to another one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "[u64; 4]", into = "[u64; 4]")]
pub struct Clock {
    /// The step from which it counts.
    pub step: usize,
    /// The time before that step.
    pub time: f64,
    /// The length of a step.
    pub dt: f64,
    /// The step up to which steps are so long.
    pub until: usize,
}

impl Clock {
    /// One of steps which all are so long.
    #[must_use]
    pub fn of(dt: f64) -> Self {
        Self { step: 0, time: 0.0, dt, until: usize::MAX }
    }

    /// One of steps of which nobody has said how long they are.
    #[must_use]
    pub fn unknown() -> Self {
        Self { step: 0, time: 0.0, dt: 0.0, until: 0 }
    }

    /// The time after so many steps, of which the last one may not be over.
    #[must_use]
    pub fn at(&self, steps: f64) -> f64 {
        self.time + (steps - self.step as f64) * self.dt
    }
}

/// Every bit is kept in whatever it is written.
impl From<[u64; 4]> for Clock {
    fn from([step, time, dt, until]: [u64; 4]) -> Self {
        let [time, dt] = [time, dt].map(f64::from_bits);
        Self { step: step as usize, time, dt, until: until as usize }
    }
}

impl From<Clock> for [u64; 4] {
    fn from(Clock { step, time, dt, until }: Clock) -> Self {
        [step as u64, time.to_bits(), dt.to_bits(), until as u64]
    }
}
