// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which of all ways to compute a job is the fastest: counted costs, efficiencies as measured, one ranking.
//! `host plan` prints it, `--engine auto` takes what comes first, and `host bench` sets it beside what it
//! measures.

mod candidate;
mod choice;
mod forecast;
mod here;
mod target;

pub use candidate::{Candidate, Planned, Rejected, depth};
pub use choice::{Choice, choose};
pub use forecast::Forecast;
pub use here::{forecast_of_cpu, on_this_machine};
pub use target::Target;

use crate::engine::calibration::Calibration;
use crate::engine::sparse::schedule::{self, Refused};
use crate::engine::{Job, Refusal, cuda, on_gpu as grids};

/// The engines that compute on a GPU.
pub const GPU_ENGINES: [&str; 2] = ["sparse", "cuda"];

/// All ways to compute a job on a GPU.
#[must_use]
pub fn on_gpu(target: &Target, job: &Job) -> Planned {
    by_engines(&GPU_ENGINES, target, job)
}

/// The ways of some engines to compute a job on a GPU.
#[must_use]
pub fn by_engines(engines: &[&'static str], target: &Target, job: &Job) -> Planned {
    let machine = &target.machine;
    let mut planned = Planned::new(machine.name.clone(), machine.source.clone());
    for engine in engines {
        if let Err(error) = grids::check(engine, machine.memory_bytes, job) {
            planned.reject(engine, Refusal::of(error));
        } else if *engine == "sparse" {
            planned.add_sparse(target, job);
        } else {
            planned.add_cuda(target, job);
        }
    }
    planned.ranked.sort_by(|a, b| a.seconds_per_step.total_cmp(&b.seconds_per_step));
    planned
}

impl Planned {
    fn add_sparse(&mut self, target: &Target, job: &Job) {
        let found = schedule::candidates(target.limits, &target.machine, job);
        for schedule::Way { launches, seconds_per_step } in found.ranked {
            self.ranked.push(Candidate::of_launches(job, launches, seconds_per_step));
        }
        for Refused { family, fuse, chain, refusal } in found.rejected {
            let kernel = Some(family.to_string());
            self.rejected.push(Rejected { engine: "sparse", kernel, fuse, chain, refusal });
        }
    }

    fn add_cuda(&mut self, target: &Target, job: &Job) {
        if let Err(refusal) = cuda::check(target.limits, job) {
            return self.reject("cuda", refusal);
        }
        let cost = cuda::cost(job);
        let seconds = Calibration::built_in().seconds_per_step(&cost, &target.machine);
        self.ranked.push(Candidate::of_one_step("cuda", job, cost, seconds));
    }
}
