// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a report says of a system.

use super::checked::System;
use super::parts::Field;
use super::session::{Jumps, StepSession};
use compute::plan::Forecast;
use compute::report::{Facts, Keeps, Problem, Report, Timing, Verification};

impl System {
    /// What is computed in so many steps, of values that lie in memory with so many bytes.
    fn problem(&self, steps: usize, value_bytes: usize) -> Problem {
        let dims = self.shape.dims();
        let around = |field: &Field| field.boundary.describe(dims);
        let usual = self.fields.first().map(around).unwrap_or_default();
        let boundary = match self.fields.iter().all(|field| around(field) == usual) {
            true => usual,
            false => {
                let all = self.fields.iter();
                let all = all.map(|field| format!("{} {}", field.name, around(field)));
                all.collect::<Vec<_>>().join("; ")
            }
        };
        Problem {
            stencil: None,
            title: Some(self.title.clone()),
            fields: self.fields().map(str::to_owned).collect(),
            shape: self.shape,
            steps,
            dt: Some(self.dt),
            dtype: self.dtype,
            boundary,
            arrays_read: self.program.arrays().len(),
            arrays_written: self.fields.len(),
            value_bytes,
        }
    }
}

/// What was timed: so many steps, and by which jumps.
pub struct Timed {
    pub steps: usize,
    pub timing: Timing,
    pub jumps: Option<Jumps>,
}

/// The report of so many steps of a system.
pub fn report(
    system: &System,
    session: &dyn StepSession,
    steps: usize,
    timed: Timed,
    (why, verification): (Option<String>, Verification),
) -> Report {
    let (jump, noise) = match timed.jumps {
        Some(Jumps { jump, noise }) => (Some(jump), Some(noise)),
        None => (None, None),
    };
    let facts = Facts {
        engine: session.engine(),
        why,
        kernel: None,
        forecast: Forecast::default(),
        fuse: 1,
        chain: if jump.is_some() { 1 } else { session.launch() },
        jump,
        noise,
        arithmetic: session.arithmetic(),
        keeps: Keeps::wider_than(system.dtype),
        device: session.device(),
        timed_steps: timed.steps,
        sweeps: timed.steps,
        timing: timed.timing,
    };
    Report::new(system.problem(steps, session.value_bytes()), facts, verification)
}
