// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which of all ways to compute a job is the fastest: counted costs, efficiencies as measured, one ranking.
//! `host plan` prints it, and `--engine auto` takes what comes first.

pub mod calibration;

pub use calibration::Calibration;

use crate::Error;
use crate::device::{DeviceInfo, Limits};
use crate::engine::cost::Cost;
use crate::engine::sparse::schedule;
use crate::engine::{Depth, Family, Job, cuda, on_gpu};
use cuda_chip::Chip;
use serde::Serialize;
use transform::machine::Machine;

/// A way to compute a job.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// The engine.
    pub engine: &'static str,
    /// The kernel that takes most of the steps; of the CPU, what its loops are.
    pub kernel: String,
    /// Its family, on tensor cores.
    pub family: Option<Family>,
    /// Time steps in one sum.
    pub fuse: usize,
    /// Such sums chained on chip.
    pub chain: usize,
    /// Predicted seconds of a time step of many.
    pub seconds_per_step: f64,
    /// Predicted points and steps in a second, in 10^9.
    pub gstencils_per_s: f64,
    /// What the prediction is made of.
    #[serde(skip)]
    pub cost: Cost,
}

/// A way that is none for this job.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rejected {
    /// The engine.
    pub engine: &'static str,
    /// The kernel, or its family; none where the whole engine is out.
    pub kernel: Option<String>,
    /// Time steps in one sum.
    pub fuse: usize,
    /// Such sums chained on chip.
    pub chain: usize,
    /// Why.
    pub reason: String,
}

/// All ways.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Planned {
    /// The GPU that the times are for.
    pub machine: String,
    /// Those that there are, the fastest first.
    pub ranked: Vec<Candidate>,
    /// The others.
    pub rejected: Vec<Rejected>,
}

/// Where a job is to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The GPU's speeds.
    pub machine: Machine,
    /// The GPU's limits.
    pub limits: Limits,
}

impl Target {
    /// A GPU that is only described: it takes the newest kernels that would run on it.
    #[must_use]
    pub fn described(machine: Machine) -> Self {
        let chip = if machine.compute_capability >= (9, 0) { Chip::Sm90 } else { Chip::Sm80 };
        let shared_bytes = machine.shared_bytes_per_block;
        Self { machine, limits: Limits { chip, shared_bytes } }
    }

    /// The GPU of this machine.
    ///
    /// # Errors
    /// None of the kernels runs on it.
    pub fn of(gpu: &DeviceInfo) -> Result<Self, Error> {
        Ok(Self { machine: gpu.machine(), limits: gpu.limits()? })
    }
}

/// All ways to compute a job on a GPU.
#[must_use]
pub fn on_gpu(target: &Target, job: &Job) -> Planned {
    let Target { machine, limits } = target;
    let mut planned =
        Planned { machine: machine.name.clone(), ranked: Vec::new(), rejected: Vec::new() };
    for engine in ["sparse", "cuda"] {
        if let Err(reason) = on_gpu::check(engine, machine.memory_bytes, job) {
            planned.reject_engine(engine, &reason);
            continue;
        }
        if engine == "sparse" {
            planned.add_sparse(*limits, machine, job);
        } else {
            planned.add_cuda(*limits, machine, job);
        }
    }
    planned.ranked.sort_by(|a, b| a.seconds_per_step.total_cmp(&b.seconds_per_step));
    planned
}

impl Planned {
    fn reject_engine(&mut self, engine: &'static str, reason: &Error) {
        let reason = of(reason);
        self.rejected.push(Rejected { engine, kernel: None, fuse: 1, chain: 1, reason });
    }

    fn add_sparse(&mut self, limits: Limits, machine: &Machine, job: &Job) {
        let engine = "sparse";
        let found = schedule::candidates(limits, machine, job);
        for (schedule, seconds) in found.ranked {
            let schedule::Schedule { fuse, chain, family, .. } = schedule;
            self.add(job, engine, schedule.cost(job), Some(family), [fuse, chain], seconds);
        }
        for (family, fuse, chain, reason) in found.rejected {
            let (kernel, reason) = (Some(family.to_string()), reason.to_string());
            self.rejected.push(Rejected { engine, kernel, fuse, chain, reason });
        }
    }

    fn add_cuda(&mut self, limits: Limits, machine: &Machine, job: &Job) {
        let engine = "cuda";
        if let Err(reason) = cuda::check(engine, limits, job) {
            return self.reject_engine(engine, &reason);
        }
        let cost = cuda::cost(job);
        let seconds = Calibration::built_in().seconds_per_step(&cost, machine);
        self.add(job, engine, cost, None, [1, 1], seconds);
    }

    fn add(
        &mut self,
        job: &Job,
        engine: &'static str,
        cost: Cost,
        family: Option<Family>,
        [fuse, chain]: [usize; 2],
        seconds_per_step: f64,
    ) {
        let gstencils_per_s = job.shape.points() as f64 / seconds_per_step / 1e9;
        self.ranked.push(Candidate {
            engine,
            kernel: cost.kernel.clone(),
            family,
            fuse,
            chain,
            seconds_per_step,
            gstencils_per_s,
            cost,
        });
    }
}

impl Candidate {
    /// The job, with nothing left to choose.
    #[must_use]
    pub fn resolve(&self, job: &Job) -> Job {
        let Self { family, fuse, chain, .. } = *self;
        let (fuse, chain) = (Depth::Steps(fuse), Depth::Steps(chain));
        Job { kernel: family, fuse, chain, ..job.clone() }
    }
}

/// The reason of a refusal, without the engine's name, which stands beside it.
fn of(error: &Error) -> String {
    match error {
        Error::Unsupported { reason, .. } => reason.clone(),
        other => other.to_string(),
    }
}
