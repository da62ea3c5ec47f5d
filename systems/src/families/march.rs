// SPDX-License-Identifier: MIT OR Apache-2.0
//! One step a launch on CUDA cores, of grids of three axes, by blocks that go along z plane by plane.

use super::{Family, PlannedRun, RejectedPlan, StepPlan, on_a_gpu, system};
use crate::gpu::{self, LaunchWork};
use compute::families::Refusal;
use problem::memory::Bytes;

/// One step a launch, by blocks that go along z.
pub struct MarchFamily;

impl Family for MarchFamily {
    fn name(&self) -> &'static str {
        "march"
    }

    fn about(&self) -> &'static str {
        "Systems in 3D: one step a launch on CUDA cores, by blocks that go along z"
    }

    fn engine(&self) -> &'static str {
        "cuda"
    }

    fn propose(&self, run: &PlannedRun) -> Vec<Result<StepPlan, RejectedPlan>> {
        vec![one(run).map_err(|refusal| RejectedPlan { chain: Some(1), refusal })]
    }
}

fn one(run: &PlannedRun) -> Result<StepPlan, Refusal> {
    super::step::check_one(run)?;
    run.system.check_solves_nothing().map_err(system)?;
    let machine = run.hardware.gpu()?;
    let (march, seconds) = gpu::March::best(run.system, machine).map_err(system)?;
    let launch = LaunchWork::March(march);
    launch.check(run.system).map_err(system)?;
    launch.require(run.system, Bytes(machine.memory_bytes)).map_err(Refusal::of)?;
    Ok(on_a_gpu(&MarchFamily, launch, run.system, seconds))
}
