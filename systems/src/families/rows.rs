// SPDX-License-Identifier: MIT OR Apache-2.0
//! One step at a time on all cores of this machine, row by row.

use super::{Family, Out, Run, Way};
use crate::checked::System;
use crate::session::StepSession;
use crate::start::StartValues;
use crate::{cpu, fft};
use compute::families::Refusal;
use problem::Error;

/// The family.
pub struct Rows;

impl Family for Rows {
    fn name(&self) -> &'static str {
        "rows"
    }

    fn about(&self) -> &'static str {
        "Systems: one step at a time on the cores of this machine"
    }

    fn engine(&self) -> &'static str {
        "cpu"
    }

    fn propose(&self, run: &Run) -> Vec<Result<Way, Out>> {
        if !run.hardware.cores {
            return Vec::new();
        }
        vec![one(run.system).map_err(Out::from)]
    }

    fn require(&self, system: &System) -> Result<(), Error> {
        cpu::require(system)
    }

    fn open(
        &self,
        _: &Way,
        system: System,
        beginning: StartValues,
    ) -> Result<Box<dyn StepSession>, Error> {
        Ok(cpu::session(system, beginning))
    }
}

fn one(system: &System) -> Result<Way, Refusal> {
    if !system.chain.allows_one() {
        return Err(Refusal::Chain("it takes the steps of systems one at a time".into()));
    }
    Ok(Way {
        family: &Rows,
        kernel: format!("rows{}d_{}", system.shape.dims(), system.dtype),
        chain: 1,
        seconds_per_step: fft::stepped(system, 1),
        set_up: 0.0,
        launch: None,
    })
}
