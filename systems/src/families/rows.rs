// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps on all cores of this machine, row by row: one at a time, or several while rows are in the caches.

use super::{Family, PlannedRun, RejectedPlan, StepPlan};
use crate::checked::System;
use crate::session::StepSession;
use crate::start::StartValues;
use crate::{cpu, fft};
use compute::families::Refusal;
use problem::Error;

/// Steps on the CPU, row by row.
pub struct RowsFamily;

impl Family for RowsFamily {
    fn name(&self) -> &'static str {
        "rows"
    }

    fn about(&self) -> &'static str {
        "Systems: steps on the cores of this machine, several together where rows stay in their caches"
    }

    fn engine(&self) -> &'static str {
        "cpu"
    }

    fn propose(&self, run: &PlannedRun) -> Vec<Result<StepPlan, RejectedPlan>> {
        if !run.hardware.cores {
            return Vec::new();
        }
        vec![one(run.system).map_err(RejectedPlan::from)]
    }

    fn require(&self, system: &System) -> Result<(), Error> {
        cpu::require(system)
    }

    fn open(
        &self,
        _: &StepPlan,
        system: System,
        beginning: StartValues,
    ) -> Result<Box<dyn StepSession>, Error> {
        Ok(cpu::session(system, beginning, None))
    }
}

fn one(system: &System) -> Result<StepPlan, Refusal> {
    let steps = cpu::depth(system).map_err(Refusal::Chain)?;
    let chain = if system.steps > 0 { steps.min(system.steps) } else { steps };
    let together = if chain > 1 { format!("_c{chain}") } else { String::new() };
    Ok(StepPlan {
        family: &RowsFamily,
        kernel: format!(
            "rows{}d_{}{}{together}",
            system.shape.dims(),
            system.dtype,
            system.stages_in_name()
        ),
        chain,
        seconds_per_step: fft::stepped(system, 1),
        set_up: 0.0,
        launch: None,
    })
}
