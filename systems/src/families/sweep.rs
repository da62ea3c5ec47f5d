// SPDX-License-Identifier: MIT OR Apache-2.0
//! One step by a sweep on sparse tensor cores: they sum neighbours, and the system's own instructions make of each sum the
//! next value.

use super::{Family, PlannedRun, RejectedPlan, StepPlan, on_a_gpu, system};
use crate::checked::System;
use crate::gpu::{self, FinishedSweep, LaunchWork};
use compute::families::Refusal;
use problem::memory::Bytes;

/// Steps by sweeps on sparse tensor cores.
pub struct SweepFamily;

impl Family for SweepFamily {
    fn name(&self) -> &'static str {
        "sweep"
    }

    fn about(&self) -> &'static str {
        "Systems of one wide sum: one step a launch on sparse tensor cores"
    }

    fn engine(&self) -> &'static str {
        "sparse"
    }

    fn gain(&self, _: &System) -> f64 {
        1.05
    }

    fn propose(&self, run: &PlannedRun) -> Vec<Result<StepPlan, RejectedPlan>> {
        vec![one(run).map_err(RejectedPlan::from)]
    }
}

fn one(run: &PlannedRun) -> Result<StepPlan, Refusal> {
    gpu::check_sweep(run.system).map_err(system)?;
    LaunchWork::Step.check(run.system).map_err(system)?;
    let machine = run.hardware.carries()?;
    let sweep = FinishedSweep::new(run.system, machine).map_err(system)?;
    let seconds = sweep.seconds(run.system, machine);
    let launch = LaunchWork::Sweep(Box::new(sweep));
    launch.check(run.system).map_err(system)?;
    launch.require(run.system, Bytes(machine.memory_bytes)).map_err(Refusal::of)?;
    Ok(on_a_gpu(&SweepFamily, launch, run.system, seconds))
}
