// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many steps at once by Fourier transforms, on a GPU or on all cores of this machine ([`crate::fft`]).

use super::{Family, PlannedRun, RejectedPlan, StepPlan, system};
use crate::checked::System;
use crate::fft::{self, Parts};
use crate::gpu::LaunchWork;
use crate::session::StepSession;
use crate::speeds::CORE;
use crate::start::StartValues;
use compute::families::Refusal;
use problem::Error;

/// A family of jumps, by where they are computed.
pub enum JumpFamily {
    /// On a GPU.
    OnGpu,
    /// On all cores.
    OnCores,
}

/// How many times as fast as steps a jump must be predicted to be, which rounds relative to the largest value.
const GAIN: f64 = 2.0;

impl Family for JumpFamily {
    fn name(&self) -> &'static str {
        match self {
            Self::OnGpu => "jump",
            Self::OnCores => "jump-on-cores",
        }
    }

    fn about(&self) -> &'static str {
        match self {
            Self::OnGpu => "Systems whose equations are sums: many steps at once on a GPU",
            Self::OnCores => {
                "Systems whose equations are sums: many steps at once on the cores of this machine"
            }
        }
    }

    fn engine(&self) -> &'static str {
        "fft"
    }

    fn gain(&self, _: &System) -> f64 {
        GAIN
    }

    fn propose(&self, run: &PlannedRun) -> Vec<Result<StepPlan, RejectedPlan>> {
        match self {
            Self::OnGpu => vec![on_gpu(run).map_err(RejectedPlan::from)],
            Self::OnCores if run.hardware.cores => vec![on_cores(run).map_err(RejectedPlan::from)],
            Self::OnCores => Vec::new(),
        }
    }

    fn require(&self, system: &System) -> Result<(), Error> {
        match self {
            Self::OnGpu => fft::require_on_gpu(system),
            Self::OnCores => fft::require(system),
        }
    }

    fn open(
        &self,
        _: &StepPlan,
        system: System,
        beginning: StartValues,
    ) -> Result<Box<dyn StepSession>, Error> {
        match self {
            Self::OnGpu => fft::session_on_gpu(&system, beginning),
            Self::OnCores => fft::session(&system, beginning),
        }
    }
}

fn on_gpu(run: &PlannedRun) -> Result<StepPlan, Refusal> {
    let parts = ready(run)?;
    let machine = run.hardware.carries()?;
    fft::check_on_gpu(run.system, &parts, machine).map_err(system)?;
    let seconds = fft::seconds_on_gpu(run.system, &parts, run.steps, machine);
    let seconds =
        seconds.ok_or_else(|| system("no transform of its size fits a multiprocessor"))?;
    // Steps on the CPU are done before a GPU is open.
    let set_up = match LaunchWork::Step.check(run.system) {
        Ok(()) => CORE.set_up.kernels_ms,
        Err(_) => CORE.set_up.gpu_ms,
    };
    Ok(way(&JumpFamily::OnGpu, run, &parts, seconds, set_up))
}

fn on_cores(run: &PlannedRun) -> Result<StepPlan, Refusal> {
    let parts = ready(run)?;
    let seconds = fft::seconds(run.system, &parts, run.steps);
    Ok(way(&JumpFamily::OnCores, run, &parts, seconds, CORE.set_up.tables_ms))
}

/// What a system is to jumps, where one is worth a look.
fn ready(run: &PlannedRun) -> Result<Parts, Refusal> {
    /// Seconds by steps on the CPU below which equations are not read again, nor is a GPU asked.
    const SHORT: f64 = 5e-3;
    let PlannedRun { system: of, steps, asked, .. } = *run;
    if !asked && (steps < 2 || fft::stepped(of, steps) < SHORT) {
        return Err(Refusal::Short(format!("{steps} steps of it take too little time for a jump")));
    }
    let parts = fft::parts(of).map_err(system)?;
    if !asked && !parts.are_stable(of, steps) {
        return Err(system("waves grow so much that rounding would spoil a jump"));
    }
    Ok(parts)
}

fn way(
    family: &'static dyn Family,
    run: &PlannedRun,
    parts: &Parts,
    seconds: f64,
    set_up: f64,
) -> StepPlan {
    let torus =
        |torus: &Vec<usize>| torus.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
    let toruses: Vec<String> = fft::toruses(run.system, parts).iter().map(torus).collect();
    StepPlan {
        family,
        kernel: format!("{}_{}", family.name(), toruses.join("_")),
        chain: 1,
        seconds_per_step: seconds / run.steps.max(1) as f64,
        set_up: set_up * 1e-3,
        launch: None,
    }
}
