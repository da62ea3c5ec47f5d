// SPDX-License-Identifier: MIT OR Apache-2.0
//! One step a launch on CUDA cores, by a kernel that is written for the system.

use super::{Family, PlannedRun, RejectedPlan, StepPlan, on_a_gpu, system};
use crate::gpu::{self, LaunchWork};
use compute::families::Refusal;
use problem::Depth;
use problem::memory::Bytes;

/// One step or one stage a launch, a thread for each point.
pub struct StepFamily;

impl Family for StepFamily {
    fn name(&self) -> &'static str {
        "step"
    }

    fn about(&self) -> &'static str {
        "Systems: one step a launch on CUDA cores, by a kernel written for the system"
    }

    fn engine(&self) -> &'static str {
        "cuda"
    }

    fn propose(&self, run: &PlannedRun) -> Vec<Result<StepPlan, RejectedPlan>> {
        vec![one(run).map_err(|refusal| RejectedPlan { chain: Some(1), refusal })]
    }
}

/// Checks that kernels have instructions for a system, and that no more than one step a launch is asked for.
///
/// # Errors
/// Why it is not so.
pub fn check_one(run: &PlannedRun) -> Result<(), Refusal> {
    LaunchWork::Step.check(run.system).map_err(system)?;
    match run.system.chain {
        Depth::Steps(steps @ 2..) => {
            Err(Refusal::Chain(format!("{steps} steps a launch are asked for")))
        }
        _ => Ok(()),
    }
}

fn one(run: &PlannedRun) -> Result<StepPlan, Refusal> {
    check_one(run)?;
    let machine = run.hardware.gpu()?;
    if run.system.has_solves() {
        run.hardware.carries()?;
        gpu::cost::solves(run.system, machine).map_err(Refusal::Grid)?;
    }
    LaunchWork::Step.require(run.system, Bytes(machine.memory_bytes)).map_err(Refusal::of)?;
    Ok(on_a_gpu(&StepFamily, LaunchWork::Step, run.system, gpu::cost::tiled(run.system, machine)))
}
