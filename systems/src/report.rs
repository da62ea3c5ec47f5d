// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a report says of a system.

use super::checked::System;
use super::parts::Field;
use super::plan::ChosenPlan;
use super::session::{Jumps, StepSession};
use compute::report::{Facts, MorePrecise, ReportProblem, Timing};

impl System {
    /// What is computed in so many steps, of values that lie in memory with so many bytes.
    pub(super) fn problem(&self, steps: usize, value_bytes: usize) -> ReportProblem {
        let dims = self.shape.dims();
        let around = |field: &Field| field.boundary.describe(dims);
        let fields: Vec<&Field> = self.fields.iter().filter(|field| !field.is_memory).collect();
        let usual = fields.first().copied().map(around).unwrap_or_default();
        let boundary = match fields.iter().all(|field| around(field) == usual) {
            true => usual,
            false => {
                let all = fields.iter();
                let all = all.map(|field| format!("{} {}", field.name, around(field)));
                all.collect::<Vec<_>>().join("; ")
            }
        };
        let (arrays_read, arrays_written) = self.moved();
        ReportProblem {
            stencil: None,
            title: Some(self.title.clone()),
            fields: self.fields().map(str::to_owned).collect(),
            shape: self.shape,
            steps,
            dt: (!self.varies_steps()).then_some(self.clock.dt),
            dtype: self.dtype,
            boundary,
            arrays_read,
            arrays_written,
            value_bytes,
        }
    }
}

/// What was timed: so many steps, and by which jumps.
pub struct TimedSteps {
    pub steps: usize,
    pub timing: Timing,
    pub jumps: Option<Jumps>,
}

/// What computed so many steps of a system.
pub fn facts(
    system: &System,
    session: &dyn StepSession,
    chosen: Option<(&ChosenPlan, usize)>,
    timed: TimedSteps,
    steps: usize,
) -> Facts {
    let (jump, noise) = match timed.jumps {
        Some(Jumps { jump, noise }) => (Some(jump), Some(noise)),
        None => (None, None),
    };
    let forecast =
        |(chosen, planned): (&ChosenPlan, usize)| chosen.forecast.of_steps(steps, planned);
    Facts {
        engine: session.engine(),
        why: chosen.map(|(chosen, _)| chosen.why.clone()),
        kernel: chosen.map(|(chosen, _)| chosen.way.kernel.clone()),
        forecast: chosen.map(forecast).unwrap_or_default(),
        fuse: 1,
        chain: if jump.is_some() { 1 } else { session.launch() },
        jump,
        noise,
        arithmetic: session.arithmetic(),
        keeps: MorePrecise::wider_than(system.dtype),
        device: session.device(),
        timed_steps: timed.steps,
        sweeps: timed.steps,
        timing: timed.timing,
    }
}
