// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several steps, or all stages of one, a launch on CUDA cores: a block takes them with a part of the grid on chip, whose halo it
//! computes in vain.

use super::{Family, PlannedRun, RejectedPlan, StepPlan, on_a_gpu, system};
use crate::checked::System;
use crate::gpu::{self, LaunchWork, TileState};
use compute::families::Refusal;
use problem::Depth;
use problem::memory::Bytes;
use transform::machine::Machine;

/// Several steps, or all stages of one, in a launch.
pub struct ChainFamily;

/// The most steps that are tried.
const MOST_STEPS: usize = 16;
/// How many times as fast as single steps a chain must be predicted to be.
const GAIN: f64 = 1.05;
/// Part of a GPU's memory that may be taken for all levels twice, where nobody asks for it.
const MEMORY: f64 = 0.9;

impl Family for ChainFamily {
    fn name(&self) -> &'static str {
        "chain"
    }

    fn about(&self) -> &'static str {
        "Systems: several steps, or all stages of one, a launch on CUDA cores"
    }

    fn engine(&self) -> &'static str {
        "cuda"
    }

    fn gain(&self, _system: &System) -> f64 {
        GAIN
    }

    fn propose(&self, run: &PlannedRun) -> Vec<Result<StepPlan, RejectedPlan>> {
        // Without a GPU that is the reason, whatever else is one.
        let none = |refusal: Refusal| vec![Err(run.hardware.gpu().err().unwrap_or(refusal).into())];
        // One step whose stages would be launches.
        let least = if run.system.is_staged() { 1 } else { 2 };
        let steps = match run.system.chain {
            Depth::Steps(steps) if steps < least => {
                return none(Refusal::Chain("one step a launch is asked for".into()));
            }
            Depth::Steps(steps) => steps..=steps,
            // Of a run that is shorter the halo would be wider than it need be.
            Depth::Auto if run.system.steps > 0 => least..=MOST_STEPS.min(run.system.steps),
            Depth::Auto => least..=MOST_STEPS,
        };
        if steps.is_empty() {
            return none(Refusal::Short("the run has one step".into()));
        }
        match ready(run) {
            Ok((held, machine)) => steps
                .map(|steps| {
                    let out = |refusal| RejectedPlan { chain: Some(steps), refusal };
                    one(run, &held, machine, steps).map_err(out)
                })
                .collect(),
            Err(refusal) => vec![Err(refusal.into())],
        }
    }
}

/// What a block must hold, and the GPU.
fn ready<'a>(run: &'a PlannedRun) -> Result<(TileState, &'a Machine), Refusal> {
    LaunchWork::Step.check(run.system).map_err(system)?;
    let held = TileState::new(run.system).map_err(Refusal::Chain)?;
    Ok((held, run.hardware.gpu()?))
}

fn one(
    run: &PlannedRun,
    held: &TileState,
    machine: &Machine,
    steps: usize,
) -> Result<StepPlan, Refusal> {
    const NO_PART: &str =
        "no part of the grid that fits a multiprocessor holds all points that so many steps need";
    let (seconds, tile) = gpu::tiles::fastest(run.system, held, machine, steps)
        .ok_or_else(|| Refusal::Chain(NO_PART.into()))?;
    let launch = LaunchWork::Chain(tile);
    launch.check(run.system).map_err(system)?;
    let part = if run.system.chain == Depth::Auto { MEMORY } else { 1.0 };
    let memory = Bytes((part * machine.memory_bytes as f64) as u64);
    launch.require(run.system, memory).map_err(Refusal::of)?;
    Ok(on_a_gpu(&ChainFamily, launch, run.system, seconds * in_whole_launches(run.steps, steps)))
}

/// How many times as long so many steps take as they would in whole launches: one of fewer steps takes about as long as one of all.
/// Of a run of any length none are left over, nor of one whose steps are taken one by one, as its user says or who compares each.
fn in_whole_launches(all: usize, steps: usize) -> f64 {
    if all <= 1 { 1.0 } else { (all.div_ceil(steps) * steps) as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_that_are_left_over_take_a_launch() {
        assert_eq!(in_whole_launches(0, 6), 1.0);
        assert_eq!(in_whole_launches(1, 6), 1.0);
        assert_eq!(in_whole_launches(10, 5), 1.0);
        assert_eq!(in_whole_launches(10, 6), 1.2);
        assert_eq!(in_whole_launches(3, 6), 2.0);
    }
}
