// SPDX-License-Identifier: MIT OR Apache-2.0
//! What files say of a system: checkpoints, and those that hold its fields.

use super::checked::System;
use files::io::checkpoint::CheckpointProblem;
use files::record::{RecordingClock, Units};

impl System {
    /// What checkpoints say of it.
    #[must_use]
    pub fn checkpointed(&self) -> CheckpointProblem {
        let (shape, dtype, dt) = (self.shape(), self.dtype(), self.dt());
        let fields: Vec<&str> = self.fields().collect();
        let fields = fields.join(", ");
        let name = match self.title() {
            "" => format!("a system of {fields}"),
            title => format!("{title}: {fields}"),
        };
        let steps_of = match self.varies_steps() {
            true => "steps whose length follows from the values".to_owned(),
            false => format!("steps of {dt}"),
        };
        let title = format!("{name} on {shape} {dtype} values, {steps_of}");
        let besides =
            "its spacing, equations, starts, boundaries, stencils, tables, sources or receivers";
        let (hash, arrays, steps) = (self.fingerprint(), self.arrays(), self.steps());
        CheckpointProblem { title, besides, hash, shape, dtype, arrays, steps }
    }

    /// When its steps are, and how far it is from a point to the next.
    #[must_use]
    pub fn units(&self) -> Units {
        let time = if self.has_variable_steps() {
            RecordingClock::Told
        } else {
            RecordingClock::Even(self.dt())
        };
        Units { time, spacing: self.spacing() }
    }
}
